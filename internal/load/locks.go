package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
)

func atomicBuckets(ctx context.Context, w *world, r *Result) error {
	keeper := w.instances[0].Rate
	// The first grant begins the day.
	if _, err := rate.Wait(ctx, keeper, Source, domain.PriorityHigh, 1); err != nil {
		return err
	}
	before, err := keeper.Usage(ctx, Source)
	if err != nil {
		return err
	}
	const callers = 16
	var granted, refusals atomic.Int64
	limited, cancel := context.WithTimeout(ctx, w.length)
	defer cancel()
	err = w.together(callers, func(_ int, one *instance) error {
		for limited.Err() == nil {
			grant, err := one.Rate.Reserve(ctx, Source, domain.PriorityLow, 1)
			if err != nil {
				return err
			}
			granted.Add(int64(grant.Calls))
			if grant.Calls == 0 {
				refusals.Add(1)
				backoff.Sleep(limited, step/5)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// LOW leaves these to HIGH, however much it asks.
	grant, err := keeper.Reserve(ctx, Source, domain.PriorityHigh, reserve)
	if err != nil {
		return err
	}
	after, err := keeper.Usage(ctx, Source)
	if err != nil {
		return err
	}
	r.atLeast("low_refusals", float64(refusals.Load()), 1)
	r.note("low_granted", float64(granted.Load()))
	r.exactly("high_granted_at_once", int64(grant.Calls), reserve)
	r.exactly("wasted", after.Used-before.Used-granted.Load()-int64(grant.Calls), 0)
	r.exactly("low_counted_wrongly", after.UsedLow-before.UsedLow-granted.Load(), 0)
	return nil
}

// history is what versions of one entity were given out.
type history struct {
	mu       sync.Mutex
	last     int64
	versions map[int64]bool
}

// add notes a version, and reports whether it was there before or is smaller
// than one that was given up before this one was given out.
func (h *history) add(version int64) (twice, backwards bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	twice, backwards = h.versions[version], version < h.last
	h.versions[version] = true
	h.last = max(h.last, version)
	return twice, backwards
}

func versionOrder(ctx context.Context, w *world, r *Result) error {
	const keys = 20
	entities := w.fresh(keys)
	histories := make([]history, keys)
	for i := range histories {
		histories[i].versions = map[int64]bool{}
	}
	var issued, twice, backwards atomic.Int64
	limited, cancel := context.WithTimeout(ctx, w.length)
	defer cancel()
	err := w.together(len(w.instances), func(_ int, one *instance) error {
		for limited.Err() == nil {
			i := rand.IntN(keys)
			began := time.Now()
			grants, err := one.Coalescer.Acquire(ctx, refresh.Ask{Entity: entities[i], Priority: domain.PriorityHigh})
			if err != nil {
				return err
			}
			if grants[0].Result == refresh.AlreadyProcessing {
				continue
			}
			// Who holds the lock is alone: what it gets came last.
			again, smaller := histories[i].add(grants[0].Version)
			issued.Add(1)
			if again {
				twice.Add(1)
			}
			// Unless the lock has ended before it got here.
			if smaller && ended(began, domain.PriorityHigh) == 0 {
				backwards.Add(1)
			}
			if err := one.Coalescer.Release(ctx, grants[0].Lock); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.atLeast("versions", float64(issued.Load()), keys)
	r.exactly("twice", twice.Load(), 0)
	r.exactly("backwards", backwards.Load(), 0)
	return nil
}

func releaseRace(ctx context.Context, w *world, r *Result) error {
	const keys, releases = 100, 40
	var stolen, next, ran int64
	for _, e := range w.fresh(keys) {
		began := time.Now()
		low, err := w.acquire(ctx, e, domain.PriorityLow)
		if err != nil {
			return err
		}
		high, err := w.acquire(ctx, e, domain.PriorityHigh)
		if err != nil {
			return err
		}
		// The old holder cannot give up what is not its own any more.
		err = w.together(releases, func(_ int, one *instance) error { return one.Coalescer.Release(ctx, low.Lock) })
		if err != nil {
			return err
		}
		if still, err := w.acquire(ctx, e, domain.PriorityHigh); err != nil {
			return err
		} else if still.Result != refresh.AlreadyProcessing && ended(began, domain.PriorityHigh) == 0 {
			stolen++
			continue
		}
		given, err := w.raceFor(ctx, e, high.Lock, releases)
		if err != nil {
			return err
		}
		// A lock that has ended by itself proves nothing.
		if ended(began, domain.PriorityHigh) == 0 {
			next += given
			ran++
		}
	}
	r.atLeast("locks", float64(ran+stolen), 1)
	r.exactly("given_up_by_others", stolen, 0)
	r.exactly("next_holders", next, ran)
	return nil
}

func (w *world) acquire(ctx context.Context, e refresh.Entity, p domain.Priority) (refresh.Grant, error) {
	grants, err := w.any().Coalescer.Acquire(ctx, refresh.Ask{Entity: e, Priority: p})
	if err != nil {
		return refresh.Grant{}, err
	}
	return grants[0], nil
}

// raceFor gives a lock up many times while as many want it, and returns how many
// got it.
func (w *world) raceFor(ctx context.Context, e refresh.Entity, held refresh.Lock, times int) (int64, error) {
	var became outcomes
	ask := func(one *instance) error {
		grants, err := one.Coalescer.Acquire(ctx, refresh.Ask{Entity: e, Priority: domain.PriorityHigh})
		became.count(grants)
		return err
	}
	err := w.together(2*times, func(i int, one *instance) error {
		// Half of every instance's turns are of one kind, half of the other.
		if i/len(w.instances)%2 == 0 {
			return one.Coalescer.Release(ctx, held)
		}
		return ask(one)
	})
	if err == nil {
		// If all of them came before the lock was free, this one gets it.
		err = ask(w.any())
	}
	return became.published.Load(), err
}

func clusterSlots(ctx context.Context, w *world, r *Result) error {
	const keys = 1000
	entities := w.fresh(keys)
	var low, high outcomes
	var forgotten atomic.Int64
	began := time.Now()
	err := w.together(keys, func(i int, one *instance) error {
		grants, err := one.Coalescer.Acquire(ctx, refresh.Ask{Entity: entities[i], Priority: domain.PriorityLow})
		low.count(grants)
		return err
	})
	if err == nil {
		err = w.together(keys, func(i int, one *instance) error { return upgrade(ctx, one, entities[i], &high, &forgotten) })
	}
	if err != nil {
		return err
	}
	upgraded := int64(keys)
	if ended(began, domain.PriorityLow) > 0 {
		upgraded = 0 // what LOW has locked is free again
	}
	granted, err := rate.Wait(ctx, w.instances[0].Rate, Source, domain.PriorityLow, 1)
	if err != nil {
		return err
	}
	r.atLeast("nodes", float64(w.nodes), 3)
	r.exactly("published", low.published.Load(), keys)
	r.within("upgraded", high.upgraded.Load(), upgraded, keys)
	r.exactly("high_published", high.published.Load(), keys-high.upgraded.Load())
	r.exactly("versions_forgotten", forgotten.Load(), 0)
	r.exactly("calls_granted", int64(granted), 1)
	if err := w.start(ctx); err != nil {
		return err
	}
	if refused := w.backlog(ctx, askBatch, domain.PriorityHigh); refused > 0 {
		return domain.Errorf(domain.CodeUnavailable, "requests are refused")
	}
	w.judgeLost(ctx, r)
	return nil
}

// upgrade takes a LOW lock over, reads its version and gives it up.
func upgrade(ctx context.Context, one *instance, e refresh.Entity, became *outcomes, forgotten *atomic.Int64) error {
	grants, err := one.Coalescer.Acquire(ctx, refresh.Ask{Entity: e, Priority: domain.PriorityHigh})
	if err != nil {
		return err
	}
	became.count(grants)
	versions, err := one.Coalescer.Versions(ctx, e)
	if err != nil {
		return err
	}
	if versions[0] != grants[0].Version {
		forgotten.Add(1)
	}
	return one.Coalescer.Release(ctx, grants[0].Lock)
}
