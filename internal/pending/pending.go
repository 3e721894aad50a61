// Package pending is the port to where results wait that were paid for and that
// the store does not take: if the process that has them dies, another stores
// them instead of making the call again.
package pending

import (
	"context"

	"sluice/internal/state"
)

// Results keeps results until the store takes them, for an hour at most. It is
// a help, not a promise: what it loses is called for again.
type Results interface {
	// Keep stores an outcome under its job.
	Keep(ctx context.Context, o state.Outcome) error
	// Take reads what is kept for a job.
	Take(ctx context.Context, job int64) (o state.Outcome, ok bool, err error)
	// Drop forgets what is kept for jobs.
	Drop(ctx context.Context, jobs ...int64) error
}
