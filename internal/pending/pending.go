// Package pending is the port to where results wait that were paid for and
// that the store does not take yet. Whoever takes the job over uses them
// instead of paying again.
package pending

import (
	"context"

	"sluice/internal/state"
)

// Results keeps results that were paid for until the store takes them. They
// may vanish: then the call is made again. Implementations are safe for
// concurrent use.
type Results interface {
	// Keep keeps an outcome under its job, in place of an earlier one.
	Keep(ctx context.Context, o state.Outcome) error
	// Take reads the outcome that is kept for a job, if any. It stays until it
	// is dropped: whoever reads it may fail to store it, too.
	Take(ctx context.Context, job int64) (state.Outcome, bool, error)
	// Drop forgets the outcomes of jobs; those of which none is kept are ignored.
	Drop(ctx context.Context, jobs ...int64) error
}
