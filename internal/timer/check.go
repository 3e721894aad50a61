package timer

import (
	"bytes"
	"encoding/json"
	"time"

	"sluice/internal/domain"
)

const (
	maxIDLength = 200
	// MaxPayload is the largest payload in bytes.
	MaxPayload = 64 << 10
	maxWebhook = 2000
)

// horizon keeps instants within what every store and Redis can hold.
var (
	earliestInstant = time.Unix(0, 0)
	latestInstant   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ParseStatus reads a status by its name.
func ParseStatus(name string) (Status, error) {
	for i, known := range statusNames {
		if known != "" && known == name {
			return Status(i), nil
		}
	}
	return 0, domain.Errorf(domain.CodeInvalid, "%q is not a timer's status; there are WAITING, DELIVERING, COMPLETED, DEAD and CANCELED", name)
}

// CheckID refuses what cannot be the id of a timer.
func CheckID(id string) error {
	if id == "" || len(id) > maxIDLength {
		return domain.Errorf(domain.CodeInvalid, "a timer's id has 1 to %d characters; this one has %d", maxIDLength, len(id))
	}
	for i := range len(id) {
		c := id[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if letter || i > 0 && (c == '.' || c == '_' || c == ':' || c == '-' || c == '@') {
			continue
		}
		return domain.Errorf(domain.CodeInvalid, "that cannot be a timer's id: use letters, digits and . _ : @ -, beginning with a letter or digit")
	}
	return nil
}

// check refuses what cannot be a timer, and puts it into its stored form.
func (s Spec) check(now time.Time) (Spec, error) {
	if err := CheckID(s.ID); err != nil {
		return s, err
	}
	if s.In != 0 {
		s.At = now.Truncate(time.Microsecond).Add(s.In)
	}
	if err := CheckInstant(s.At); err != nil {
		return s, err
	}
	s.At = s.At.UTC().Truncate(time.Microsecond)
	if len(s.Payload) > MaxPayload {
		return s, domain.Errorf(domain.CodeInvalid, "the payload of timer %s has %d bytes; at most %d are kept. Store it elsewhere and pass its address", s.ID, len(s.Payload), MaxPayload)
	}
	if len(s.Payload) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, s.Payload); err != nil {
			return s, domain.Errorf(domain.CodeInvalid, "the payload of timer %s is not JSON: %w", s.ID, err)
		}
		s.Payload = compact.Bytes()
	} else {
		s.Payload = nil
	}
	if len(s.Webhook) > maxWebhook {
		return s, domain.Errorf(domain.CodeInvalid, "the webhook of timer %s has %d characters; at most %d are kept", s.ID, len(s.Webhook), maxWebhook)
	}
	return s, nil
}

// CheckInstant refuses instants that cannot be kept.
func CheckInstant(at time.Time) error {
	if at.Before(earliestInstant) || at.After(latestInstant) {
		return domain.Errorf(domain.CodeInvalid, "a timer's time lies between 1970 and 2200; this one is %s", at.Format(time.RFC3339))
	}
	return nil
}

// repeatWindow is how long after a timer is over the same while (In) counts as
// the same request, whose answer was lost: after it, somebody wants it again.
const repeatWindow = time.Minute

// asksFor reports whether a timer that is there is what a spec asks for.
func (s Spec) asksFor(there Timer, now time.Time) bool {
	at := s.At.Equal(there.At)
	if s.In != 0 {
		over := there.Status == Completed && now.Sub(there.FiredAt) > repeatWindow
		at = there.At.Sub(there.SetAt) == s.In.Truncate(time.Microsecond) && !over
	}
	return s.ID == there.ID && at && bytes.Equal(s.Payload, there.Payload) && s.Webhook == there.Webhook
}

// Replaces reports whether what is asked for takes the id of a timer that is
// there: one that needs nothing any more, and is another. Its completion stays,
// under an id of RetiredID.
func (s Spec) Replaces(there Timer, now time.Time) bool {
	return there.Status == Completed && !s.asksFor(there, now)
}

// retiredMark is in no id that somebody can choose.
const retiredMark = "#"

// RetiredID is the id of a timer whose own id another one has got. The suffix
// tells those of one id apart; it has at most 20 characters.
func RetiredID(id, suffix string) string { return id + retiredMark + suffix }
