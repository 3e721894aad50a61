package redis

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"sluice/internal/domain"
)

// mostSequences is of how many owners a process remembers how far they were.
// Of those that it forgets it asks the store again.
const mostSequences = 1 << 16

// sequences are the highest numbers that this process has seen, by owner. A state
// with a lower one went back.
type sequences struct {
	mu sync.Mutex
	of map[string]uint64
}

func (s *sequences) remember(owner string, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= mostSequences {
		s.of = make(map[string]uint64)
	}
	s.of[owner] = max(s.of[owner], n)
}

func (s *sequences) get(owner string) (n uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known = s.of[owner]
	return n, known
}

// seen is the highest sequence of an owner that this process knows of; one that
// has not met the owner yet asks the store.
func (k *Quota) seen(ctx context.Context, owner string) (uint64, error) {
	if n, known := k.highest.get(owner); known {
		return n, nil
	}
	stored, err := k.stored(ctx, owner)
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	for _, w := range stored {
		n = max(n, w.Seq/sequenceStep)
	}
	k.highest.remember(owner, n)
	return n, nil
}

// stored are the windows of an owner that are stored, of configured buckets.
func (k *Quota) stored(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	if k.opts.Restore == nil {
		return nil, nil
	}
	all, err := k.opts.Restore(ctx, owner)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "read the stored quota windows: %w", err)
	}
	return slices.DeleteFunc(all, func(w domain.QuotaWindow) bool {
		_, ok := k.buckets[w.Bucket]
		return !ok || w.Owner != owner
	}), nil
}

// restore creates the state of an owner that Redis knows nothing about, or less
// than was seen, or by a clock that was set back, from what is stored.
func (k *Quota) restore(ctx context.Context, owner string, seen uint64) error {
	stored, err := k.stored(ctx, owner)
	if err != nil {
		return err
	}
	by := make(map[string]domain.QuotaWindow, len(stored))
	for _, w := range stored {
		seen = max(seen, w.Seq/sequenceStep)
		by[w.Bucket] = w
	}
	args := []string{k.clock(), strconv.FormatUint(seen, 10), k.anyConfig, strconv.FormatInt(k.now().UnixMicro(), 10)}
	for name, b := range k.buckets {
		w := by[name]
		var r record
		r.integers(w.Limit)
		r.times(w.Reset, w.Started, w.ParkedUntil)
		args = append(args, b.field, b.config, string(r))
	}
	m, err := quotaScripts.restore.run(ctx, k.db, []string{k.key(owner)}, args)
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
func (k *Quota) tidy(ctx context.Context, owner string) {
	_ = k.sweep(ctx, owner, k.opts.PermitLife)
	k.list(ctx, owner)
}

// sweep ends the owner's permits that have been out for so long.
func (k *Quota) sweep(ctx context.Context, owner string, life time.Duration) error {
	args := append([]string{k.clock(), strconv.FormatInt(life.Microseconds(), 10)}, k.everyBucket...)
	_, err := quotaScripts.sweep.run(ctx, k.db, []string{k.key(owner)}, args)
	return err
}
