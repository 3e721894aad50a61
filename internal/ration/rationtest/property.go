package rationtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
	"sluice/internal/testkit"
)

// flight is a granted call between its grant and its settlement.
type flight struct {
	process int
	permit  keeper.Permit
	landed  bool
	answers []keeper.Answer
}

// world plays calls against upstreams that remember every one.
//
// What it takes for granted: a call that is lost, or under way when its process ends,
// has reached the upstream by then or never will.
type world struct {
	*suite
	rng     *rand.Rand
	ups     []*upstream
	flights []*flight
	events  []string
	granted int
}

// property: whatever the order of reservations, arrivals, answers, losses, steps of
// time, crashes and lost servers, no upstream refuses a call; a refusal leaves no
// trace; and what has come back is granted.
func property(t *testing.T, f Factory) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	granted := 0
	for range rounds {
		w := &world{suite: newSuite(t, f), rng: rng}
		w.invent()
		for range 150 {
			w.step()
		}
		w.liveness()
		granted += w.granted
	}
	if granted < rounds*8 {
		t.Errorf("only %d calls were granted in %d rounds", granted, rounds)
	}
}

// invent makes up rations.
func (w *world) invent() {
	shapes := ration.Shapes()
	for i := range 1 + w.rng.IntN(4) {
		r := make1(fmt.Sprintf("r%d", i), shapes[w.rng.IntN(len(shapes))], 1+w.rng.IntN(8),
			[]time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 10 * time.Minute}[w.rng.IntN(4)])
		if r.Shape == ration.Concurrent {
			r.Every = ration.Period{}
		}
		if r.Shape == ration.Bucket && w.rng.IntN(2) == 0 {
			r.Refill = 1 + w.rng.IntN(r.Calls)
		}
		if w.rng.IntN(2) == 0 {
			reading(r)
		}
		if w.rng.IntN(4) == 0 {
			r.Use = 50 + w.rng.IntN(50)
		}
		if r.Usable() < 1 {
			r.Use = 0
		}
		w.ups = append(w.ups, newUpstream(r, w.rng))
	}
}

func (w *world) step() {
	switch n := w.rng.IntN(100); {
	case n < 30:
		w.reserve()
	case n < 40:
		w.bulk()
	case n < 60:
		w.land()
	case n < 80:
		w.end()
	case n < 96:
		most := []time.Duration{time.Millisecond, time.Second, 7 * time.Second, 40 * time.Second, 11 * time.Minute}[w.rng.IntN(5)]
		w.pass(time.Duration(w.rng.Int64N(int64(most))))
	case n < 98:
		i := w.rng.IntN(len(w.Keepers()))
		w.note("process %d ends", i)
		w.die(func(f *flight) bool { return f.process == i || len(w.Keepers()) == 1 })
		w.Restart(i)
	default:
		w.note("all is lost")
		// Calls at once are not stored: their places are free after a loss.
		w.die(func(*flight) bool { return true })
		w.Lose()
		w.pass(time.Millisecond)
	}
}

// die ends the flights of processes that are gone.
func (w *world) die(of func(*flight) bool) {
	w.flights = slices.DeleteFunc(w.flights, func(f *flight) bool {
		if of(f) && f.landed {
			w.leave(f)
		}
		return of(f)
	})
}

// pass lets time pass. No call takes longer than a permit lives.
func (w *world) pass(d time.Duration) {
	for {
		old := w.one(func(f *flight) bool {
			return w.clock.Now().Add(d).Sub(f.permit.GrantedAt) >= time.Duration(keeper.Life)*time.Microsecond
		})
		if old == nil {
			break
		}
		w.finish(old)
	}
	w.note("%v pass", d)
	w.clock.Advance(d)
}

// ask draws on some of the rations, in some order.
func (w *world) ask() keeper.Ask {
	a := keeper.Ask{Group: Group}
	for _, i := range w.rng.Perm(len(w.ups)) {
		if len(a.Draws) == 0 || w.rng.IntN(3) > 0 {
			a.Draws = append(a.Draws, keeper.Draw{Ration: w.ups[i].Ration, Cost: []int{1, 1, 1, 2}[w.rng.IntN(4)]})
		}
	}
	return a
}

func (w *world) reserve() {
	i := w.rng.IntN(len(w.Keepers()))
	a := w.ask()
	before := w.windows()
	d, err := w.Keepers()[i].Reserve(w.Context(), a)
	if err != nil {
		w.fail("%v", err)
	}
	w.note("process %d asks %s: %v %s %s", i, w.named(a), d.Granted, d.Refused, d.Reason)
	if d.Granted {
		w.granted++
		w.flights = append(w.flights, &flight{process: i, permit: d.Permit})
		return
	}
	if !d.RetryAt.After(w.clock.Now()) {
		w.fail("asked again at once: %+v", d)
	}
	// Whoever asks may find that calls of the dead have ended; that takes nothing.
	for name, now := range w.windows() {
		if was, known := before[name]; known && (now.Available < was.Available || now.InFlight > was.InFlight) {
			w.fail("a refused call left a trace: %+v\nbefore %+v", now, was)
		}
	}
}

// bulk takes calls that reach the upstream at once, as far as anybody knows.
func (w *world) bulk() {
	a := w.ask()
	a.Draws = slices.DeleteFunc(a.Draws, func(d keeper.Draw) bool { return d.Ration.Shape == ration.Concurrent })
	if len(a.Draws) == 0 {
		return
	}
	i, n := w.rng.IntN(len(w.Keepers())), 1+w.rng.IntN(4)
	g, err := w.Keepers()[i].Take(w.Context(), a, n)
	if err != nil {
		w.fail("%v", err)
	}
	w.note("process %d takes %d of %s: %+v", i, n, w.named(a), g)
	w.granted += g.Calls
	for _, d := range a.Draws {
		if g.Calls > 0 {
			if err := w.up(d).count(w.clock.Passed(), g.Calls); err != nil {
				w.fail("%v", err)
			}
		}
	}
}

func (w *world) named(a keeper.Ask) string {
	text := ""
	for _, d := range a.Draws {
		text += fmt.Sprintf("%s×%d ", d.Ration.Name, d.Cost)
	}
	return text
}

// price is what a draw costs the upstream: a call is never larger than the whole.
func (w *world) price(d keeper.Draw) int { return min(d.Cost, d.Ration.Usable()) }

func (w *world) up(d keeper.Draw) *upstream {
	for _, u := range w.ups {
		if u.Ration == d.Ration {
			return u
		}
	}
	return nil
}

// land lets a call arrive: it is counted, and its answer written.
func (w *world) land() {
	f := w.one(func(f *flight) bool { return !f.landed })
	if f == nil {
		return
	}
	f.landed = true
	now := w.clock.Passed()
	w.note("%d lands", f.permit.ID)
	for _, d := range f.permit.Draws {
		u := w.up(d)
		if err := u.enter(w.price(d)); err != nil {
			w.fail("%v", err)
		}
		if err := u.count(now, w.price(d)); err != nil {
			w.fail("%v", err)
		}
		left, in := u.tell(now)
		a := keeper.Answer{}
		if d.Ration.Read != (ration.Read{}) {
			a = keeper.Answer{HasLeft: true, Left: left, In: in, Limit: u.Calls}
		}
		f.answers = append(f.answers, a)
	}
}

func (w *world) leave(f *flight) {
	for _, d := range f.permit.Draws {
		w.up(d).leave(w.price(d))
	}
}

// end settles a call: with its answer, without, or as one that never left.
func (w *world) end() {
	if f := w.one(func(*flight) bool { return true }); f != nil {
		w.finish(f)
	}
}

func (w *world) finish(f *flight) {
	o := keeper.Outcome{Well: true}
	switch {
	case !f.landed:
		w.note("%d never left", f.permit.ID)
		for range f.permit.Draws {
			o.Answers = append(o.Answers, keeper.Answer{Free: true})
		}
	case w.rng.IntN(3) > 0:
		w.note("%d is answered %+v", f.permit.ID, f.answers)
		o.Answers = f.answers
	default:
		w.note("%d is lost", f.permit.ID)
	}
	if f.landed {
		w.leave(f)
	}
	w.flights = slices.DeleteFunc(w.flights, func(other *flight) bool { return other == f })
	if err := w.Keepers()[f.process%len(w.Keepers())].Settle(w.Context(), f.permit, o); err != nil {
		w.fail("%v", err)
	}
}

func (w *world) one(of func(*flight) bool) *flight {
	var some []*flight
	for _, f := range w.flights {
		if of(f) {
			some = append(some, f)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[w.rng.IntN(len(some))]
}

// liveness: when all has come back, all of it can be had at once.
func (w *world) liveness() {
	for len(w.flights) > 0 {
		w.end()
	}
	// Whoever has lost everything waits for what is brief.
	w.settleIn()
	w.pass(2*time.Hour + time.Duration(keeper.Life)*time.Microsecond)
	for _, u := range w.ups {
		a := keeper.Ask{Group: Group, Draws: []keeper.Draw{{Ration: u.Ration, Cost: 1}}}
		for i := range u.Usable() {
			d, err := w.first().Reserve(w.Context(), a)
			if err != nil || !d.Granted {
				w.fail("%s has %d, and after %d of them: %+v, %v", u.Name, u.Usable(), i, d, err)
			}
		}
		if d, err := w.first().Reserve(w.Context(), a); err != nil || d.Granted {
			w.fail("%s has more than %d: %+v, %v", u.Name, u.Usable(), d, err)
		}
	}
}

func (w *world) note(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf("%v ", w.clock.Passed())+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.Helper()
	for _, u := range w.ups {
		w.Logf("%+v, aligned %v", *u.Ration, u.aligned)
	}
	for _, e := range w.events {
		w.Log(e)
	}
	w.Fatalf(format, args...)
}
