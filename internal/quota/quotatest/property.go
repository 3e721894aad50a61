package quotatest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/quota"
)

// flight is a granted call between its grant and its settlement.
type flight struct {
	permit quota.Permit
	landed bool
	free   bool
	answer quota.Response
}

// world plays one owner's calls against the model, one event at a time, in
// whatever order the generator comes up with.
//
// What it takes for granted: a call that is lost, or in flight at a crash, has
// reached the upstream by then or never will.
type world struct {
	*rapid.T
	Bench
	up      *Upstream
	foreign bool
	flights []*flight
	// closedUntil is the end of the window the upstream said is spent.
	closedUntil time.Time
}

var endpoints = []string{"list", "detail"}

// neverTooMany: whatever the interleaving of reservations, arrivals, answers,
// losses, resets, clock skew and crashes, the upstream never refuses a call,
// unless somebody else uses the token; and then it is believed.
func neverTooMany(t *testing.T, f Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt, f)
		rt.Repeat(map[string]func(*rapid.T){
			"reserve":  w.reserve,
			"burst":    w.burst,
			"land":     w.land,
			"answer":   w.answer,
			"lose":     w.lose,
			"refund":   w.refund,
			"advance":  w.advance,
			"to reset": w.toReset,
			"crash":    w.crash,
			"foreign":  w.useForeign,
			"":         w.check,
		})
	})
}

func newWorld(t *testing.T, rt *rapid.T, f Factory) *world {
	w := &world{T: rt}
	window := time.Duration(rapid.IntRange(2, 6).Draw(rt, "window seconds")) * time.Second
	limit := rapid.IntRange(1, 6).Draw(rt, "limit")
	points := rapid.SampledFrom([]int{0, 0, 0, 5}).Draw(rt, "points per period")
	period := rapid.SampledFrom([]time.Duration{time.Second, 7 * time.Second}).Draw(rt, "period")
	w.foreign = rapid.Bool().Draw(rt, "others use the token")
	w.up = &Upstream{
		Limit: limit, Window: window, PointsPerPeriod: points, Period: period,
		Ahead: time.Duration(rapid.Int64Range(-7200_000, 7200_000).Draw(rt, "ahead ms")) * time.Millisecond,
	}
	w.Bench = f.New(t, quota.Config{
		Concurrency: rapid.SampledFrom([]int{100, 100, 3}).Draw(rt, "concurrency"),
		Buckets: map[string]quota.Limits{core: {
			Limit: limit, Window: window, PointsPerMinute: points, PointsPeriod: period,
			Floor: rapid.SampledFrom([]int{0, 0, 0, limit / 2}).Draw(rt, "floor"),
		}},
	})
	return w
}

func (w *world) reserve(t *rapid.T) {
	a := quota.Ask{
		Owner: alice, Bucket: core, Points: 1,
		Endpoint: rapid.SampledFrom(endpoints).Draw(t, "endpoint"),
		Cost:     rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "cost"),
	}
	w.ask(t, a, rapid.IntRange(1, 4).Draw(t, "calls"))
}

// burst asks for as much as there is and sends it all at once: if the keeper
// believes in one call that the upstream does not have, it shows.
func (w *world) burst(t *rapid.T) {
	w.ask(t, ask(alice, core), 2*w.up.Limit)
	for _, f := range w.flights {
		if !f.landed {
			f.landed = true
			f.answer = w.up.Count(w.Now(), f.permit.Ask)
		}
	}
}

// ask reserves up to n calls.
func (w *world) ask(t *rapid.T, a quota.Ask, n int) {
	for range n {
		d, err := w.Keeper().Reserve(w.Context(), a)
		if err != nil {
			t.Fatalf("Reserve: %v", err)
		}
		if !d.Granted {
			if !d.RetryAt.After(w.Now()) || d.Reason == "" {
				t.Fatalf("refused with %+v at %v", d, w.Now())
			}
			return
		}
		if w.Now().Before(w.closedUntil) {
			t.Fatalf("granted although the upstream said that the window is spent until %v", w.closedUntil)
		}
		w.flights = append(w.flights, &flight{permit: d.Permit})
	}
}

// pick takes a flight of the wanted kind, or skips the step.
func (w *world) pick(t *rapid.T, landed bool) *flight {
	var fit []*flight
	for _, f := range w.flights {
		if f.landed == landed {
			fit = append(fit, f)
		}
	}
	if len(fit) == 0 {
		t.Skip("no such flight")
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(t, "flight")]
}

func (w *world) drop(gone *flight) {
	for i, f := range w.flights {
		if f == gone {
			w.flights = append(w.flights[:i], w.flights[i+1:]...)
			return
		}
	}
}

func (w *world) arrive(t *rapid.T, f *flight) {
	f.landed = true
	f.free = rapid.IntRange(0, 5).Draw(t, "not modified") == 0
	if f.free {
		f.answer = w.up.NotModified(w.Now(), f.permit.Ask)
		return
	}
	f.answer = w.up.Count(w.Now(), f.permit.Ask)
}

func (w *world) land(t *rapid.T) { w.arrive(t, w.pick(t, false)) }

func (w *world) answer(t *rapid.T) {
	f := w.settleOne(t)
	if end := f.answer.Reset.Add(-w.up.Ahead); f.answer.Exhausted && end.After(w.closedUntil) {
		w.closedUntil = end
	}
}

// settleOne gives a landed call back with its answer.
func (w *world) settleOne(t *rapid.T) *flight {
	f := w.pick(t, true)
	w.drop(f)
	give := w.Keeper().Settle
	if f.free {
		give = w.Keeper().Refund
	}
	if err := give(w.Context(), f.permit, f.answer); err != nil {
		t.Fatalf("give back: %v", err)
	}
	return f
}

func (w *world) lose(t *rapid.T) {
	f := w.pick(t, rapid.Bool().Draw(t, "landed"))
	w.drop(f)
	if err := w.Keeper().Settle(w.Context(), f.permit, quota.Response{}); err != nil {
		t.Fatalf("Settle: %v", err)
	}
}

func (w *world) refund(t *rapid.T) {
	f := w.pick(t, false)
	w.drop(f)
	if err := w.Keeper().Refund(w.Context(), f.permit, quota.Response{}); err != nil {
		t.Fatalf("Refund: %v", err)
	}
}

func (w *world) advance(t *rapid.T) {
	steps := []time.Duration{time.Millisecond, 300 * time.Millisecond, time.Second, w.up.Window}
	longest := rapid.SampledFrom(steps).Draw(t, "scale")
	w.Advance(time.Duration(rapid.Int64Range(1, int64(longest)).Draw(t, "advance")))
}

// toReset goes to the moments around a reset, where mistakes are made.
func (w *world) toReset(t *rapid.T) {
	offset := time.Duration(rapid.IntRange(-50, 1200).Draw(t, "after reset ms")) * time.Millisecond
	if d := w.up.Reset(w.Now()).Add(offset).Sub(w.Now()); d > 0 {
		w.Advance(d)
	}
}

func (w *world) crash(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "crash") != 1 {
		t.Skip("rarely")
	}
	for _, f := range w.flights {
		if !f.landed && rapid.Bool().Draw(t, "reached the upstream") {
			w.arrive(t, f)
		}
	}
	w.flights = nil
	w.Crash()
}

func (w *world) useForeign(t *rapid.T) {
	if !w.foreign {
		t.Skip("the token is ours alone")
	}
	w.up.Foreign(w.Now(), rapid.IntRange(1, 4).Draw(t, "foreign cost"))
}

func (w *world) check(t *rapid.T) {
	if !w.foreign && w.up.TooMany > 0 {
		t.Fatalf("the upstream refused %d calls", w.up.TooMany)
	}
	if w.up.TooDense > 0 {
		t.Fatalf("%d calls were too dense", w.up.TooDense)
	}
}
