package load

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/backoff"
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
		backoff.Sleep(limited, 10*time.Millisecond)
	}
}

// ended counts how often a lock that was taken after an instant can have ended by
// itself: on a machine that is kept busy it can be given out as often again.
func ended(since time.Time, p domain.Priority) int64 {
	return int64(time.Since(since) / refresh.CoalescerTTLs{}.WithDefaults().Lock(p))
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
	began := time.Now()
	err := w.together(herd, func(_ int, one *instance) error {
		grants, err := one.Request(ctx, request(entities[:1], domain.PriorityHigh))
		became.count(grants)
		return err
	})
	if err != nil {
		return err
	}
	more := ended(began, domain.PriorityHigh)
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
	r.within("published", became.published.Load(), 1, 1+more)
	r.exactly("already_processing", became.already.Load(), herd-became.published.Load())
	r.exactly("reads_failed", failed.Load(), 0)
	w.judgeLost(ctx, r)
	more = ended(began, domain.PriorityHigh)
	r.within("calls", w.sim.Audit().Calls, 2, 2+2*more+w.seen.handedAgain())
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
	began := time.Now()
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
	published := became.published.Load()
	r.within("published", published, keys, keys*(1+ended(began, domain.PriorityHigh)))
	r.exactly("already_processing", became.already.Load(), int64(keys*len(w.instances))-published)
	w.taking.end()
	w.judgeLost(ctx, r)
	r.within("calls", w.sim.Audit().Calls, keys, published+w.seen.handedAgain())
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
	began := time.Now()
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
	upgraded := int64(keys)
	if ended(began, domain.PriorityLow) > 0 {
		upgraded = 0 // what LOW has locked is free again
	}
	released := time.Now()
	w.taking.end()
	r.exactly("low_published", low.published.Load(), keys)
	r.within("upgraded", high.upgraded.Load(), upgraded, keys)
	r.exactly("high_published", high.published.Load(), keys-high.upgraded.Load())
	w.judgeLost(ctx, r)
	// LOW waits for HIGH as long as HIGH's lock lasts, and then calls itself.
	again := w.seen.handedAgain() + keys*min(1, ended(released, domain.PriorityHigh))
	if !w.Shared {
		// Embedded, requests are kept in the log alone, and only one process takes
		// them: nothing tells the other instance's LOW of HIGH.
		again = keys
	}
	until(ctx, func() bool { return w.counters().obsolete >= 2*keys-w.sim.Audit().Calls })
	r.within("obsolete", w.counters().obsolete, keys-min(keys, again), keys+again)
	r.within("calls", w.sim.Audit().Calls, keys, keys+again)
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
		if err := w.tryAsk(ctx, entities, domain.PriorityHigh); err != nil {
			return err
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
	again := w.seen.handedAgain()
	r.exactly("stored", c.stored, keys)
	r.within("touched", c.touched, keys*(rounds-1)-again, keys*(rounds-1)+again)
	r.exactly("fresh", fresh, keys)
	r.exactly("checked_later", checked, keys)
	r.exactly("changed", changed, 0)
	r.within("calls", w.sim.Audit().Calls, keys*rounds-again, keys*rounds+again)
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
