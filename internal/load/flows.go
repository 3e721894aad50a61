package load

import (
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

func normalLoad(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	f, err := w.carry(ctx, traffic{high: 50, low: 200, reads: readRate})
	if err != nil {
		return err
	}
	f.judgeReads(r)
	r.note("calls_per_second", f.callsPerSecond)
	r.exactly("requests_refused", f.refused, 0)
	w.judgeLost(ctx, r)
	w.judgeHigh(r)
	w.judgeUpstream(r)
	w.judgeStorage(r)
	return nil
}

// peakHigh and peakLow are more than the upstream allows.
const (
	peakHigh = 200
	peakLow  = 300
)

func peakLoad(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	f, err := w.carry(ctx, traffic{high: peakHigh, low: peakLow, reads: readRate, during: func(context.Context) error {
		// The backlog is full from the beginning.
		w.backlog(ctx, rated, domain.PriorityLow)
		return nil
	}})
	if err != nil {
		return err
	}
	r.atLeast("calls_per_second", f.callsPerSecond, usedRate)
	f.judgeReads(r)
	r.exactly("requests_refused", f.refused, 0)
	w.judgeLost(ctx, r)
	w.judgeHigh(r)
	w.judgeUpstream(r)
	w.judgeStorage(r)
	return nil
}

// whileFaulty lets a fault last for the middle half of a scenario.
func (w *world) whileFaulty(ctx context.Context, begin, end func()) {
	backoff.Sleep(ctx, w.length/4)
	begin()
	backoff.Sleep(ctx, w.length/2)
	end()
}

func workerKilled(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	var underWay int64
	f, err := w.carry(ctx, traffic{high: 100, low: 200, during: func(ctx context.Context) error {
		backoff.Sleep(ctx, w.length/2)
		victim := w.instances[len(w.instances)-1]
		underWay = w.seen.count(everybody)
		victim.dead.Store(true)
		return victim.Stop(ctx)
	}})
	if err != nil {
		return err
	}
	r.note("requests", float64(f.asked))
	r.note("under_way_when_killed", float64(underWay))
	w.judgeLost(ctx, r)
	r.exactly("done_too_early", w.seen.tooEarly(), 0)
	w.judgeUpstream(r)
	r.note("high_p95_ms", percentile(w.seen.highTimes(), 95))
	return nil
}

const (
	// slowness is how long the store takes in the worst case.
	slowness = 10 * time.Second
	// noticed is how long it takes until a breaker has seen enough of that.
	noticed = 12 * time.Second
)

func slowStore(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	opened := 0
	f, err := w.carry(ctx, traffic{high: peakHigh, low: peakLow, reads: readRate, during: func(ctx context.Context) error {
		w.whileFaulty(ctx, func() { w.store.begin(slowness) }, func() {
			for _, i := range w.instances {
				if i.Breakers()["store"] != backoff.BreakerClosed {
					opened++
				}
			}
			w.store.endOnceMet(ctx)
		})
		return nil
	}})
	if err != nil {
		return err
	}
	r.atLeast("accesses_delayed", float64(w.store.met.Load()), 1)
	if w.length/2 >= noticed {
		r.atLeast("breakers_opened", float64(opened), 1)
	} else {
		r.note("breakers_opened", float64(opened))
	}
	f.judgeReads(r)
	r.exactly("requests_refused", f.refused, 0)
	r.below("accepted_p95_ms", percentile(f.accepted, 95), highP95)
	w.judgeLost(ctx, r)
	r.exactly("done_too_early", w.seen.tooEarly(), 0)
	w.judgeUpstream(r)
	r.note("high_p95_ms", percentile(w.seen.highTimes(), 95))
	return nil
}

func slowLog(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	f, err := w.carry(ctx, traffic{high: peakHigh, low: peakLow, reads: readRate, unknown: 100, during: func(ctx context.Context) error {
		w.whileFaulty(ctx, func() { w.log.begin(time.Second) }, func() { w.log.endOnceMet(ctx) })
		return nil
	}})
	if err != nil {
		return err
	}
	r.atLeast("publishes_delayed", float64(w.log.met.Load()), 1)
	f.judgeReads(r)
	r.exactly("requests_refused", f.refused, 0)
	w.judgeLost(ctx, r)
	w.judgeUpstream(r)
	r.note("high_p95_ms", percentile(w.seen.highTimes(), 95))
	return nil
}

// lastGrants is how long it may take until nobody is being granted calls any
// more.
const lastGrants = 200 * time.Millisecond

func redisDown(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	var tried, refused, calls int64
	f, err := w.carry(ctx, traffic{high: peakHigh, low: peakLow, reads: readRate, unknown: 100, during: func(ctx context.Context) error {
		w.whileFaulty(ctx, func() {
			w.down.Store(true)
			backoff.Sleep(ctx, lastGrants)
			until(ctx, func() bool { return w.ended.Load() >= w.granted.Load() })
			calls = w.sim.Audit().Calls
			for range 2 * len(w.instances) {
				tried++
				if !w.ask(ctx, w.fresh(1), domain.PriorityHigh) {
					refused++
				}
			}
		}, func() {
			calls = w.sim.Audit().Calls - calls
			w.down.Store(false)
		})
		return nil
	}})
	if err != nil {
		return err
	}
	r.exactly("refused_while_down", refused, tried)
	r.exactly("calls_while_down", calls, 0)
	f.judgeReads(r)
	r.note("requests_refused", float64(f.refused))
	w.judgeLost(ctx, r)
	w.judgeUpstream(r)
	return nil
}

func lowCap(ctx context.Context, w *world, r *Result) error {
	seconds := w.length.Seconds()
	refused := w.backlog(ctx, int((seconds+1)*1.2*lowRate), domain.PriorityLow)
	began := time.Now()
	if err := w.start(ctx); err != nil {
		return err
	}
	// Nothing is granted in the first second: nobody knows what was before it.
	until(ctx, func() bool { return w.sim.Audit().Calls > burst })
	first, before := time.Now(), w.sim.Audit().Calls
	backoff.Sleep(ctx, w.length)
	calls := w.sim.Audit().Calls
	allowed := lowRate*time.Since(began).Seconds() + burst
	r.note("low_calls_per_second", float64(calls-before)/time.Since(first).Seconds())
	r.atMost("calls_beyond_cap", max(0, float64(calls)-allowed), 0)
	r.exactly("requests_refused", int64(refused), 0)
	w.judgeLost(ctx, r)
	w.judgeUpstream(r)
	return nil
}

func laneIsolation(ctx context.Context, w *world, r *Result) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	f, err := w.carry(ctx, traffic{high: 100, during: func(context.Context) error {
		w.backlog(ctx, 1000+600*int(w.length.Seconds()), domain.PriorityLow)
		return nil
	}})
	if err != nil {
		return err
	}
	r.exactly("high_left", w.seen.await(ctx, domain.PriorityHigh), 0)
	r.atLeast("low_waiting_then", float64(w.seen.count(domain.PriorityLow)), 1)
	r.exactly("requests_refused", f.refused, 0)
	w.judgeHigh(r)
	w.judgeLost(ctx, r)
	w.judgeUpstream(r)
	return nil
}
