package github

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// maxHook is the most that GitHub sends.
const maxHook = 25 << 20

var _ source.Hooked = (*Source)(nil)

func hook() *source.Hook {
	return &source.Hook{
		Setting: settingHookSecret, MaxBytes: maxHook, Trial: "ping",
		EventHeader: "X-GitHub-Event", SignatureHeader: "X-Hub-Signature-256", DeliveryHeader: "X-GitHub-Delivery",
	}
}

// hookTag begins the tag of jobs that an event led to.
const hookTag = "hook-"

// byEvent reports whether a tag is that of a walk that an event led to, and that did
// not begin anew.
func byEvent(tag string) bool {
	return strings.HasPrefix(tag, hookTag) && !strings.Contains(tag, ".")
}

// untold is what a page is called in a walk that no event led to.
func untold(pageKey string) string {
	tag, rest, _ := strings.Cut(pageKey, ":")
	if !byEvent(tag) {
		return pageKey
	}
	return rest
}

// Notices implements source.Hooked. The account that owns the repository and the one
// that the repository is are told; an event that names no repository, or none by its
// id, lets all whom it names be collected.
func (g *upstream) Notices(e source.Event) []source.Notice {
	text := hookPayload(e.MediaType, e.Text)
	if !gjson.ValidBytes(text) || !gjson.ParseBytes(text).IsObject() {
		return nil
	}
	event := gjson.ParseBytes(text)
	n := notice{opt: &g.opt, event: event, action: event.Get("action").String(), tag: hookTag + hookName(e)}
	n.repo = hookRepository(event.Get("repository"))
	organization := event.Get("organization.login").String()
	switch jobs := hookJobs[e.Name]; {
	case n.repo.ID == 0 && organization != "" && aboutOrganization[e.Name]:
		return []source.Notice{{Login: organization, Jobs: n.organization(organization)}}
	case n.repo.ID == 0 || n.repo.Node == "" || g.opt.OnlyOwnCommits:
		return everybody(event)
	case jobs == nil:
		// Nothing is collected of what it is about.
		return nil
	default:
		return n.all(jobs)
	}
}

// hookName tells the jobs of one delivery from those of others.
func hookName(e source.Event) string {
	sum := sha256.Sum256(append([]byte(e.Delivery), 0))
	if e.Delivery == "" {
		sum = sha256.Sum256(e.Text)
	}
	return hex.EncodeToString(sum[:8])
}

// everybody are all whom an event names: whose repository, who did it, and the
// repository itself. They are collected as a whole.
func everybody(event gjson.Result) (all []source.Notice) {
	var logins []string
	for _, path := range []string{"repository.owner.login", "sender.login", "repository.full_name"} {
		login := event.Get(path)
		known := func(other string) bool { return strings.EqualFold(other, login.String()) }
		if login.Type == gjson.String && login.String() != "" && !slices.ContainsFunc(logins, known) {
			logins = append(logins, login.String())
			all = append(all, source.Notice{Login: login.String()})
		}
	}
	return all
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

// hookRepository reads the repository that an event is about.
func hookRepository(v gjson.Result) repository {
	var r repository
	r.ID, r.Node, r.Name = v.Get("id").Int(), v.Get("node_id").String(), v.Get("full_name").String()
	r.Language, r.Fork, r.Private = v.Get("language").String(), v.Get("fork").Bool(), v.Get("private").Bool()
	r.archived, r.NoIssues = v.Get("archived").Bool(), v.Get("has_issues").Type == gjson.False
	return r
}

// notice is an event being turned into jobs.
type notice struct {
	opt    *Options
	event  gjson.Result
	action string
	tag    string
	repo   repository
	login  string
}

// all makes the jobs of each account that an event is about.
func (n notice) all(jobs func(*notice) []domain.JobSpec) (all []source.Notice) {
	for _, login := range n.owners() {
		n.login = login
		if !isRepository(login) && !n.opt.Filter.takes(&n.repo) {
			continue
		}
		n.repo.External = false
		if specs := jobs(&n); len(specs) > 0 {
			all = append(all, source.Notice{Login: login, Jobs: specs})
		}
	}
	return all
}
