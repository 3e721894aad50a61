package relational

import (
	"context"
	"maps"
	"slices"
	"sync"

	"sluice/internal/domain"
)

// A row may be locked by somebody who does not come back: a machine that
// vanished, until the server gives its transaction up. Whoever needs that row
// fails and is offered again; nobody else is to wait for it.

// lockedRuns are the runs of which something was found locked.
type lockedRuns struct {
	mu sync.Mutex
	by map[int64]struct{}
}

func (l *lockedRuns) add(run int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[int64]struct{}{}
	}
	l.by[run] = struct{}{}
}

func (l *lockedRuns) drop(run int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, run)
}

func (l *lockedRuns) none() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.by) == 0
}

func (l *lockedRuns) has(run int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.by[run]
	return ok
}

// do applies a call together with those of others, unless its run is locked.
func (s *State) do(ctx context.Context, c *call) error {
	if !s.locked.none() {
		if f := s.memory.recall([]*call{c}); f != nil && s.locked.has(f[0].run) {
			return s.around.Do(ctx, c)
		}
	}
	return s.calls.Do(ctx, c)
}

// applyAround applies the calls that need nothing which somebody else has
// locked. The others fail with code unavailable at once.
func (s *State) applyAround(ctx context.Context, calls []*call) error {
	runs, locked, err := s.findLocked(ctx, calls)
	if err != nil {
		return err
	}
	var free []*call
	for _, c := range calls {
		run := runs[c.job()]
		if locked[c.job()] || locked[-run] {
			s.failLocked(c, run)
			continue
		}
		free = append(free, c)
	}
	if len(free) == 0 {
		return nil
	}
	err = s.applyTogether(ctx, free)
	if err == nil {
		for _, c := range free {
			s.locked.drop(runs[c.job()])
		}
		return nil
	}
	byRun := map[int64][]*call{}
	for _, c := range free {
		byRun[runs[c.job()]] = append(byRun[runs[c.job()]], c)
	}
	// What is locked is something else of one of the runs, or one of the calls
	// is refused.
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		s.applyApart(ctx, run, byRun[run])
	}
	return nil
}

// applyApart applies the calls of one run, which none of another wait for.
func (s *State) applyApart(ctx context.Context, run int64, calls []*call) {
	err := s.applyTogether(ctx, calls)
	switch {
	case err == nil:
		s.locked.drop(run)
	case s.db.IsLocked(err):
		for _, c := range calls {
			s.failLocked(c, run)
		}
	case len(calls) == 1 || domain.CodeOf(err) == domain.CodeUnavailable:
		for _, c := range calls {
			c.fail(err)
		}
	default:
		for i := range calls {
			s.applyApart(ctx, run, calls[i:i+1])
		}
	}
}

func (s *State) failLocked(c *call, run int64) {
	s.locked.add(run)
	c.fail(domain.Errorf(domain.CodeUnavailable,
		"job %d of run %d waits for a transaction of another process that has not ended; the server ends it if that process is gone", c.job(), run))
}

// findLocked returns the runs of the calls' jobs, and which jobs, and runs with
// a minus sign, somebody has locked just now.
func (s *State) findLocked(ctx context.Context, calls []*call) (runs map[int64]int64, locked map[int64]bool, err error) {
	jobs := make([]int64, len(calls))
	for i, c := range calls {
		jobs[i] = c.job()
	}
	loaded, err := s.Load(ctx, jobs)
	if err != nil {
		return nil, nil, err
	}
	runs, locked = map[int64]int64{}, map[int64]bool{}
	for i := range loaded {
		runs[loaded[i].ID] = loaded[i].RunID
		locked[loaded[i].ID], locked[-loaded[i].RunID] = true, true
	}
	if len(loaded) == 0 {
		return runs, locked, nil
	}
	err = s.db.Read(ctx, func(q Querier) error {
		for _, table := range []struct {
			name string
			ids  []int64
			sign int64
		}{{"job", slices.Sorted(maps.Keys(runs)), 1}, {"run", slices.Sorted(maps.Values(runs)), -1}} {
			var find Statement
			find.Write("SELECT id FROM ").Write(table.name).Write(" /*! FORCE INDEX (PRIMARY) */ WHERE id IN (")
			find.Ints(slices.Compact(table.ids)...).Write(") FOR UPDATE SKIP LOCKED")
			free, err := selectIDs(ctx, q, &find)
			if err != nil {
				return err
			}
			for _, id := range free {
				delete(locked, table.sign*id)
			}
		}
		return nil
	})
	return runs, locked, err
}
