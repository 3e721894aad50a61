package redis

import (
	"context"
	"embed"

	"sluice/internal/domain"
	"sluice/internal/redisdb"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts are what Redis runs for a keeper.
type scripts struct {
	reserve, settle, sweep, restore, windows *redisdb.Script
}

func loadScripts() scripts {
	load := func(names ...string) *redisdb.Script {
		for i, name := range names {
			names[i] = "scripts/" + name + ".lua"
		}
		return redisdb.LoadScript(scriptFiles, names...)
	}
	return scripts{
		reserve: load("grant", "common", "reserve"),
		settle:  load("answer", "common", "learn", "settle"),
		sweep:   load("common", "learn", "sweep"),
		restore: load("common", "restore"),
		windows: load("common", "windows"),
	}
}

// run calls a script for an owner and returns the numbers it answers with.
func (k *Keeper) run(ctx context.Context, s *redisdb.Script, owner string, args []string) ([]int64, error) {
	m, err := s.Run(ctx, k.db, []string{k.key(owner)}, args)
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
func (k *Keeper) key(owner string) string { return k.db.OwnKey(owner, "quota") }

// runKnown is run for an owner whose state must exist: it is restored first if
// it does not.
func (k *Keeper) runKnown(ctx context.Context, s *redisdb.Script, owner string, args []string, want int) ([]int64, error) {
	for range tries {
		numbers, err := k.run(ctx, s, owner, args)
		if err != nil {
			return nil, err
		}
		if len(numbers) > 0 {
			if len(numbers) < want {
				return nil, domain.Errorf(domain.CodeUnavailable, "redis: a quota script answered %d numbers, not %d", len(numbers), want)
			}
			return numbers, nil
		}
		if err := k.restore(ctx, owner); err != nil {
			return nil, err
		}
	}
	return nil, domain.Errorf(domain.CodeUnavailable, "redis: the quota of an owner vanished %d times in a row", tries)
}
