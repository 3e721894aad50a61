package timertest

import (
	"fmt"
	"time"

	"sluice/internal/timer"
)

var historyCases = []testCase{
	{"CompletionsTellWhatFired", completionsTell},
	{"CompletionsInOrder", completionsOrder},
	{"CompletionsInPages", completionsPages},
	{"StatsOfNothing", statsEmpty},
	{"StatsBuckets", statsBuckets},
	{"StatsMeanAndMax", statsMean},
	{"StatsOutcomes", statsOutcomes},
	{"StatsFromAnInstant", statsFrom},
}

func (x *fixture) completions(from time.Time, afterID string, limit int) []timer.Completion {
	x.Helper()
	out, err := x.Completions(x.Context(), from, afterID, limit)
	x.ok(err)
	return out
}

func completionsTell(x *fixture) {
	var expected []timer.Completion
	for _, status := range allStatuses {
		t := x.inStatus("t-"+status.String(), status)
		if status.HasFired() {
			expected = append(expected, t.Completion())
		}
	}
	got := x.completions(time.Time{}, "", 100)
	want(x, "ids", idsOf(got, completionID), []string{"t-COMPLETED", "t-DEAD", "t-DELIVERING"})
	want(x, "completions", got, []timer.Completion{expected[1], expected[2], expected[0]})
	dead := timer.Completion{
		Timer: "t-DEAD", Due: after(time.Hour), FiredAt: after(2 * time.Hour), Server: "server-1", Lateness: time.Hour, Late: true,
		Status: timer.Dead, Tries: 3, Error: "it is DEAD", Payload: []byte(`{"for":"t-DEAD"}`),
	}
	want(x, "dead", got[1], dead)
	want(x, "success", got[0].Success, true)
}

func completionsOrder(x *fixture) {
	ids := x.putMany(20)
	for i, id := range ids {
		x.fire(firing(after(2*time.Hour+time.Duration((i*7)%20)*time.Microsecond), id))
	}
	x.inStatus("canceled", timer.Canceled)
	got := x.completions(after(2*time.Hour), "", 100)
	want(x, "completions", len(got), 20)
	for i, c := range got {
		want(x, "instant", c.FiredAt, after(2*time.Hour+time.Duration(i)*time.Microsecond))
	}
	want(x, "from is inclusive", x.completions(after(2*time.Hour+5*time.Microsecond), "", 100), got[5:])
	want(x, "after an id", x.completions(got[5].FiredAt, got[5].Timer, 100), got[6:])
	want(x, "limit", x.completions(after(2*time.Hour), "", 3), got[:3])
	want(x, "after the last", len(x.completions(got[19].FiredAt, got[19].Timer, 100)), 0)
	want(x, "later", len(x.completions(after(3*time.Hour), "", 100)), 0)
}

// completionsPages pages through many that fired at the same instant.
func completionsPages(x *fixture) {
	ids := x.putMany(100)
	for i := range 4 {
		x.fire(firing(after(2*time.Hour+time.Duration(i)*time.Second), ids[i*25:(i+1)*25]...))
	}
	for _, size := range []int{1, 7, 25, 99, 100, 101} {
		var got []string
		from, afterID := time.Time{}, ""
		for page := x.completions(from, afterID, size); len(page) > 0; page = x.completions(from, afterID, size) {
			if len(page) > size {
				x.Fatalf("a page of %d has %d", size, len(page))
			}
			got = append(got, idsOf(page, completionID)...)
			from, afterID = page[len(page)-1].FiredAt, page[len(page)-1].Timer
		}
		want(x, fmt.Sprintf("pages of %d", size), got, ids)
	}
}

func (x *fixture) stats(from time.Time) timer.Stats {
	x.Helper()
	s, err := x.Stats(x.Context(), from)
	x.ok(err)
	if !s.From.Equal(from) {
		x.Fatalf("stats from %s, want %s", s.From, from)
	}
	s.From = time.Time{}
	return s
}

func statsEmpty(x *fixture) {
	empty := timer.Stats{Buckets: make([]int64, len(timer.LatenessBounds)+1), Servers: map[string]int64{}}
	want(x, "stats of nothing", x.stats(start), empty)
	x.inStatus("waiting", timer.Waiting)
	x.inStatus("canceled", timer.Canceled)
	want(x, "stats without completions", x.stats(time.Time{}), empty)
}

// fireLate has a timer fire so long after its instant.
func (x *fixture) fireLate(id string, lateness time.Duration) {
	x.Helper()
	s := spec(id)
	x.put(s)
	want(x, "new", x.fire(firing(s.At.Add(lateness), id))[0].New, true)
}

func statsBuckets(x *fixture) {
	buckets := make([]int64, len(timer.LatenessBounds)+1)
	late := int64(0)
	for i, bound := range timer.LatenessBounds {
		for k, lateness := range []time.Duration{bound - time.Microsecond, bound, bound + time.Microsecond} {
			x.fireLate(fmt.Sprintf("t-%02d-%d", i, k), lateness)
			if lateness > timer.LateAfter {
				late++
			}
		}
		buckets[i] += 2
		buckets[i+1]++
	}
	x.fireLate("on-time", 0)
	x.fireLate("missed", 24*365*time.Hour)
	buckets[0]++
	buckets[len(buckets)-1]++
	got := x.stats(time.Time{})
	want(x, "buckets", got.Buckets, buckets)
	want(x, "late", got.Late, late+1)
	want(x, "completed", got.Completed, int64(3*len(timer.LatenessBounds)+2))
	want(x, "max", got.Max, 24*365*time.Hour)
}

func statsMean(x *fixture) {
	x.fireLate("a", 3*time.Millisecond)
	x.fireLate("b", 5*time.Millisecond)
	// One whose instant was past when it was set is late from then on.
	x.put(timer.Spec{ID: "past", At: after(-24 * time.Hour)})
	x.fire(firing(after(10*time.Millisecond), "past"))
	got := x.stats(time.Time{})
	want(x, "mean", got.Mean, 6*time.Millisecond)
	want(x, "max", got.Max, 10*time.Millisecond)
	// One that was set by a clock ahead of that of the firing is not early.
	stored, err := x.Put(x.Context(), []timer.Spec{{ID: "ahead", At: start}}, after(time.Hour))
	x.ok(err)
	want(x, "new", stored[0].New, true)
	x.fire(firing(after(time.Minute), "ahead"))
	want(x, "mean", x.stats(time.Time{}).Mean, 4500*time.Microsecond)
	x.fireLate("century-1", 100*365*24*time.Hour)
	x.fireLate("century-2", 100*365*24*time.Hour)
	x.fireLate("century-3", 100*365*24*time.Hour)
	x.fireLate("century-4", 100*365*24*time.Hour)
	want(x, "mean", x.stats(time.Time{}).Mean, 50*365*24*time.Hour+2250*time.Microsecond)
}

func statsOutcomes(x *fixture) {
	for i, server := range []string{"a", "b", "b", "A", "b"} {
		s := hooked(fmt.Sprint("t", i))
		x.put(s)
		f := firing(s.At, s.ID)
		f.Server = server
		x.fire(f)
	}
	x.settle(timer.Settlement{ID: "t0", To: timer.Completed, Tries: 1}, timer.Settlement{ID: "t1", To: timer.Completed, Tries: 1},
		timer.Settlement{ID: "t2", To: timer.Dead, Tries: 9})
	got := x.stats(start)
	want(x, "stats", got, timer.Stats{
		Completed: 5, Succeeded: 2, Failed: 1, Buckets: append([]int64{5}, make([]int64, len(timer.LatenessBounds))...),
		Servers: map[string]int64{"a": 1, "b": 3, "A": 1},
	})
}

func statsFrom(x *fixture) {
	ids := x.putMany(10)
	for i, id := range ids {
		x.fire(firing(after(2*time.Hour+time.Duration(i)*time.Microsecond), id))
	}
	for from, expected := range map[int]int64{-1: 10, 0: 10, 1: 9, 9: 1, 10: 0} {
		want(x, fmt.Sprint("from ", from), x.stats(after(2*time.Hour+time.Duration(from)*time.Microsecond)).Completed, expected)
	}
}
