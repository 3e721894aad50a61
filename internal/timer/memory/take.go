package memory

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// Take implements timer.Trigger. Calls are served in the order in which they
// came.
func (t *Trigger) Take(ctx context.Context, n int) (timer.Batch, error) {
	if n < 1 {
		return timer.Batch{}, domain.Errorf(domain.CodeInvalid, "take %d timers: at least 1 is needed", n)
	}
	if err := ctx.Err(); err != nil {
		return timer.Batch{}, err
	}
	end := time.NewTimer(t.maxWait)
	defer end.Stop()
	select {
	case t.seat <- struct{}{}:
	case <-end.C:
		return timer.Batch{Now: t.now()}, nil
	case <-ctx.Done():
		return timer.Batch{}, ctx.Err()
	}
	defer func() { <-t.seat }()
	for {
		batch, wait := t.take(n)
		if len(batch.Taken) > 0 {
			return batch, nil
		}
		over, err := t.wait(ctx, wait, end.C)
		if err != nil {
			return timer.Batch{}, err
		}
		if over {
			// The wall clock may have been set while nothing but elapsed time
			// was measured.
			batch, _ = t.take(n)
			return batch, nil
		}
	}
}

// wait waits until there is a reason to look: the earliest instant has come, an
// earlier one was set, or the call is over.
func (t *Trigger) wait(ctx context.Context, wait time.Duration, end <-chan time.Time) (over bool, err error) {
	var alarm <-chan time.Time
	if wait < t.maxWait {
		next := time.NewTimer(wait)
		defer next.Stop()
		alarm = next.C
	}
	select {
	case <-alarm:
	case <-t.earlier:
	case <-end:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// take takes what is due now. If that is nothing it returns how long nothing
// will be.
func (t *Trigger) take(n int) (timer.Batch, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.earlier: // this look sees it
	default:
	}
	now := t.now()
	batch := timer.Batch{Now: now}
	for len(batch.Taken) < n {
		id, _, ok := t.set.PopDue(now)
		if !ok {
			break
		}
		t.issued++
		batch.Taken = append(batch.Taken, timer.Taken{ID: id, Token: t.issued})
	}
	// They go back when all are out, so that none comes twice in a batch.
	for _, one := range batch.Taken {
		t.taken[one.ID] = one.Token
		t.set.Put(one.ID, now.Add(t.grace))
	}
	wait := t.maxWait
	if next, ok := t.set.Next(); ok {
		wait = min(wait, next.Sub(now))
	}
	return batch, wait
}
