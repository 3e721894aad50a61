package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/domain"
)

// restore creates the state of an owner that Redis knows nothing about, from
// what is stored.
func (k *Keeper) restore(ctx context.Context, owner string) error {
	var stored []domain.QuotaWindow
	if k.opts.Restore != nil {
		var err error
		if stored, err = k.opts.Restore(ctx, owner); err != nil {
			return domain.Errorf(domain.CodeUnavailable, "read the stored quota windows: %w", err)
		}
	}
	highest := k.highest.Load()
	args := []string{k.clock(), "", k.anyConfig}
	for _, w := range stored {
		b, ok := k.buckets[w.Bucket]
		if !ok || w.Owner != owner {
			continue
		}
		highest = max(highest, w.Seq/sequenceStep+1)
		var r record
		r.integers(w.Limit)
		r.times(w.Reset, w.Started, w.ParkedUntil)
		args = append(args, b.field, b.config, string(r))
	}
	args[1] = strconv.FormatUint(highest, 10)
	m, err := k.scripts.restore.Run(ctx, k.db, []string{k.key(owner)}, args)
	if err != nil {
		return err
	}
	if created, err := m.AsInt64(); err == nil && created == 1 {
		k.list(ctx, owner)
	}
	return nil
}

// tidy ends permits whose holder is gone. If it fails, the next decision says
// again that it is due.
func (k *Keeper) tidy(ctx context.Context, owner string) {
	_ = k.sweep(ctx, owner, k.opts.PermitLife)
	k.list(ctx, owner)
}

// sweep ends the owner's permits that have been out for so long.
func (k *Keeper) sweep(ctx context.Context, owner string, life time.Duration) error {
	args := append([]string{k.clock(), strconv.FormatInt(life.Microseconds(), 10)}, k.everyBucket...)
	_, err := k.scripts.sweep.Run(ctx, k.db, []string{k.key(owner)}, args)
	return err
}
