package relational

import (
	"context"
	"fmt"
	"time"
)

// ClockAhead compares a server's clock, read between two instants of ours: zero if
// it may be the same.
func ClockAhead(there, before, after time.Time) time.Duration {
	switch {
	case there.Before(before):
		return there.Sub(before)
	case there.After(after):
		return there.Sub(after)
	}
	return 0
}

// Right is what a user must be allowed to do, and a statement that tries it.
type Right struct{ What, Statement string }

// FirstDenied tries rights in their order and says which is the first that the user
// does not have, and why; "" if there is none.
func (d *DB) FirstDenied(ctx context.Context, rights ...Right) string {
	for _, try := range rights {
		if _, err := d.Exec(ctx, try.Statement); err != nil {
			return fmt.Sprintf("%s: %v", try.What, err)
		}
	}
	return ""
}
