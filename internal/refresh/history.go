package refresh

import (
	"fmt"

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
