// Package peer runs other job systems under the same load as Sluice, to
// compare with them in the same run on the same machine.
package peer

import (
	"context"
	"time"
)

// Peer is another job system.
type Peer interface {
	// Name says what it is and what it stands on.
	Name() string
	// Process enqueues n tasks that do nothing, and then times how long the
	// workers take to process them.
	Process(ctx context.Context, n, workers int) (Rates, error)
	// Resolution is the finest instant at which it can let a task come due;
	// zero if any will do.
	Resolution() time.Duration
	// Lateness enqueues n tasks that come due evenly over the spread, at
	// instants that it can tell apart, and returns how late each began; negative
	// is early.
	Lateness(ctx context.Context, n, workers int, spread time.Duration) ([]time.Duration, error)
	// Idle runs with nothing to do until ctx ends. It calls ready once.
	Idle(ctx context.Context, workers int, ready func()) error
}

// Rates are tasks per second.
type Rates struct {
	Enqueue, Process float64
}

// lead is what enqueuing delayed tasks may take before the first is due.
const lead = 4 * time.Second

// DueTimes spreads n instants evenly, the first one after a lead, and rounds
// them to a resolution.
func DueTimes(n int, lead, spread, resolution time.Duration) []time.Time {
	begin := time.Now().Add(lead + resolution)
	out := make([]time.Time, n)
	for i := range out {
		out[i] = begin.Add(spread * time.Duration(i) / time.Duration(n)).Truncate(max(resolution, 1))
	}
	return out
}

// take receives n values, or stops when ctx ends.
func take[T any](ctx context.Context, n int, from <-chan T) ([]T, error) {
	out := make([]T, 0, n)
	for len(out) < n {
		select {
		case v := <-from:
			out = append(out, v)
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	return out, nil
}

func perSecond(n int, since time.Time) float64 { return float64(n) / time.Since(since).Seconds() }
