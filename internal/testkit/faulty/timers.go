package faulty

import (
	"context"
	"time"

	"sluice/internal/timer"
)

// Timers is a store of timers with outages.
type Timers struct {
	timer.Store
	plan *Plan
}

var _ timer.Store = (*Timers)(nil)

// NewTimers wraps a store of timers.
func NewTimers(inner timer.Store, plan *Plan) *Timers { return &Timers{inner, plan} }

// Put implements timer.Store.
func (t *Timers) Put(ctx context.Context, specs []timer.Spec, now time.Time) ([]timer.Stored, error) {
	return get(ctx, t.plan, "Put", func() ([]timer.Stored, error) { return t.Store.Put(ctx, specs, now) })
}

// Timer implements timer.Store.
func (t *Timers) Timer(ctx context.Context, id string) (timer.Timer, error) {
	return get(ctx, t.plan, "Timer", func() (timer.Timer, error) { return t.Store.Timer(ctx, id) })
}

// Timers implements timer.Store.
func (t *Timers) Timers(ctx context.Context, q timer.Query) ([]timer.Timer, error) {
	return get(ctx, t.plan, "Timers", func() ([]timer.Timer, error) { return t.Store.Timers(ctx, q) })
}

// Cancel implements timer.Store.
func (t *Timers) Cancel(ctx context.Context, id string) (timer.Timer, error) {
	return get(ctx, t.plan, "Cancel", func() (timer.Timer, error) { return t.Store.Cancel(ctx, id) })
}

// Reschedule implements timer.Store.
func (t *Timers) Reschedule(ctx context.Context, id string, at, now time.Time) (timer.Timer, error) {
	return get(ctx, t.plan, "Reschedule", func() (timer.Timer, error) { return t.Store.Reschedule(ctx, id, at, now) })
}

// Fire implements timer.Store.
func (t *Timers) Fire(ctx context.Context, f timer.Firing) ([]timer.FireResult, error) {
	return get(ctx, t.plan, "Fire", func() ([]timer.FireResult, error) { return t.Store.Fire(ctx, f) })
}

// Settle implements timer.Store.
func (t *Timers) Settle(ctx context.Context, settled []timer.Settlement) error {
	return do(ctx, t.plan, "Settle", func() error { return t.Store.Settle(ctx, settled) })
}

// GivenUp implements timer.Store.
func (t *Timers) GivenUp(ctx context.Context) (int64, error) {
	return get(ctx, t.plan, "GivenUp", func() (int64, error) { return t.Store.GivenUp(ctx) })
}

// Redeliver implements timer.Store.
func (t *Timers) Redeliver(ctx context.Context, id string, now time.Time) (timer.Timer, error) {
	return get(ctx, t.plan, "Redeliver", func() (timer.Timer, error) { return t.Store.Redeliver(ctx, id, now) })
}

// Open implements timer.Store.
func (t *Timers) Open(ctx context.Context, fn func(timer.Due) error) error {
	return do(ctx, t.plan, "Open", func() error { return t.Store.Open(ctx, fn) })
}

// Overdue implements timer.Store.
func (t *Timers) Overdue(ctx context.Context, at time.Time, limit int) ([]timer.Due, error) {
	return get(ctx, t.plan, "Overdue", func() ([]timer.Due, error) { return t.Store.Overdue(ctx, at, limit) })
}

// Follow implements timer.Store.
func (t *Timers) Follow(ctx context.Context, after int64, limit int) ([]timer.Completion, error) {
	return get(ctx, t.plan, "Follow", func() ([]timer.Completion, error) { return t.Store.Follow(ctx, after, limit) })
}

// Position implements timer.Store.
func (t *Timers) Position(ctx context.Context, from time.Time) (int64, error) {
	return get(ctx, t.plan, "Position", func() (int64, error) { return t.Store.Position(ctx, from) })
}

// Unlogged implements timer.Store.
func (t *Timers) Unlogged(ctx context.Context, limit int) ([]timer.Timer, error) {
	return get(ctx, t.plan, "Unlogged", func() ([]timer.Timer, error) { return t.Store.Unlogged(ctx, limit) })
}

// Logged implements timer.Store.
func (t *Timers) Logged(ctx context.Context, timers []timer.Timer) error {
	return do(ctx, t.plan, "Logged", func() error { return t.Store.Logged(ctx, timers) })
}

// Prune implements timer.Store.
func (t *Timers) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, t.plan, "Prune", func() (int, error) { return t.Store.Prune(ctx, before, limit) })
}

// Completions implements timer.Store.
func (t *Timers) Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error) {
	return get(ctx, t.plan, "Completions", func() ([]timer.Completion, error) { return t.Store.Completions(ctx, from, afterID, limit) })
}

// Stats implements timer.Store.
func (t *Timers) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	return get(ctx, t.plan, "Stats", func() (timer.Stats, error) { return t.Store.Stats(ctx, from) })
}

// TimerLog is a log of completions with outages.
type TimerLog struct {
	timer.Log
	plan *Plan
}

var _ timer.Log = (*TimerLog)(nil)

// NewTimerLog wraps a log of completions.
func NewTimerLog(inner timer.Log, plan *Plan) *TimerLog { return &TimerLog{inner, plan} }

// Append implements timer.Log.
func (t *TimerLog) Append(ctx context.Context, completions []timer.Completion) error {
	return do(ctx, t.plan, "Append", func() error { return t.Log.Append(ctx, completions) })
}

// Prune implements timer.Log.
func (t *TimerLog) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, t.plan, "Prune", func() (int, error) { return t.Log.Prune(ctx, before, limit) })
}

// Completions implements timer.Log.
func (t *TimerLog) Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error) {
	return get(ctx, t.plan, "Completions", func() ([]timer.Completion, error) { return t.Log.Completions(ctx, from, afterID, limit) })
}

// Stats implements timer.Log.
func (t *TimerLog) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	return get(ctx, t.plan, "Stats", func() (timer.Stats, error) { return t.Log.Stats(ctx, from) })
}
