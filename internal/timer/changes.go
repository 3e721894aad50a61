package timer

import (
	"context"
	"time"
)

// Changes is the part of Store that changes one timer, the same on every store: it
// is read, changed as the rules say, and written back.
type Changes struct {
	change Changer
}

// Changer reads a timer, has it changed, and writes it back unless that fails, all
// of it in one transaction. A timer that there is not fails as Missing says.
type Changer func(ctx context.Context, id string, change func(*Timer) error) (Timer, error)

// NewChanges returns changes to the timers of a store.
func NewChanges(change Changer) Changes { return Changes{change} }

// Cancel implements Store.
func (c Changes) Cancel(ctx context.Context, id string) (Timer, error) {
	return c.change(ctx, id, func(t *Timer) error {
		_, err := t.Cancel()
		return err
	})
}

// Reschedule implements Store.
func (c Changes) Reschedule(ctx context.Context, id string, at, now time.Time) (Timer, error) {
	return c.change(ctx, id, func(t *Timer) error { return t.Reschedule(at, now) })
}

// Redeliver implements Store.
func (c Changes) Redeliver(ctx context.Context, id string, now time.Time) (Timer, error) {
	return c.change(ctx, id, func(t *Timer) error { return t.Redeliver(now) })
}

// NewTimers are timers as they are stored first.
func NewTimers(specs []Spec, now time.Time) []Timer {
	timers := make([]Timer, len(specs))
	for i, spec := range specs {
		timers[i] = NewTimer(spec, now)
	}
	return timers
}

// Ended is when a timer ended that was in another state before, and had ended at an
// instant: what has fired keeps that, what is canceled ends now, and what waits has
// not ended, which is 0.
func (t *Timer) Ended(was Status, ended int64, now time.Time) int64 {
	switch {
	case t.Status == Waiting:
		return 0
	case t.Status == Canceled && was != Canceled:
		return now.UnixMicro()
	}
	return ended
}

// StoredInstant is an instant that is never missing, by what stores keep of it: 0 is the
// beginning of 1970.
func StoredInstant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
