package redis

import (
	"context"

	"sluice/internal/domain"
)

// quotaScripts are the scripts by name.
var quotaScripts = loadQuotaScripts()

type quotaScriptSet struct {
	reserve, settle, sweep, restore, reset, windows *luaScript
}

func loadQuotaScripts() quotaScriptSet {
	load := func(names ...string) *luaScript { return loadScript("quota", names...) }
	return quotaScriptSet{
		reserve: load("grant", "common", "points", "reserve"),
		settle:  load("answer", "common", "points", "learn", "settle"),
		sweep:   load("common", "points", "learn", "sweep"),
		restore: load("common", "restore"),
		reset:   load("common", "reset"),
		windows: load("common", "windows"),
	}
}

// run calls a script for an owner and returns the numbers it answers with.
func (k *Quota) run(ctx context.Context, s *luaScript, owner string, args []string) ([]int64, error) {
	m, err := s.run(ctx, k.db, []string{k.key(owner)}, args)
	if err != nil {
		return nil, err
	}
	numbers, err := m.AsIntSlice()
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "redis: a quota script answered something else: %w", err)
	}
	return numbers, nil
}

// key names all that is known about an owner.
func (k *Quota) key(owner string) string { return k.db.OwnKey(owner, "quota") }

// runKnown is run for an owner whose state must exist: it is restored first if
// it does not, or is older than what this process knows of. The script is told
// the highest sequence that this process has seen; its arguments are made anew
// for every try.
func (k *Quota) runKnown(ctx context.Context, s *luaScript, owner string, args func(seen uint64) []string, want int) ([]int64, error) {
	seen, err := k.seen(ctx, owner)
	if err != nil {
		return nil, err
	}
	for range restoreTries {
		numbers, err := k.run(ctx, s, owner, args(seen))
		if err != nil {
			return nil, err
		}
		if len(numbers) > 0 {
			if len(numbers) < want {
				return nil, domain.Errorf(domain.CodeUnavailable, "redis: a quota script answered %d numbers, not %d", len(numbers), want)
			}
			return numbers, nil
		}
		if err := k.restore(ctx, owner, seen); err != nil {
			return nil, err
		}
	}
	return nil, domain.Errorf(domain.CodeUnavailable, "redis: the quota of an owner vanished %d times in a row", restoreTries)
}
