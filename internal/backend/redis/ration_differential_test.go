package redis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
	"sluice/internal/testkit"
)

// rationTwins are the two keepers, asked the same things at the same time.
type rationTwins struct {
	testing.TB
	rng     *rand.Rand
	clock   *rationtest.Clock
	rations []*ration.Ration
	memory  keeper.Keeper
	redis   []keeper.Keeper
	out     []permitPair
	done    []permitPair
	events  []string
}

// permitPair is what each of the twins granted for one ask.
type permitPair struct{ memory, redis keeper.Permit }

// TestRationSameDecisionsAsInMemory plays random sequences of asks, answers, losses of
// answers, pauses and steps of time through both keepers, several processes on Redis
// against one in memory, each with a store of its own. They decide alike to the
// microsecond: whether a call is granted, who refuses and why, when to come back, and
// what is shown. So the script follows the model rule by rule.
//
// What a clock that is set does to them is not compared: the one in memory does not
// look at it, and the one on Redis finds out.
func TestRationSameDecisionsAsInMemory(t *testing.T) {
	sameDecisions(t, randomRation)
}

// TestRationSameDecisionsShortly is the same for rations that the short ways can count.
func TestRationSameDecisionsShortly(t *testing.T) {
	if n := sameDecisions(t, plainRation); n == 0 {
		t.Error("nothing went the short way")
	} else {
		t.Logf("%d times the short way decided", n)
	}
}

// sameDecisions returns how often a short way decided.
func sameDecisions(t *testing.T, random func(*rand.Rand, string) *ration.Ration) (shorts int64) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	db := connectOwn(t, testkit.Redis(t))
	rounds := 300
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		clock := rationtest.NewClock(rationtest.Morning)
		stand := newRationStand(t, db, clock, &rationtest.Store{})
		w := &rationTwins{TB: t, rng: rng, clock: clock, redis: stand.keepers}
		// Both count from the same instant, so that periods are cut into the same parts.
		passed := func() time.Duration { return clock.Now().Sub(time.Unix(0, 0)) }
		w.memory = memory.NewRations(memory.RationsOptions{Store: &rationtest.Store{}, Now: clock.Now, Passed: passed})
		for i := range 1 + rng.IntN(4) {
			w.rations = append(w.rations, random(rng, fmt.Sprintf("r%d", i)))
		}
		for _, k := range append(w.redis, w.memory) {
			// Everybody meets the group before there is something that only who knows it gets.
			if err := k.Lift(w.Context(), rationtest.Group); err != nil {
				t.Fatal(err)
			}
		}
		clock.Advance(11 * time.Second) // what is brief is taken for spent at first
		for range 120 {
			w.step()
		}
		for _, k := range stand.begun {
			shorts += k.Shorts()
		}
	}
	return shorts
}

// plainRation has room for many calls, of which much is stored ahead.
func plainRation(rng *rand.Rand, name string) *ration.Ration {
	r := &ration.Ration{
		Name: name, Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: ration.Concurrent, Calls: 1 + rng.IntN(60),
		Use: []int{0, 0, 70}[rng.IntN(3)], Low: []int{0, 60}[rng.IntN(2)], Keep: []int{0, 0, 3}[rng.IntN(3)], Reserve: []int{0, 0, 2}[rng.IntN(3)],
	}
	if rng.IntN(3) == 0 {
		return r
	}
	r.Shape, r.Every, r.Ahead = ration.Sliding, ration.Period{Length: time.Duration(1+rng.IntN(90)) * time.Second}, rng.IntN(20)
	if rng.IntN(2) == 0 {
		r.Shape, r.Dated = ration.Fixed, true
	}
	return r
}

func randomRation(rng *rand.Rand, name string) *ration.Ration {
	shapes := ration.Shapes()
	r := &ration.Ration{
		Name: name, Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: shapes[rng.IntN(len(shapes))], Calls: 1 + rng.IntN(30),
		Every: ration.Period{Length: time.Duration(1+rng.IntN(90)) * time.Second}, Use: []int{0, 0, 70}[rng.IntN(3)], Low: []int{0, 60}[rng.IntN(2)],
		Keep: []int{0, 0, 3}[rng.IntN(3)],
	}
	switch {
	case r.Shape == ration.Concurrent:
		r.Every = ration.Period{}
	case r.Shape == ration.Bucket:
		if r.Refill = rng.IntN(r.Calls + 1); rng.IntN(3) == 0 && r.Refill > 0 {
			r.Hard = r.Calls + r.Refill
		}
	case r.Shape == ration.Fixed && rng.IntN(3) == 0:
		r.Every, _ = ration.ParsePeriod([]string{"minute", "hour", "day"}[rng.IntN(3)], "Asia/Seoul")
	}
	if rng.IntN(2) == 0 {
		r.Reserve, r.Ahead = rng.IntN(4), rng.IntN(9)
	}
	if r.Shape == ration.Fixed && r.Every.Part == "" && rng.IntN(2) == 0 {
		r.Dated, r.Ahead = true, rng.IntN(5)
		return r
	}
	if r.Shape == ration.Sliding && rng.IntN(4) == 0 {
		r.Patient = true
	}
	if rng.IntN(2) == 0 {
		r.Read = ration.Read{Remaining: ration.Field{Header: "X-Left"}}
		if rng.IntN(4) == 0 && r.Shape != ration.Bucket {
			r.Calls, r.Keep = 0, 0
		}
		if rng.IntN(4) == 0 && r.Shape != ration.Bucket {
			r.Every = ration.Period{}
		}
		if r.Shape == ration.Bucket && rng.IntN(2) == 0 {
			r.Read.Refill = ration.Field{Header: "X-Refill"}
		}
	}
	return r
}

func (w *rationTwins) step() {
	switch n := w.rng.IntN(40); {
	case n < 10:
		w.reserve()
	case n < 16:
		w.take()
	case n < 26:
		if len(w.out) > 0 {
			i := w.rng.IntN(len(w.out))
			p := w.out[i]
			w.out, w.done = slices.Delete(w.out, i, i+1), append(w.done, p)
			w.end(p)
		}
	case n < 27 && w.rng.IntN(2) == 0:
		if a, n := w.bulk(), 1+w.rng.IntN(5); len(a.Draws) > 0 {
			w.both(fmt.Sprintf("%d are given back, %s", n, w.named(a)), func(k keeper.Keeper) error { return k.Return(w.Context(), a, n) })
		}
	case n < 27:
		if len(w.done) > 0 {
			w.end(w.done[w.rng.IntN(len(w.done))])
		}
	case n < 28 && w.rng.IntN(5) == 0:
		wait := time.Duration(w.rng.IntN(100)) * time.Second
		w.both("park", func(k keeper.Keeper) error { return k.Park(w.Context(), rationtest.Group, "alice", wait) })
	case n < 29 && w.rng.IntN(5) == 0:
		w.both("lift", func(k keeper.Keeper) error { return k.Lift(w.Context(), rationtest.Group) })
	case n < 31:
		w.compare()
	default:
		most := []time.Duration{time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 90 * time.Second, 10 * time.Minute}[w.rng.IntN(5)]
		d := time.Duration(w.rng.Int64N(int64(most))).Truncate(time.Microsecond)
		w.pass(d)
	}
}

// pass lets time pass. No call takes longer than a permit lives: in which order those
// end that nobody gives back is chance.
func (w *rationTwins) pass(d time.Duration) {
	for _, p := range slices.Clone(w.out) {
		if w.clock.Now().Add(d).Sub(p.redis.GrantedAt) >= time.Duration(keeper.Life)*time.Microsecond {
			w.out = slices.DeleteFunc(w.out, func(other permitPair) bool { return other.redis.ID == p.redis.ID })
			w.done = append(w.done, p)
			w.end(p)
		}
	}
	w.note("%v pass", d)
	w.clock.Advance(d)
}

func (w *rationTwins) one() keeper.Keeper { return w.redis[w.rng.IntN(len(w.redis))] }

func (w *rationTwins) ask() keeper.Ask {
	a := keeper.Ask{Group: rationtest.Group, Gate: []string{"", "alice"}[w.rng.IntN(2)], Low: w.rng.IntN(3) == 0}
	for _, i := range w.rng.Perm(len(w.rations)) {
		if len(a.Draws) == 0 || w.rng.IntN(3) > 0 {
			a.Draws = append(a.Draws, keeper.Draw{Ration: w.rations[i], Part: []string{"alice", "bob"}[w.rng.IntN(2)], Cost: []int{1, 1, 2, 9}[w.rng.IntN(4)]})
		}
	}
	return a
}

func (w *rationTwins) reserve() {
	a := w.ask()
	m, err := w.memory.Reserve(w.Context(), a)
	if err != nil {
		w.fail("in memory: %v", err)
	}
	r, err := w.one().Reserve(w.Context(), a)
	if err != nil {
		w.fail("in Redis: %v", err)
	}
	w.note("%s: granted %v, %s by %s until %v", w.named(a), m.Granted, m.Reason, m.Refused, m.RetryAt)
	if m.Granted != r.Granted || m.Reason != r.Reason || m.Refused != r.Refused || !m.RetryAt.Equal(r.RetryAt) {
		w.fail("in memory %+v\nin Redis  %+v", m, r)
	}
	if m.Granted {
		w.out = append(w.out, permitPair{m.Permit, r.Permit})
	}
}

// bulk is an ask for calls that nobody settles.
func (w *rationTwins) bulk() keeper.Ask {
	a := w.ask()
	a.Draws = slices.DeleteFunc(a.Draws, func(d keeper.Draw) bool { return d.Ration.Shape == ration.Concurrent || d.Ration.Dated })
	return a
}

func (w *rationTwins) take() {
	a, n := w.bulk(), []int{1, 1, 2, 5, 30}[w.rng.IntN(5)]
	if len(a.Draws) == 0 {
		return
	}
	m, err := w.memory.Take(w.Context(), a, n)
	if err != nil {
		w.fail("in memory: %v", err)
	}
	r, err := w.one().Take(w.Context(), a, n)
	if err != nil {
		w.fail("in Redis: %v", err)
	}
	w.note("%d of %s, LOW %v: %+v", n, w.named(a), a.Low, m)
	if m.Calls != r.Calls || m.Reason != r.Reason || m.Refused != r.Refused || !m.RetryAt.Equal(r.RetryAt) {
		w.fail("in memory %+v\nin Redis  %+v", m, r)
	}
}

func (w *rationTwins) named(a keeper.Ask) string {
	text := "gate " + a.Gate
	for _, d := range a.Draws {
		text += fmt.Sprintf(" %s×%d", d.Count(), d.Cost)
	}
	return text
}

func (w *rationTwins) end(p permitPair) {
	o := keeper.Outcome{Well: w.rng.IntN(2) == 0, Backoff: w.rng.IntN(30) == 0}
	if w.rng.IntN(30) == 0 {
		o.RetryAfter = time.Duration(w.rng.IntN(200)) * time.Second
	}
	ahead := []time.Duration{0, 0, 90 * time.Minute, -time.Hour}[w.rng.IntN(4)]
	if w.rng.IntN(2) == 0 {
		o.Date = w.clock.Now().Add(ahead).Truncate(time.Second)
	}
	for _, d := range p.redis.Draws {
		a := w.answer(d)
		if d.Ration.Dated {
			w.date(d, &a, ahead)
		}
		o.Answers = append(o.Answers, a)
	}
	w.note("%d/%d, %s, is answered %+v", p.memory.ID, p.redis.ID, w.named(p.redis.Ask), o)
	if err := w.memory.Settle(w.Context(), p.memory, o); err != nil {
		w.fail("in memory: %v", err)
	}
	if err := w.one().Settle(w.Context(), p.redis, o); err != nil {
		w.fail("in Redis: %v", err)
	}
}

func (w *rationTwins) answer(d keeper.Draw) (a keeper.Answer) {
	a.Free = w.rng.IntN(5) == 0
	a.Cost = []int{0, 0, 1, 4}[w.rng.IntN(4)]
	if w.rng.IntN(10) == 0 {
		a.Part, a.Moved = []string{"alice", "bob", "carol"}[w.rng.IntN(3)], true
	}
	if d.Ration.Read == (ration.Read{}) || w.rng.IntN(3) == 0 {
		return a
	}
	if w.rng.IntN(2) == 0 {
		a.Limit = 1 + w.rng.IntN(40)
	}
	if w.rng.IntN(2) == 0 {
		a.HasLeft, a.Left = true, w.rng.IntN(40)
	}
	if w.rng.IntN(2) == 0 {
		a.In = time.Duration(w.rng.IntN(100_000)) * time.Millisecond
	}
	if w.rng.IntN(4) == 0 {
		// A shorter one that is forgotten when a pause is lifted would bring back what was
		// not looked at meanwhile, and in memory all is looked at.
		a.Window = time.Duration(60+w.rng.IntN(200)) * time.Second
	}
	if w.rng.IntN(4) == 0 && !d.Ration.Read.Refill.IsZero() {
		a.Refill = 1 + w.rng.IntN(30)
	}
	return a
}

// date is what an answer tells of a window that the upstream dates.
func (w *rationTwins) date(d keeper.Draw, a *keeper.Answer, ahead time.Duration) {
	a.Served, a.Exhausted = w.rng.IntN(2) == 0, w.rng.IntN(20) == 0
	if w.rng.IntN(4) == 0 {
		return
	}
	a.HasLeft, a.Left, a.Limit = true, w.rng.IntN(d.Ration.Calls+3)-1, []int{0, d.Ration.Calls, d.Ration.Calls, 1 + w.rng.IntN(40)}[w.rng.IntN(4)]
	if w.rng.IntN(2) == 0 {
		// As an upstream does that says of every call what it did of the one before.
		a.Exhausted, a.Limit, a.Reset = false, d.Ration.Calls, w.clock.Now().Truncate(d.Ration.Every.Length).Add(d.Ration.Every.Length).Truncate(time.Second)
		return
	}
	in := time.Duration(w.rng.Int64N(int64(d.Ration.Every.Length) + 1))
	a.Reset = w.clock.Now().Add(ahead + in - []time.Duration{0, 0, time.Minute}[w.rng.IntN(3)]).Truncate(time.Second)
}

func (w *rationTwins) both(what string, do func(keeper.Keeper) error) {
	w.note("%s", what)
	if err := do(w.memory); err != nil {
		w.fail("in memory: %v", err)
	}
	if err := do(w.one()); err != nil {
		w.fail("in Redis: %v", err)
	}
}

func (w *rationTwins) compare() {
	m, err := w.memory.Look(w.Context(), rationtest.Group)
	if err != nil {
		w.fail("in memory: %v", err)
	}
	r, err := w.one().Look(w.Context(), rationtest.Group)
	if err != nil {
		w.fail("in Redis: %v", err)
	}
	// The one in memory also knows counts that were asked for in vain, and when a part of
	// the calendar ends before anybody has drawn on it.
	untouched := func(a keeper.Window) bool {
		return a.Untouched || a.InFlight == 0 && a.Available == a.Limit-a.Kept && a.Parked == ""
	}
	m, r = slices.DeleteFunc(m, untouched), slices.DeleteFunc(r, untouched)
	if !slices.EqualFunc(m, r, func(a, b keeper.Window) bool {
		same := (a.Reset.Equal(b.Reset) || w.calendar(a.Ration)) && a.ParkedUntil.Equal(b.ParkedUntil)
		a.Reset, a.ParkedUntil, b.Reset, b.ParkedUntil = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		// What of it was not urgent is known until some of it comes back: then it is at most that,
		// and how much depends on when one looked.
		a.Low, b.Low = 0, 0
		return same && a == b
	}) {
		w.fail("in memory %+v\nin Redis  %+v", m, r)
	}
}

func (w *rationTwins) calendar(name string) bool {
	return slices.ContainsFunc(w.rations, func(r *ration.Ration) bool { return r.Name == name && r.Every.Part != "" })
}

func (w *rationTwins) note(format string, args ...any) {
	w.events = append(w.events, w.clock.Now().Format("15:04:05.000000 ")+fmt.Sprintf(format, args...))
}

func (w *rationTwins) fail(format string, args ...any) {
	w.Helper()
	for _, e := range w.events {
		w.Log(e)
	}
	for _, r := range w.rations {
		w.Logf("%+v", *r)
	}
	w.Fatalf(format, args...)
}
