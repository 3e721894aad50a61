package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/backoff"
)

// retryQueue holds what is still owed to a part that failed when it was first
// asked: the state is right already, and somebody else has to hear of it. What
// is left when the engine stops is made up for by the next start's recovery.
type retryQueue struct {
	log  *slog.Logger
	wake chan struct{}

	mu    sync.Mutex
	queue []retryItem
}

// retryItem is run until it succeeds; doing it twice must do no harm.
type retryItem struct {
	// message is what is logged while it fails.
	message string
	run     func(context.Context) error
}

// backendDelays are how long to wait before a part that failed is asked again.
var backendDelays = backoff.Delays{First: 50 * time.Millisecond, Longest: 5 * time.Second}

func newRetryQueue(log *slog.Logger) *retryQueue {
	return &retryQueue{log: log, wake: make(chan struct{}, 1)}
}

func (q *retryQueue) add(message string, do func(context.Context) error) {
	q.mu.Lock()
	q.queue = append(q.queue, retryItem{message, do})
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// dispatchOwed is what is logged while dispatch does not take what it is owed.
const dispatchOwed = "dispatch does not take what it has to know; trying again"

// dispatchOrRetry tells dispatch something, now or again and again if that fails.
func (c *core) dispatchOrRetry(ctx context.Context, do func(context.Context) error) {
	if err := do(ctx); err != nil && ctx.Err() == nil {
		c.cfg.Log.Error(dispatchOwed, "error", err)
		c.retries.add(dispatchOwed, do)
	}
}

func (q *retryQueue) loop(ctx context.Context) {
	delays := backendDelays.Series()
	for {
		if q.runOnce(ctx) > 0 {
			if !backoff.Sleep(ctx, delays.Next()) {
				return
			}
			continue
		}
		delays.Reset()
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
	}
}

// runOnce tries everything that is owed and returns how much still is.
func (q *retryQueue) runOnce(ctx context.Context) int {
	q.mu.Lock()
	todo := q.queue
	q.queue = nil
	q.mu.Unlock()
	var left []retryItem
	for _, e := range todo {
		if err := e.run(ctx); err != nil {
			if ctx.Err() == nil {
				q.log.Warn(e.message, "error", err)
			}
			left = append(left, e)
		}
	}
	q.mu.Lock()
	q.queue = append(left, q.queue...)
	q.mu.Unlock()
	return len(left)
}
