package refresh

import (
	"fmt"
	"time"

	"sluice/internal/domain"
)

// HistoryCursor is a place in a listing of the history, which goes by the instant
// at which values were stored. A listing is about what was there when it began:
// what is stored later, for whatever instant, is neither listed nor forgotten
// with its cursors.
type HistoryCursor struct {
	At, Seq int64
	// UpTo is the last seq that there was when the listing began.
	UpTo int64
}

// PastQuery asks for the stored values of an entity.
type PastQuery struct {
	Entity
	// Before and BeforeSeq page backwards: those that were stored earlier, or at the
	// same instant with a smaller seq. A zero Before begins with the newest.
	Before    time.Time
	BeforeSeq int64
	Limit     int
}

// From is where a listing begins, as stores have it.
func (q *PastQuery) From() HistoryCursor {
	if q.Before.IsZero() {
		return HistoryCursor{At: 1 << 62}
	}
	return HistoryCursor{At: q.Before.UnixMicro(), Seq: q.BeforeSeq}
}

// PastValue is a stored value of an entity. Seq tells those apart that were stored
// at one instant.
type PastValue struct {
	Value
	Seq int64
}

// String is what ParseHistoryCursor reads.
func (c HistoryCursor) String() string { return fmt.Sprintf("%d.%d.%d", c.At, c.Seq, c.UpTo) }

// BeginHistory is before all values of a listing of those up to a seq.
func BeginHistory(upTo int64) HistoryCursor { return HistoryCursor{At: -1 << 62, UpTo: upTo} }

// ParseHistoryCursor reads a cursor.
func ParseHistoryCursor(text string) (c HistoryCursor, err error) {
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &c.At, &c.Seq, &c.UpTo); err != nil || c.String() != text {
		return c, domain.Errorf(domain.CodeInvalid, "that is no cursor of a history")
	}
	return c, nil
}
