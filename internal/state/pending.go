package state

import "context"

// Pending keeps results that were paid for until the store takes them. Whoever
// takes the job over uses them instead of paying again. They may vanish: then the
// call is made again. Implementations are safe for concurrent use.
type Pending interface {
	// Keep keeps an outcome under its job, in place of an earlier one.
	Keep(ctx context.Context, o Outcome) error
	// Take reads the outcome that is kept for a job, if any. It stays until it
	// is dropped: whoever reads it may fail to store it, too.
	Take(ctx context.Context, job int64) (Outcome, bool, error)
	// Drop forgets the outcomes of jobs; those of which none is kept are ignored.
	Drop(ctx context.Context, jobs ...int64) error
}
