package keeper

import (
	"context"
	"time"
)

// Stored is what is written down of a count or of a gate: at least what was taken.
// It is written ahead of the calls, so that whoever goes on after a crash, or after
// a server lost its memory, never grants what was granted before.
type Stored struct {
	Group, Count string
	// Limit is what the upstream told to be granted, and Refill what to come back of a
	// bucket in every period; 0 if it did not.
	Limit, Refill int64
	// Spent is what may have been taken. Until is when all of it has come back, and End
	// when the window ends if that is known. Of a gate Until is when it opens.
	Spent      int64
	Until, End time.Time
	// Late is what of it may be counted after End: it was under way.
	Late int64
	// Low is how much of what was taken was not urgent. It is shown, and decides nothing.
	Low int64
	// Seq orders what is stored of one count: of two the higher one counts.
	Seq uint64
}

// Store keeps what is written down where it survives everything.
type Store interface {
	// Load returns what was saved of a group.
	Load(ctx context.Context, group string) ([]Stored, error)
	// Save keeps all of these, each unless one with a higher Seq is there.
	Save(ctx context.Context, all []Stored) error
	// Groups lists the groups of which something is stored.
	Groups(ctx context.Context) ([]string, error)
}

// GatePrefix begins the names of gates among what is stored.
const GatePrefix = "gate "

// Snapshot is what to store of a count before more of it is taken. wall is now by
// the clock that shows the time of day.
func (c *Count) Snapshot(t *Terms, now, price int64, wall time.Time) (s Stored, covers int64) {
	ceiling, cover := c.Ahead(t, now, price)
	s = Stored{Limit: c.limit, Refill: c.refill, Spent: ceiling, Low: c.low}
	switch {
	case c.dated != nil:
		s.Limit = c.dated.limit
		// Nobody takes what is not written down any more.
		c.ceiling = min(c.ceiling, ceiling)
		if end := c.dated.ending(t, c.skew); end != 0 {
			s.End, s.Late = time.UnixMicro(end).In(wall.Location()), min(ceiling-c.dated.used()+c.dated.abandoned(), ceiling)
			cover = max(end-c.wall, 1)
		}
	case c.end > 0:
		s.End, s.Late = wall.Add(micros(c.end-now)), ceiling-c.spent
		cover = max(c.end-now, 1)
	}
	s.Until = wall.Add(micros(cover + t.comesBack(max(ceiling, c.granted(t))) + Life))
	return s, now + cover
}

// Presumed is what of it is to be taken for spent now, and in how long the window
// ends, 0 if that is not known.
func (s *Stored) Presumed(wall time.Time) (n int64, in time.Duration) {
	switch {
	case !wall.Before(s.Until):
		return 0, 0
	case s.End.IsZero():
		return s.Spent, 0
	case wall.Before(s.End):
		return s.Spent, s.End.Sub(wall)
	case wall.Before(s.End.Add(micros(Life))):
		return s.Late, 0
	}
	return 0, 0
}

// Restore goes on with what was stored.
func Restore(t *Terms, s *Stored, now int64, wall time.Time) *Count {
	if t.Dated {
		return &Count{reported: unreported, low: s.Low, clocked: clocked{dated: restoreDated(t, s, wall)}}
	}
	c := &Count{reported: unreported, limit: s.Limit, refill: s.Refill}
	n, in := s.Presumed(wall)
	if in > 0 {
		c.end = now + in.Microseconds()
		c.early = c.end - restoredSlack
	}
	c.presumed, c.presumedAt = n, now
	if n > 0 {
		c.low = s.Low
	}
	return c
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
