package access

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/secret"
)

// Entry is one line of the audit log: a change that somebody asked for over the
// API. It holds no body of a request, so that no secret can be in it.
type Entry struct {
	// ID orders the entries by the time at which they began.
	ID string    `json:"id"`
	At time.Time `json:"at"`
	// Actor is who: token:NAME, api-token, local:USER, hook:SOURCE or anonymous.
	Actor string `json:"actor" doc:"token:NAME, api-token (of the settings), local:USER, hook:SOURCE or anonymous"`
	Role  Role   `json:"role,omitempty"`
	// Address is from where: an IP address, or the machine's name for a command
	// that works on the data itself.
	Address string `json:"address"`
	// Action is what: the id of the operation, as the API's description has it.
	Action string `json:"action"`
	// Target is on what: a path of the API, and what the request's body named.
	Target string `json:"target"`
	// Status is what was answered; 0 means that the process ended before it could
	// answer, and the change may have been made.
	Status  int     `json:"status"`
	Outcome Outcome `json:"outcome" enum:"done,refused,failed,unfinished"`
}

// Outcome is what became of a change.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused"
	Failed  Outcome = "failed"
	// Unfinished means that the process ended before it answered; what was asked
	// for may have been done.
	Unfinished Outcome = "unfinished"
)

// OutcomeOf is what a status of HTTP means.
func OutcomeOf(status int) Outcome {
	switch {
	case status == 0:
		return Unfinished
	case status < 400:
		return Done
	case status < 500:
		return Refused
	}
	return Failed
}

// StatusOf is the status of HTTP that stands for what came of something that was
// not asked for over HTTP.
func StatusOf(err error) int {
	switch domain.CodeOf(err) {
	case "":
		return http.StatusOK
	case domain.CodeInvalid, domain.CodeNotFound, domain.CodeConflict, domain.CodeUnauthorized:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// The longest that an entry's words may be.
const (
	mostActor   = 100
	mostAddress = 100
	mostAction  = 64
	mostTarget  = 500
)

// fit cuts an entry's words to what stores keep, at letters' bounds. What looks
// like a token in a target, such as one that was given in the place of a name, is
// hidden.
func (e Entry) fit() Entry {
	e.Actor, e.Address = cut(e.Actor, mostActor), cut(e.Address, mostAddress)
	e.Action, e.Target = cut(e.Action, mostAction), cut(secret.Masked(e.Target), mostTarget)
	return e
}

// cut keeps so many bytes of a text, and makes it one that every store takes and
// that is one line wherever it is shown: callers choose it.
func cut(text string, most int) string {
	text = domain.Printable(text)
	if len(text) > most {
		const more = "…"
		text = strings.ToValidUTF8(text[:most-len(more)], "") + more
	}
	return text
}

// newID makes an id that is larger than those of earlier instants.
func newID(at time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMicro()))
	// It never fails: the program ends instead.
	_, _ = rand.Read(b[8:])
	return hex.EncodeToString(b[:])
}

// firstID is not larger than any id of an instant.
func firstID(at time.Time) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(at.UnixMicro()))
	return hex.EncodeToString(b[:]) + strings.Repeat("0", 16)
}

// Query asks for entries, newest first.
type Query struct {
	// Before asks for entries with a smaller id; "" for all.
	Before string
	// From asks for entries with an id that is not smaller; "" for all.
	From string
	// Actor and Action ask for those alone, if not "".
	Actor, Action string
	Limit         int
}

// AuditStore keeps the audit log. Whoever carries out changes in the same store
// also writes the entry of the request's Trail in the transaction of its first
// change.
type AuditStore interface {
	// Record stores entries. Of one that is there already the status is kept,
	// unless it is 0: then it gets the new one.
	Record(ctx context.Context, entries ...Entry) error
	// Entries returns entries, newest first.
	Entries(ctx context.Context, q Query) ([]Entry, error)
	// RemoveEntries removes at most so many entries with an id smaller than
	// before, the oldest first, and says how many.
	RemoveEntries(ctx context.Context, before string, most int) (int, error)
}

// CheckCursor refuses what is no id of an entry.
func CheckCursor(cursor string) error {
	if b, err := hex.DecodeString(cursor); err != nil || len(b) != 16 || strings.ToLower(cursor) != cursor {
		return domain.Errorf(domain.CodeInvalid, "that is no cursor of the audit log; take next_cursor of the page before")
	}
	return nil
}
