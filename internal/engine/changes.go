package engine

import (
	"context"
	"fmt"
	"time"
)

const (
	// trimBatch is how many changes are removed in one transaction, and trimBatches
	// how many such there are at most at a time.
	trimBatch   = 10_000
	trimBatches = 50
	// trimPause is the least time between two looks for old changes: runs may end
	// every few seconds.
	trimPause = time.Minute
)

// trimChanges removes changes that are older than they are kept for. What is too much
// for one time, or cannot be removed now, is left to the next.
func (cr *choreRunner) trimChanges(ctx context.Context) {
	now := cr.cfg.Now()
	if cr.Feed == nil || cr.cfg.ChangesKept <= 0 || now.UnixNano()-cr.trimmed.Load() < int64(trimPause) {
		return
	}
	cr.trimmed.Store(now.UnixNano())
	total, err := cr.trim(ctx, now.Add(-cr.cfg.ChangesKept))
	switch {
	case err != nil && ctx.Err() == nil:
		cr.cfg.Log.Warn("old changes are kept for now", "error", err)
	case total > 0:
		cr.cfg.Log.Info("old changes were removed from the feed", "changes", total)
	}
}

func (cr *choreRunner) trim(ctx context.Context, before time.Time) (total int64, err error) {
	for range trimBatches {
		n, err := cr.Feed.TrimChanges(ctx, before, trimBatch)
		if err != nil {
			return total, fmt.Errorf("remove old changes: %w", err)
		}
		if total += n; n == 0 {
			break
		}
	}
	return total, nil
}
