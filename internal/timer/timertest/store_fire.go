package timertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/testkit"
	"sluice/internal/timer"
)

var fireCases = []testCase{
	{"FireWhatIsDue", fireDue},
	{"FireAtTheInstant", fireBoundary},
	{"FireOnce", fireOnce},
	{"FireInEveryStatus", fireStatuses},
	{"FireUnknownIDs", fireUnknown},
	{"FireWithDelivery", fireDeliver},
	{"FireMany", fireMany},
	{"FireOverlappingSets", fireConcurrently},
	{"FireAndPutTogether", fireAndPut},
}

var settleCases = []testCase{
	{"SettleEachWay", settleTargets},
	{"SettleAgainAndAgain", settleTries},
	{"SettleIgnoresTheStale", settleStale},
	{"SettleLeavesOtherStatuses", settleStatuses},
	{"SettleRefusesOtherTargets", settleInvalid},
	{"SettleKeepsErrors", settleErrors},
	{"SettleMany", settleMany},
	{"GivenUp", givenUp},
}

// completed is a timer without a webhook after it was fired by firing.
func completed(s timer.Spec, at time.Time) timer.Timer {
	return timer.Timer{Spec: s, Status: timer.Completed, SetAt: start, FiredAt: at, Server: "server-1"}
}

// delivering is a timer after it was fired, while somebody is to be told.
func delivering(s timer.Spec, at time.Time) timer.Timer {
	t := completed(s, at)
	t.Status, t.NextAt = timer.Delivering, at.Add(15*time.Second)
	return t
}

func fireDue(x *fixture) {
	early, late := spec("early"), spec("late")
	late.At = after(2 * time.Hour)
	x.put(early, late)
	at := after(90 * time.Minute)
	want(x, "fired", x.fire(firing(at, "late", "early")), []timer.FireResult{{Timer: completed(early, at), New: true}, {Timer: waiting(late)}})
	want(x, "early", x.timer("early"), completed(early, at))
	want(x, "late", x.timer("late"), waiting(late))
	want(x, "none", len(x.fire(firing(at))), 0)
}

func fireBoundary(x *fixture) {
	x.put(spec("a"))
	want(x, "a microsecond before", x.fire(firing(after(time.Hour-time.Microsecond), "a"))[0].New, false)
	want(x, "at the instant", x.fire(firing(after(time.Hour), "a"))[0].New, true)
	past := timer.Spec{ID: "past", At: after(-time.Hour)}
	x.put(past)
	at := start.Add(time.Nanosecond)
	want(x, "past", x.fire(firing(at, "past")), []timer.FireResult{{Timer: completed(past, start), New: true}})
}

func fireOnce(x *fixture) {
	s := spec("a")
	x.put(s)
	at := after(time.Hour)
	want(x, "first", x.fire(firing(at, "a", "a")), []timer.FireResult{{Timer: completed(s, at), New: true}})
	again := firing(after(3*time.Hour), "a")
	again.Server, again.Deliver = "server-2", true
	want(x, "second", x.fire(again), []timer.FireResult{{Timer: completed(s, at)}})
	want(x, "timer", x.timer("a"), completed(s, at))
}

func fireStatuses(x *fixture) {
	for _, status := range allStatuses[1:] {
		before := x.inStatus("t-"+status.String(), status)
		f := firing(after(5*time.Hour), before.ID)
		f.Server = "server-2"
		want(x, status.String(), x.fire(f), []timer.FireResult{{Timer: before}})
		want(x, "timer", x.timer(before.ID), before)
	}
}

func fireUnknown(x *fixture) {
	s := spec("known")
	x.put(s)
	at := after(time.Hour)
	want(x, "fired", x.fire(firing(at, "unknown", "known", "Known", "'", "")), []timer.FireResult{{Timer: completed(s, at), New: true}})
	want(x, "fired", len(x.fire(firing(at, "unknown"))), 0)
	want(x, "timers", len(x.all()), 1)
}

func fireDeliver(x *fixture) {
	at := after(time.Hour)
	plain, hook := spec("a-plain"), hooked("b-hook")
	x.put(plain, hook)
	want(x, "without", x.fire(firing(at, plain.ID, hook.ID)), []timer.FireResult{{Timer: completed(plain, at), New: true}, {Timer: delivering(hook, at), New: true}})
	plain.ID, hook.ID = "c-plain", "d-hook"
	x.put(plain, hook)
	f := firing(at, plain.ID, hook.ID)
	f.Deliver = true
	want(x, "with", x.fire(f), []timer.FireResult{{Timer: delivering(plain, at), New: true}, {Timer: delivering(hook, at), New: true}})
	want(x, "plain", x.timer(plain.ID), delivering(plain, at))
	want(x, "hook", x.timer(hook.ID), delivering(hook, at))
}

// fireMany has more ids than a statement may list, in no order.
func fireMany(x *fixture) {
	ids := x.putMany(2500)
	dice := rand.New(rand.NewPCG(testkit.Seed(x.t), 0))
	dice.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	x.fire(firing(after(2*time.Hour), ids[:100]...))
	fired := x.fire(firing(after(3*time.Hour), ids...))
	want(x, "answers", len(fired), len(ids))
	fresh := 0
	for i, f := range fired {
		want(x, "id", f.ID, fmt.Sprintf("many-%06d", i))
		want(x, "time", f.FiredAt.Equal(after(3*time.Hour)), f.New)
		if f.New {
			fresh++
		}
	}
	want(x, "new", fresh, len(ids)-100)
}

// fireConcurrently has a crowd fire sets that overlap, in another order each.
func fireConcurrently(x *fixture) {
	ids := x.putMany(300)
	x.ok(x.cancelSome(ids[:10]))
	fresh := make([]atomic.Int64, len(ids))
	index := map[string]int{}
	for i, id := range ids {
		index[id] = i
	}
	together(crowd, func(i int) {
		mine := make([]string, 120)
		for k := range mine {
			mine[k] = ids[(i*13+k*7)%len(ids)]
		}
		f := firing(after(2*time.Hour+time.Duration(i)*time.Second), mine...)
		f.Server = fmt.Sprintf("server-%d", i)
		fired, err := x.Fire(x.Context(), f)
		if err != nil || len(fired) != len(mine) {
			x.Errorf("fired %d of %d: %v", len(fired), len(mine), err)
		}
		for _, one := range fired {
			if own := one.Server == f.Server && one.FiredAt.Equal(f.Now); own != one.New {
				x.Errorf("timer %s was fired by %s; %s is told %v", one.ID, one.Server, f.Server, one.New)
			}
			if one.New {
				fresh[index[one.ID]].Add(1)
			}
		}
	})
	for i := range fresh {
		expected := int64(1)
		if i < 10 {
			expected = 0
		}
		want(x, ids[i], fresh[i].Load(), expected)
	}
}

func (x *fixture) cancelSome(ids []string) error {
	for _, id := range ids {
		if _, err := x.Cancel(x.Context(), id); err != nil {
			return err
		}
	}
	return nil
}

// fireAndPut: whoever fires sees a timer whole or not at all.
func fireAndPut(x *fixture) {
	var ids []string
	for i := range crowd {
		ids = append(ids, fmt.Sprintf("k-%02d", i))
	}
	var fresh atomic.Int64
	together(2*crowd, func(i int) {
		if i < crowd {
			if _, err := x.Put(x.Context(), []timer.Spec{spec(ids[i])}, start); err != nil {
				x.Errorf("put: %v", err)
			}
			return
		}
		fired, err := x.Fire(x.Context(), firing(after(2*time.Hour), ids...))
		if err != nil {
			x.Errorf("fire: %v", err)
		}
		for _, f := range fired {
			if f.New {
				fresh.Add(1)
			}
		}
	})
	for _, f := range x.fire(firing(after(2*time.Hour), ids...)) {
		if f.New {
			fresh.Add(1)
		}
	}
	want(x, "new", fresh.Load(), int64(crowd))
}

func settleTargets(x *fixture) {
	at := after(2 * time.Hour)
	for _, to := range []timer.Status{timer.Completed, timer.Dead, timer.Delivering} {
		s := hooked("t-" + to.String())
		x.put(s)
		x.fire(firing(at, s.ID))
		x.settle(timer.Settlement{ID: s.ID, To: to, Next: after(5 * time.Hour), Tries: 2, Error: "no answer"})
		expected := delivering(s, at)
		expected.Status, expected.Tries, expected.Error, expected.NextAt = to, 2, "no answer", time.Time{}
		if to == timer.Delivering {
			expected.NextAt = after(5 * time.Hour)
		}
		want(x, to.String(), x.timer(s.ID), expected)
	}
}

func settleTries(x *fixture) {
	expected := x.inStatus("a", timer.Delivering)
	for try := 1; try <= 5; try++ {
		next := after(time.Duration(10+try) * time.Hour)
		x.settle(timer.Settlement{ID: "a", To: timer.Delivering, Next: next, Tries: try, Error: fmt.Sprint("try ", try)})
		expected.Tries, expected.NextAt, expected.Error = try, next, fmt.Sprint("try ", try)
		want(x, "timer", x.timer("a"), expected)
	}
	x.settle(timer.Settlement{ID: "a", To: timer.Completed, Tries: 6})
	expected.Status, expected.Tries, expected.NextAt, expected.Error = timer.Completed, 6, time.Time{}, ""
	want(x, "timer", x.timer("a"), expected)
}

func settleStale(x *fixture) {
	x.inStatus("a", timer.Delivering)
	x.settle(timer.Settlement{ID: "a", To: timer.Delivering, Next: after(5 * time.Hour), Tries: 3, Error: "third"})
	before := x.timer("a")
	for _, to := range []timer.Status{timer.Completed, timer.Dead, timer.Delivering} {
		x.settle(timer.Settlement{ID: "a", To: to, Next: after(9 * time.Hour), Tries: 2, Error: "second"})
		want(x, "timer", x.timer("a"), before)
	}
	// The second settlement of a call finds what the first has done.
	x.settle(timer.Settlement{ID: "a", To: timer.Delivering, Next: after(6 * time.Hour), Tries: 5, Error: "fifth"},
		timer.Settlement{ID: "a", To: timer.Dead, Tries: 4, Error: "fourth"})
	before.Tries, before.NextAt, before.Error = 5, after(6*time.Hour), "fifth"
	want(x, "timer", x.timer("a"), before)
	x.settle(timer.Settlement{ID: "a", To: timer.Dead, Tries: 6, Error: "sixth"}, timer.Settlement{ID: "a", To: timer.Completed, Tries: 7})
	before.Status, before.Tries, before.NextAt, before.Error = timer.Dead, 6, time.Time{}, "sixth"
	want(x, "timer", x.timer("a"), before)
}

func settleStatuses(x *fixture) {
	for _, status := range allStatuses {
		if status == timer.Delivering {
			continue
		}
		before := x.inStatus("t-"+status.String(), status)
		for _, to := range []timer.Status{timer.Completed, timer.Dead, timer.Delivering} {
			x.settle(timer.Settlement{ID: before.ID, To: to, Next: after(9 * time.Hour), Tries: 9, Error: "late"})
			want(x, "timer", x.timer(before.ID), before)
		}
	}
}

func settleInvalid(x *fixture) {
	before := x.inStatus("a", timer.Delivering)
	for _, to := range []timer.Status{0, timer.Waiting, timer.Canceled} {
		x.wantCode(x.Settle(x.Context(), []timer.Settlement{{ID: "a", To: to, Tries: 1}}), domain.CodeInvalid)
	}
	want(x, "timer", x.timer("a"), before)
	x.settle()
}

func settleErrors(x *fixture) {
	for i, text := range []string{`'; DROP TABLE timer; --`, `back\slash "quoted" ?1`, "Ω 한국어 🚰", "line\nbreak\ttab", "  spaces  ", "%_", string(slices.Repeat([]byte("e"), 5000))} {
		id := fmt.Sprintf("t%d", i)
		x.inStatus(id, timer.Delivering)
		x.settle(timer.Settlement{ID: id, To: timer.Dead, Tries: 1, Error: text})
		want(x, "error", x.timer(id).Error, text)
	}
}

// givenUp: those are counted that are DEAD now, each once.
func givenUp(x *fixture) {
	counted := func(what string, expected int64) {
		x.Helper()
		n, err := x.GivenUp(x.Context())
		x.ok(err)
		want(x, what, n, expected)
	}
	counted("none", 0)
	for _, status := range allStatuses {
		x.inStatus("t-"+status.String(), status)
	}
	counted("one", 1)
	dead := timer.Settlement{ID: "t-DELIVERING", To: timer.Dead, Tries: 9, Error: "gone", At: after(5 * time.Hour)}
	x.settle(dead)
	x.settle(dead)
	counted("two", 2)
	_, err := x.Redeliver(x.Context(), "t-DELIVERING", after(6*time.Hour))
	x.ok(err)
	counted("one of them is delivered again", 1)
	dead.Tries, dead.At = 1, after(7*time.Hour)
	x.settle(dead)
	counted("and given up again", 2)
	x.prune(after(3*time.Hour), 100)
	counted("removed", 0)
}

func settleMany(x *fixture) {
	ids := x.putMany(1500)
	f := firing(after(2*time.Hour), ids...)
	f.Deliver = true
	x.fire(f)
	settled := make([]timer.Settlement, len(ids))
	for i, id := range ids {
		settled[i] = timer.Settlement{ID: id, To: []timer.Status{timer.Completed, timer.Dead, timer.Delivering}[i%3], Next: after(time.Duration(i) * time.Minute), Tries: i % 7, Error: id}
	}
	slices.Reverse(settled)
	x.settle(settled...)
	slices.Reverse(settled)
	for i, t := range x.all() {
		next := time.Time{}
		if settled[i].To == timer.Delivering {
			next = settled[i].Next
		}
		want(x, t.ID, []any{t.ID, t.Status, t.Tries, t.Error, t.NextAt}, []any{ids[i], settled[i].To, settled[i].Tries, ids[i], next})
	}
}
