package mongo

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// The names of fields of completions that queries use.
const (
	fieldFired    = "notificationReceivedAtMicros"
	fieldServer   = "serverId"
	fieldLateness = "latenessMicros"
	fieldLate     = "late"
	fieldStatus   = "status"
	fieldLoggedAt = "createdAt"
)

// completionRecord is a completion as it is stored, but for its _id, which is
// the timer's (or, if another timer has got that since, retiredCompletion's), and
// createdAt, which is when it was first logged. BSON's dates
// are cut to milliseconds: they are there for people and their queries, and the
// microseconds since 1970 beside them for the order and for reading back.
type completionRecord struct {
	TimerID        string    `bson:"timerId"`
	ServerID       string    `bson:"serverId"`
	DueAt          time.Time `bson:"dueAt"`
	DueMicros      int64     `bson:"dueAtMicros"`
	NotifiedAt     time.Time `bson:"notificationReceivedAt"`
	FiredMicros    int64     `bson:"notificationReceivedAtMicros"`
	LatenessMicros int64     `bson:"latenessMicros"`
	Late           bool      `bson:"late"`
	Success        bool      `bson:"success"`
	Status         string    `bson:"status"`
	Tries          int64     `bson:"tries"`
	Error          string    `bson:"error"`
	Payload        any       `bson:"payload"`
}

// foundCompletion is a record that was read.
type foundCompletion struct {
	ID     string           `bson:"_id"`
	Record completionRecord `bson:",inline"`
}

// completionEntry is a record that is new.
type completionEntry struct {
	ID        string           `bson:"_id"`
	Record    completionRecord `bson:",inline"`
	CreatedAt time.Time        `bson:"createdAt"`
}

func newCompletionEntry(c *timer.Completion, now time.Time) completionEntry {
	return completionEntry{ID: text(c.Timer), Record: newCompletionRecord(c), CreatedAt: now}
}

// retiredCompletion is the _id of a completion whose timer's id was used again.
func retiredCompletion(r *completionRecord) string {
	return timer.RetiredID(r.TimerID, strconv.FormatInt(r.FiredMicros, 10))
}

func newCompletionRecord(c *timer.Completion) completionRecord {
	return completionRecord{
		TimerID: text(c.Timer), ServerID: text(c.Server),
		DueAt: c.Due, DueMicros: c.Due.UnixMicro(), NotifiedAt: c.FiredAt, FiredMicros: c.FiredAt.UnixMicro(),
		LatenessMicros: c.Lateness.Microseconds(), Late: c.Late, Success: c.Success, Status: c.Status.String(),
		Tries: int64(c.Tries), Error: text(c.Error), Payload: storedPayload(c.Payload),
	}
}

// storedPayload is the payload's JSON as text, since BSON would change numbers
// and drop keys that stand twice. JSON that is not UTF-8 cannot be text.
func storedPayload(payload json.RawMessage) any {
	switch {
	case len(payload) == 0:
		return nil
	case utf8.Valid(payload):
		return string(payload)
	default:
		return bson.Binary{Data: payload}
	}
}

// completion is the inverse of newCompletionRecord.
func (r *completionRecord) completion() (timer.Completion, error) {
	status, err := timer.ParseStatus(r.Status)
	if err != nil {
		return timer.Completion{}, domain.Errorf(domain.CodeCorrupt, "the stored completion of timer %s: %w", r.TimerID, err)
	}
	c := timer.Completion{
		Timer: r.TimerID, Server: r.ServerID, Due: time.UnixMicro(r.DueMicros).UTC(), FiredAt: time.UnixMicro(r.FiredMicros).UTC(),
		Lateness: time.Duration(r.LatenessMicros) * time.Microsecond, Late: r.Late, Success: r.Success, Status: status,
		Tries: int(r.Tries), Error: r.Error,
	}
	switch payload := r.Payload.(type) {
	case nil:
	case string:
		c.Payload = json.RawMessage(payload)
	case bson.Binary:
		c.Payload = payload.Data
	default:
		return timer.Completion{}, domain.Errorf(domain.CodeCorrupt, "the stored payload of timer %s is a %T, not text", r.TimerID, payload)
	}
	return c, nil
}
