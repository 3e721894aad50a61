package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// errands are what is still owed to a part that failed when it was first
// asked: the state is right already, and somebody else has to hear of it. What
// is left when the engine stops is made up for by the next start's recovery.
type errands struct {
	log  *slog.Logger
	wake chan struct{}

	mu    sync.Mutex
	queue []errand
}

// errand is done until it succeeds; doing it twice must do no harm.
type errand struct {
	what string
	do   func(context.Context) error
}

// The delays between two tries.
const (
	firstDelay = 50 * time.Millisecond
	maxDelay   = 5 * time.Second
)

func newErrands(log *slog.Logger) *errands { return &errands{log: log, wake: make(chan struct{}, 1)} }

func (q *errands) add(what string, do func(context.Context) error) {
	q.mu.Lock()
	q.queue = append(q.queue, errand{what, do})
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// deliverSoon tells dispatch something, now or as an errand if that fails.
func (e *Engine) deliverSoon(ctx context.Context, do func(context.Context) error) {
	if err := do(ctx); err != nil && ctx.Err() == nil {
		e.cfg.Log.Error("dispatch", "error", err)
		e.errands.add("dispatch", do)
	}
}

func (q *errands) loop(ctx context.Context) {
	delay := firstDelay
	for {
		if q.runOnce(ctx) > 0 {
			if !pause(ctx, delay) {
				return
			}
			delay = min(2*delay, maxDelay)
			continue
		}
		delay = firstDelay
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
	}
}

// runOnce tries everything that is owed and returns how much still is.
func (q *errands) runOnce(ctx context.Context) int {
	q.mu.Lock()
	todo := q.queue
	q.queue = nil
	q.mu.Unlock()
	var left []errand
	for _, e := range todo {
		if err := e.do(ctx); err != nil {
			if ctx.Err() == nil {
				q.log.Warn(e.what+" failed; trying again", "error", err)
			}
			left = append(left, e)
		}
	}
	q.mu.Lock()
	q.queue = append(left, q.queue...)
	q.mu.Unlock()
	return len(left)
}

// pause waits on behalf of a background loop; it reports false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
