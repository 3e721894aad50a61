package redis

import (
	"context"
	"time"

	"sluice/internal/due"
)

// Take implements due.Set. A call whose context ends while it takes
// returns what it took, if anything.
func (k *KeyspaceTrigger) Take(ctx context.Context, n int) (due.Batch, error) {
	if err := checkTake(ctx, n); err != nil {
		return due.Batch{}, err
	}
	waiting, done, ok := k.life.begin(ctx)
	if !ok {
		return due.Batch{}, errClosed("due set")
	}
	defer done()
	taken, err := k.takeOrWait(waiting, min(n, dueBatch))
	return taken, takeError(ctx, waiting, err)
}

func (k *KeyspaceTrigger) takeOrWait(ctx context.Context, n int) (batch due.Batch, err error) {
	err = k.waiter.Wait(ctx, func() (found bool, wait time.Duration, err error) {
		batch, err = k.act(ctx, n)
		// Redis tells when there is more.
		return len(batch.Taken) > 0, k.MaxWait, err
	})
	if err == nil && len(batch.Taken) == 0 {
		batch.Now = k.clock()
	}
	return batch, err
}

// act does what was heard of until something is taken or nothing is left. The
// end of ctx does not end it at once: what is taken by then would be lost to
// everybody for the grace.
func (k *KeyspaceTrigger) act(ctx context.Context, n int) (due.Batch, error) {
	patient, cancel := withGrace(ctx)
	defer cancel()
	if err := k.ensureListening(patient); err != nil {
		return due.Batch{}, err
	}
	for ctx.Err() == nil {
		ids := k.expiries.next(n)
		if len(ids) == 0 {
			return due.Batch{}, nil
		}
		taken, err := k.claim(patient, ids)
		if err != nil {
			for _, id := range ids {
				k.expiries.add(id)
			}
			return due.Batch{}, err
		}
		if len(taken.Taken) > 0 {
			return taken, nil
		}
	}
	return due.Batch{}, ctx.Err()
}

// ensureListening looks whether the keys are still there, once in MaxWait for the whole
// process, and whenever announcements may have been missed.
func (k *KeyspaceTrigger) ensureListening(ctx context.Context) error {
	missed := k.expiries.takeMissed()
	if !missed && k.sinceCheck() < k.MaxWait {
		return nil
	}
	k.follow(ctx)
	err := k.check(ctx, missed)
	if err != nil && missed {
		k.expiries.miss()
	}
	return err
}

func (k *KeyspaceTrigger) sinceCheck() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.checked)
}
