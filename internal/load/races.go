package load

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// together calls do so many times at once, each with its number and an instance,
// and returns the first error.
func (w *world) together(n int, do func(i int, one *instance) error) error {
	var work sync.WaitGroup
	var once sync.Once
	var failed error
	ready := make(chan struct{})
	for i := range n {
		work.Go(func() {
			<-ready
			if err := do(i, w.instances[i%len(w.instances)]); err != nil {
				once.Do(func() { failed = err })
			}
		})
	}
	close(ready)
	work.Wait()
	return failed
}

// until waits for something that must come true.
func until(ctx context.Context, true func() bool) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !true() && limited.Err() == nil {
		sleep(limited, 10*time.Millisecond)
	}
}

// outcomes counts what became of asks.
type outcomes struct{ published, upgraded, already atomic.Int64 }

func (o *outcomes) count(grants []refresh.Grant) {
	for _, g := range grants {
		switch g.Result {
		case refresh.Published:
			o.published.Add(1)
		case refresh.Upgraded:
			o.upgraded.Add(1)
		case refresh.AlreadyProcessing:
			o.already.Add(1)
		}
	}
}

func request(entities []refresh.Entity, p domain.Priority) refresh.Request {
	return refresh.Request{Entities: entities, Priority: p, Reason: refresh.ReasonUserRequest}
}

func thunderingHerd(ctx context.Context, w *world, r *Result) error {
	const herd = 1000
	if err := w.ready(ctx); err != nil {
		return err
	}
	// No call ends before everybody has asked.
	w.upstream.begin(patience)
	entities := w.fresh(2)
	w.seen.expect(entities, domain.PriorityHigh)
	var became outcomes
	err := w.together(herd, func(_ int, one *instance) error {
		grants, err := one.Request(ctx, request(entities[:1], domain.PriorityHigh))
		became.count(grants)
		return err
	})
	if err != nil {
		return err
	}
	var failed atomic.Int64
	places := make(chan struct{}, readsAtOnce)
	_ = w.together(herd, func(int, *instance) error {
		places <- struct{}{}
		defer func() { <-places }()
		if !w.get(ctx, entities[1]) {
			failed.Add(1)
		}
		return nil
	})
	w.upstream.end()
	r.exactly("published", became.published.Load(), 1)
	r.exactly("already_processing", became.already.Load(), herd-1)
	r.exactly("reads_failed", failed.Load(), 0)
	w.judgeLost(ctx, r)
	r.exactly("calls", w.sim.Audit().Calls, 2)
	return nil
}

func dedupRace(ctx context.Context, w *world, r *Result) error {
	const keys = 1000
	if err := w.ready(ctx); err != nil {
		return err
	}
	// No request is done, and its lock free again, before everybody has asked.
	w.taking.begin(patience)
	entities := w.fresh(keys)
	w.seen.expect(entities, domain.PriorityHigh)
	var became outcomes
	err := w.together(len(w.instances), func(_ int, one *instance) error {
		mine := slices.Clone(entities)
		rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
		for part := range slices.Chunk(mine, askBatch) {
			grants, err := one.Request(ctx, request(part, domain.PriorityHigh))
			if err != nil {
				return err
			}
			became.count(grants)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.exactly("published", became.published.Load(), keys)
	r.exactly("already_processing", became.already.Load(), int64(keys*(len(w.instances)-1)))
	w.taking.end()
	w.judgeLost(ctx, r)
	r.exactly("calls", w.sim.Audit().Calls, keys)
	return nil
}

func priorityInversion(ctx context.Context, w *world, r *Result) error {
	const keys = 200
	if err := w.ready(ctx); err != nil {
		return err
	}
	// Workers have LOW requests and do not get on with them.
	w.taking.begin(patience)
	entities := w.fresh(keys)
	var low, high outcomes
	for part := range slices.Chunk(entities, askBatch) {
		grants, err := w.any().Request(ctx, request(part, domain.PriorityLow))
		if err != nil {
			return err
		}
		low.count(grants)
	}
	w.seen.expect(entities, domain.PriorityHigh)
	for part := range slices.Chunk(entities, askBatch) {
		grants, err := w.any().Request(ctx, request(part, domain.PriorityHigh))
		if err != nil {
			return err
		}
		high.count(grants)
	}
	w.taking.end()
	r.exactly("low_published", low.published.Load(), keys)
	r.exactly("upgraded", high.upgraded.Load(), keys)
	w.judgeLost(ctx, r)
	until(ctx, func() bool { return w.counters().obsolete >= keys })
	r.exactly("obsolete", w.counters().obsolete, keys)
	r.exactly("calls", w.sim.Audit().Calls, keys)
	r.note("high_p95_ms", percentile(w.seen.highTimes(), 95))
	return nil
}

func staleLoop(ctx context.Context, w *world, r *Result) error {
	const keys, rounds = 100, 3
	entities := w.fresh(keys)
	if err := w.ready(ctx); err != nil {
		return err
	}
	var first []refresh.Snapshot
	for round := range rounds {
		if !w.ask(ctx, entities, domain.PriorityHigh) {
			return domain.Errorf(domain.CodeUnavailable, "requests are refused")
		}
		if left := w.seen.await(ctx, everybody); left > 0 {
			return domain.Errorf(domain.CodeUnavailable, "%d of %d entities were not stored", left, keys)
		}
		// Locks are given up last; while one is held, nothing is asked for.
		until(ctx, func() bool { return w.released.Load() >= int64(keys*(round+1)) })
		if round == 0 {
			first = w.snapshots(ctx, entities)
		}
	}
	var fresh, changed, checked int64
	for i, now := range w.snapshots(ctx, entities) {
		answer, err := w.any().Get(ctx, entities[i])
		if err != nil {
			return err
		}
		if answer.Freshness == refresh.Fresh {
			fresh++
		}
		if !now.UpdatedAt.Equal(first[i].UpdatedAt) {
			changed++
		}
		if now.CheckedAt.After(first[i].CheckedAt) {
			checked++
		}
	}
	c := w.counters()
	r.exactly("stored", c.stored, keys)
	r.exactly("touched", c.touched, keys*(rounds-1))
	r.exactly("fresh", fresh, keys)
	r.exactly("checked_later", checked, keys)
	r.exactly("changed", changed, 0)
	r.exactly("calls", w.sim.Audit().Calls, keys*rounds)
	return nil
}

// snapshots reads rows past the cache; one that is not there is empty.
func (w *world) snapshots(ctx context.Context, entities []refresh.Entity) []refresh.Snapshot {
	out := make([]refresh.Snapshot, len(entities))
	for i, e := range entities {
		if snapshot, found, _, err := w.instances[0].Snapshots.Snapshot(ctx, e); err == nil && found {
			out[i] = snapshot
		}
	}
	return out
}
