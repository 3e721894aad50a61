package timertest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

var putCases = []testCase{
	{"PutStoresTimers", putStores},
	{"PutLeavesWhatIsThere", putAgain},
	{"PutUsesTheIDOfWhatIsOver", putOver},
	{"PutOfAnIDThatIsOverByMany", putOverConcurrently},
	{"PutRepeatedAfterItFired", putRepeated},
	{"PutAnswersInOrder", putOrder},
	{"PutOfNothing", putNothing},
	{"PutKeepsBytes", putBytes},
	{"PutKeepsMicroseconds", putInstants},
	{"PutTellsIDsApart", putIDs},
	{"PutOfOneIDByMany", putConcurrently},
	{"PutOfOverlappingBatches", putOverlapping},
	{"PutLeavesCallersTheirSpecs", putSpecsKept},
	{"PutWithAnEndedContext", putCanceled},
	{"ReopenKeepsEverything", reopenKeeps},
}

func putStores(x *fixture) {
	s, plain := hooked("one"), timer.Spec{ID: "two", At: after(time.Minute)}
	want(x, "answers", x.put(s, plain), []timer.Timer{waiting(s), waiting(plain)})
	want(x, "timer", x.timer("one"), waiting(s))
	want(x, "timer without payload", x.timer("two"), waiting(plain))
	_, err := x.Timer(x.Context(), "three")
	x.wantCode(err, domain.CodeNotFound)
}

func putAgain(x *fixture) {
	for _, status := range allStatuses {
		if status == timer.Completed {
			continue
		}
		id := "t-" + status.String()
		before := x.inStatus(id, status)
		other := timer.Spec{ID: id, At: after(9 * time.Hour), Payload: []byte("2"), Webhook: "https://other.example"}
		stored, err := x.Put(x.Context(), []timer.Spec{other}, after(time.Minute))
		x.ok(err)
		want(x, "answer", stored, []timer.Stored{{Timer: before}})
		want(x, "timer", x.timer(id), before)
	}
}

// putOver uses an id again and again: every completion stays, by its place, its
// time and its content, and what is to be logged as well.
func putOver(x *fixture) {
	var done []timer.Completion
	for i := range 3 {
		s := timer.Spec{ID: "tea", At: after(time.Duration(i) * time.Hour), Payload: []byte(fmt.Sprint(i))}
		stored, err := x.Put(x.Context(), []timer.Spec{spec(fmt.Sprint("other-", i)), s}, s.At)
		x.ok(err)
		set := timer.Timer{Spec: s, Status: timer.Waiting, SetAt: s.At, NextAt: s.At}
		want(x, "set again", stored[1], timer.Stored{Timer: set, New: true})
		want(x, "timer", x.timer("tea"), set)
		f := firing(s.At, "tea")
		f.Log = true
		fired := x.fire(f)
		want(x, "fired", fired[0].New, true)
		done = append(done, fired[0].Completion())
		want(x, "timers", x.listed(timer.Query{Prefix: "tea"}), []string{"tea"})
	}
	told := func(got []timer.Completion) (out []timer.Completion) {
		for _, c := range got {
			c.Position, c.Record = 0, ""
			out = append(out, c)
		}
		return out
	}
	want(x, "completions", told(x.completions(start, "", 100)), done)
	want(x, "completions in their order", told(x.follow(0, 100)), done)
	want(x, "how many", x.stats(start).Completed, 3)
	var unlogged []timer.Completion
	all := x.unlogged()
	for _, t := range all {
		unlogged = append(unlogged, t.Completion())
	}
	slices.SortFunc(unlogged, func(a, b timer.Completion) int { return a.FiredAt.Compare(b.FiredAt) })
	want(x, "to be logged", told(unlogged), done)
	x.ok(x.Logged(x.Context(), all))
	want(x, "logged", len(x.unlogged()), 0)
	// Pages go on after what the store calls them.
	var paged []timer.Completion
	for from, id := start, ""; ; {
		page := x.completions(from, id, 1)
		if len(page) == 0 {
			break
		}
		from, id = page[0].FiredAt, cmp.Or(page[0].Record, page[0].Timer)
		paged = append(paged, page...)
	}
	want(x, "completions one by one", told(paged), done)
	want(x, "pruned", x.prune(after(24*time.Hour), 100), 3)
	want(x, "left", len(x.completions(start, "", 100)), 0)
}

// putOverConcurrently lets many use an id again: one of them gets it.
func putOverConcurrently(x *fixture) {
	for round := range 5 {
		at := after(time.Duration(round) * time.Hour)
		won := make(chan bool, 8)
		for i := range cap(won) {
			go func() {
				s := timer.Spec{ID: "tea", At: at, Payload: []byte(fmt.Sprint(round, i))}
				stored, err := x.Put(x.Context(), []timer.Spec{s}, at)
				if err != nil {
					x.Errorf("put: %v", err)
				}
				won <- err == nil && stored[0].New && string(stored[0].Payload) == string(s.Payload)
			}()
		}
		winners := 0
		for range cap(won) {
			if <-won {
				winners++
			}
		}
		want(x, "winners", winners, 1)
		want(x, "fired", x.fire(firing(at, "tea"))[0].New, true)
		want(x, "completions", len(x.follow(0, 100)), round+1)
	}
}

// putRepeated repeats requests whose answers were lost, after the timer fired.
func putRepeated(x *fixture) {
	at, in := spec("at"), timer.Spec{ID: "in", At: after(time.Second), In: time.Second}
	x.put(at, in)
	x.fire(firing(after(2*time.Hour), "at", "in"))
	repeat := func(s timer.Spec, now time.Time) bool {
		x.Helper()
		stored, err := x.Put(x.Context(), []timer.Spec{s}, now)
		x.ok(err)
		return !stored[0].New
	}
	want(x, "the same instant", repeat(at, after(1000*time.Hour)), true)
	want(x, "the same while, at once", repeat(in, after(2*time.Hour+time.Second)), true)
	in.At = after(3 * time.Hour)
	want(x, "the same while, an hour later", repeat(in, after(3*time.Hour-time.Second)), false)
}

func putOrder(x *fixture) {
	x.put(spec("k-05"), spec("k-90"))
	var specs []timer.Spec
	for i := range 200 {
		specs = append(specs, spec(fmt.Sprintf("k-%02d", (i*37+11)%200)))
	}
	stored, err := x.Put(x.Context(), specs, after(time.Second))
	x.ok(err)
	want(x, "answers", len(stored), len(specs))
	for i, s := range stored {
		there := s.ID == "k-05" || s.ID == "k-90"
		expected := timer.Stored{Timer: waiting(specs[i]), New: !there}
		if !there {
			expected.SetAt = after(time.Second)
		}
		want(x, "answer", s, expected)
	}
	want(x, "timers", len(x.all()), 200)
}

func putNothing(x *fixture) {
	stored, err := x.Put(x.Context(), nil, start)
	x.ok(err)
	want(x, "answers", len(stored), 0)
	want(x, "timers", len(x.all()), 0)
}

func putBytes(x *fixture) {
	payloads := [][]byte{
		nil, []byte(`null`), []byte(`""`), []byte(`{"a":[1,2,{"b":null}],"ü":"🚰 ' \" \\ \u0000"}`), []byte("\"\xff\xfe\""),
		bytes.Repeat([]byte("9"), timer.MaxPayload),
	}
	for i, payload := range payloads {
		s := timer.Spec{ID: fmt.Sprintf("p%d", i), At: after(time.Hour), Payload: payload, Webhook: strings.Repeat("h", 400*i)}
		want(x, "answer", x.put(s)[0], waiting(s))
		want(x, "timer", x.timer(s.ID), waiting(s))
		fired := x.fire(firing(s.At, s.ID))
		want(x, "fired spec", fired[0].Spec, s)
	}
}

func putInstants(x *fixture) {
	zone := time.FixedZone("elsewhere", 9*3600)
	at := time.Date(2031, 7, 8, 9, 10, 11, 123456789, zone)
	now := time.Date(2021, 7, 8, 9, 10, 11, 987654321, zone)
	stored, err := x.Put(x.Context(), []timer.Spec{{ID: "a", At: at}}, now)
	x.ok(err)
	expected := timer.Timer{Status: timer.Waiting}
	expected.ID = "a"
	expected.At = time.Date(2031, 7, 8, 0, 10, 11, 123456000, time.UTC)
	expected.NextAt = expected.At
	expected.SetAt = time.Date(2021, 7, 8, 0, 10, 11, 987654000, time.UTC)
	want(x, "answer", stored[0].Timer, expected)
	want(x, "timer", x.timer("a"), expected)
	// The first and the last instant that can be asked for.
	first, last := time.Unix(0, 0).UTC(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	x.put(timer.Spec{ID: "first", At: first}, timer.Spec{ID: "last", At: last})
	want(x, "first", x.timer("first").At, first)
	want(x, "last", x.timer("last").At, last)
	want(x, "whether nothing is to be done with the first", x.timer("first").NextAt.IsZero(), false)
	overdue, err := x.Overdue(x.Context(), start, 10)
	x.ok(err)
	want(x, "overdue", idsOf(overdue, dueID), []string{"first"})
	want(x, "fired", x.fire(firing(start, "first"))[0].New, true)
}

func putIDs(x *fixture) {
	ids := []string{"Timer", "TIMER", "timer", "timer.", "timer-", "timer_", "timer:", "timer@", "timer:1", "t" + strings.Repeat("x", 199)}
	for i, id := range ids {
		x.put(timer.Spec{ID: id, At: after(time.Duration(i) * time.Second)})
	}
	for i, id := range ids {
		want(x, id, x.timer(id).At, after(time.Duration(i)*time.Second))
	}
	for _, id := range []string{"timer ", " timer", "tImer", "time", "timer%", "", "t\xff"} {
		_, err := x.Timer(x.Context(), id)
		x.wantCode(err, domain.CodeNotFound)
	}
	fired := x.fire(firing(after(time.Hour), "TIMER", "timer ", "tIMER"))
	want(x, "fired", idsOf(fired, func(f timer.FireResult) string { return f.ID }), []string{"TIMER"})
	want(x, "the other", x.timer("timer").Status, timer.Waiting)
}

func putConcurrently(x *fixture) {
	var fresh atomic.Int64
	answers := make([]timer.Timer, crowd)
	together(crowd, func(i int) {
		s := timer.Spec{ID: "one", At: after(time.Duration(i) * time.Second)}
		stored, err := x.Put(x.Context(), []timer.Spec{s}, start)
		if err != nil || len(stored) != 1 {
			x.Errorf("put: %v", err)
			return
		}
		answers[i] = stored[0].Timer
		if stored[0].New {
			fresh.Add(1)
			if !stored[0].At.Equal(s.At) {
				x.Errorf("stored %+v for %+v", stored[0], s)
			}
		}
	})
	want(x, "new", fresh.Load(), 1)
	for _, answer := range answers {
		want(x, "answer", answer, x.timer("one"))
	}
}

// putOverlapping has many callers store the same timers in another order each.
func putOverlapping(x *fixture) {
	var fresh atomic.Int64
	together(crowd, func(i int) {
		specs := make([]timer.Spec, 40)
		for k := range specs {
			specs[k] = spec(fmt.Sprintf("k-%02d", (i*7+k*3)%100))
		}
		stored, err := x.Put(x.Context(), specs, start)
		if err != nil {
			x.Errorf("put: %v", err)
			return
		}
		for k, s := range stored {
			if s.ID != specs[k].ID || s.Status != timer.Waiting {
				x.Errorf("answer %d is %+v, asked for %s", k, s, specs[k].ID)
			}
			if s.New {
				fresh.Add(1)
			}
		}
	})
	want(x, "new", fresh.Load(), int64(len(x.all())))
	want(x, "timers", len(x.all()), 100)
}

func putSpecsKept(x *fixture) {
	specs := []timer.Spec{{ID: "b", At: start.Add(time.Nanosecond)}, {ID: "a", At: after(0)}}
	x.put(specs...)
	want(x, "specs", specs, []timer.Spec{{ID: "b", At: start.Add(time.Nanosecond)}, {ID: "a", At: after(0)}})
	f := firing(after(time.Hour), "b", "a", "b")
	want(x, "fired", len(x.fire(f)), 2)
	want(x, "ids", f.IDs, []string{"b", "a", "b"})
}

func putCanceled(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	_, err := x.Put(ctx, []timer.Spec{spec("a")}, start)
	_, fireErr := x.Fire(ctx, firing(after(2*time.Hour), "a"))
	for _, err := range []error{err, fireErr} {
		if !errors.Is(err, context.Canceled) {
			x.Errorf("got %v, want that the context was canceled", err)
		}
	}
	want(x, "timers", len(x.all()), 0)
}

func reopenKeeps(x *fixture) {
	for _, status := range allStatuses {
		x.inStatus("t-"+status.String(), status)
	}
	before := x.all()
	x = x.on(x.Reopen(x.t))
	want(x, "timers", x.all(), before)
	want(x, "open", len(x.openNow()), 2)
	x.put(spec("another"))
}
