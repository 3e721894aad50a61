package timer

import (
	"context"
	"time"
)

// completions tell of the timers that have fired.
type completions struct {
	// history is the log, if there is one, and the store otherwise; feed is what the
	// store itself has.
	history History
	feed    Feed
}

// Completions lists completions; see History.
func (c *completions) Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]Completion, error) {
	return c.history.Completions(ctx, from, afterID, limit)
}

// Follow lists completions after a position, as the store has them; see Store.
func (c *completions) Follow(ctx context.Context, after int64, limit int) ([]Completion, error) {
	return c.feed.Follow(ctx, after, limit)
}

// Position is where to follow completions from that fired at or after an
// instant; see Store.
func (c *completions) Position(ctx context.Context, from time.Time) (int64, error) {
	return c.feed.Position(ctx, from)
}

// Newest is the position of the last completion.
func (c *completions) Newest(ctx context.Context) (int64, error) {
	return c.feed.Position(ctx, latestInstant)
}

// Stats sums up the completions from an instant on.
func (c *completions) Stats(ctx context.Context, from time.Time) (Stats, error) {
	return c.history.Stats(ctx, from)
}
