package redis

import (
	"context"
	"time"

	"sluice/internal/timer"
)

// Take implements timer.Trigger. A call whose context ends while it takes
// returns what it took, if anything.
func (k *Keyspace) Take(ctx context.Context, n int) (timer.Batch, error) {
	if err := checkTake(ctx, n); err != nil {
		return timer.Batch{}, err
	}
	waiting, done, ok := k.life.Begin(ctx)
	if !ok {
		return timer.Batch{}, errClosed()
	}
	defer done()
	taken, err := k.takeOrWait(waiting, min(n, mostAtOnce))
	return taken, ended(ctx, waiting, err)
}

func (k *Keyspace) takeOrWait(ctx context.Context, n int) (timer.Batch, error) {
	end := time.NewTimer(k.MaxWait)
	defer end.Stop()
	select {
	case k.seat <- struct{}{}:
	case <-end.C:
		return timer.Batch{Now: k.clock()}, nil
	case <-ctx.Done():
		return timer.Batch{}, ctx.Err()
	}
	defer func() { <-k.seat }()
	for {
		taken, err := k.act(ctx, n)
		if err != nil || len(taken.Taken) > 0 {
			return taken, err
		}
		select {
		case <-k.heard.news:
		case <-end.C:
			return timer.Batch{Now: k.clock()}, nil
		case <-ctx.Done():
			return timer.Batch{}, ctx.Err()
		}
	}
}

// act does what was heard of until something is taken or nothing is left. The
// end of ctx does not end it at once: what is taken by then would be lost to
// everybody for the grace.
func (k *Keyspace) act(ctx context.Context, n int) (timer.Batch, error) {
	patient, cancel := patience(ctx)
	defer cancel()
	if err := k.makeSure(patient); err != nil {
		return timer.Batch{}, err
	}
	for ctx.Err() == nil {
		ids := k.heard.next(n)
		if len(ids) == 0 {
			return timer.Batch{}, nil
		}
		taken, err := k.claim(patient, ids)
		if err != nil {
			for _, id := range ids {
				k.heard.add(id)
			}
			return timer.Batch{}, err
		}
		if len(taken.Taken) > 0 {
			return taken, nil
		}
	}
	return timer.Batch{}, ctx.Err()
}

// makeSure looks whether the keys are still there, once in MaxWait for the whole
// process, and whenever announcements may have been missed.
func (k *Keyspace) makeSure(ctx context.Context) error {
	missed := k.heard.takeMissed()
	if !missed && k.sinceCheck() < k.MaxWait {
		return nil
	}
	k.follow(ctx)
	err := k.check(ctx, missed)
	if err != nil && missed {
		k.heard.miss()
	}
	return err
}

func (k *Keyspace) sinceCheck() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.checked)
}
