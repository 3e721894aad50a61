package github

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/source"
)

// maxHook is the most that GitHub sends.
const maxHook = 25 << 20

func hook() *source.Hook {
	return &source.Hook{
		Setting: settingHookSecret, MaxBytes: maxHook, Trial: "ping", Logins: hookLogins,
		EventHeader: "X-GitHub-Event", SignatureHeader: "X-Hub-Signature-256", DeliveryHeader: "X-GitHub-Delivery",
	}
}

// hookLogins lists whom an event is about: whose repository, who did it, and the
// repository itself.
func hookLogins(mediaType string, text []byte) []string {
	var event struct {
		Repository struct {
			FullName string `json:"full_name"`
			Owner    struct{ Login string }
		}
		Sender struct{ Login string }
	}
	// What is no such object names nobody.
	_ = json.Unmarshal(hookPayload(mediaType, text), &event)
	var logins []string
	for _, login := range []string{event.Repository.Owner.Login, event.Sender.Login, event.Repository.FullName} {
		if login != "" && !slices.ContainsFunc(logins, func(other string) bool { return strings.EqualFold(other, login) }) {
			logins = append(logins, login)
		}
	}
	return logins
}

// hookPayload finds the event in what GitHub sends: JSON, or a form with a field
// of JSON, as the webhook was set up.
func hookPayload(mediaType string, text []byte) []byte {
	if !strings.HasPrefix(mediaType, "application/x-www-form-urlencoded") {
		return text
	}
	// What is no form names nobody.
	form, _ := url.ParseQuery(string(text))
	return []byte(form.Get("payload"))
}
