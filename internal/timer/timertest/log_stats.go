package timertest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"sluice/internal/timer"
)

var statsCases = []logCase{
	{"StatsOfNothing", statsOfNothing},
	{"StatsCount", statsCount},
	{"StatsBucketsAtTheirBounds", bucketsAtTheirBounds},
	{"StatsFromAnInstant", statsFromAnInstant},
	{"StatsOfMany", statsOfMany},
}

var pruneCases = []logCase{
	{"PruneBeforeAnInstant", pruneBefore},
	{"PruneUpToALimit", pruneUpTo},
	{"PruneMany", pruneMany},
}

func (x *logFixture) expectStats(from time.Time, want timer.Stats) {
	x.Helper()
	got, err := x.Stats(x.Context(), from)
	x.ok(err)
	if !got.From.Equal(from) {
		x.Errorf("the stats are from %v, want %v", got.From, from)
	}
	got.From, want.From = time.Time{}, time.Time{}
	if want.Buckets == nil {
		want.Buckets = make([]int64, len(timer.LatenessBounds)+1)
	}
	if want.Servers == nil {
		want.Servers = map[string]int64{}
	}
	if !reflect.DeepEqual(got, want) {
		x.Errorf("got %+v, want %+v", got, want)
	}
}

// bucketOf is the first bucket whose bound a lateness does not exceed.
func bucketOf(lateness time.Duration) int {
	i, _ := slices.BinarySearch(timer.LatenessBounds, lateness)
	return i
}

func statsOfNothing(x *logFixture) {
	x.expectStats(instant(1), timer.Stats{})
	x.expectStats(time.Time{}, timer.Stats{})
}

func statsCount(x *logFixture) {
	var all []timer.Completion
	add := func(status timer.Status, server string, lateness time.Duration, late bool) {
		c := completion(fmt.Sprintf("timer-%d", len(all)), instant(len(all)))
		c.Status, c.Success, c.Server, c.Lateness, c.Late = status, status == timer.Completed, server, lateness, late
		all = append(all, c)
	}
	add(timer.Completed, "a", 0, false)
	add(timer.Completed, "b.with.dots", 3*time.Millisecond, false)
	add(timer.Completed, "$b", 2*time.Second, true)
	add(timer.Delivering, "a", 15*time.Millisecond, false)
	add(timer.Dead, "a", 30*time.Minute, true)
	add(timer.Dead, "a", 48*time.Hour, true)
	x.append(all...)
	buckets := make([]int64, len(timer.LatenessBounds)+1)
	for _, c := range all {
		buckets[bucketOf(c.Lateness)]++
	}
	x.expectStats(time.Time{}, timer.Stats{
		Completed: 6, Succeeded: 3, Failed: 2, Late: 3, Max: 48 * time.Hour,
		Mean:    (3*time.Millisecond + 2*time.Second + 15*time.Millisecond + 30*time.Minute + 48*time.Hour) / 6,
		Buckets: buckets, Servers: map[string]int64{"a": 4, "b.with.dots": 1, "$b": 1},
	})
	// What is replaced counts once, as what it is now.
	all[3].Status, all[3].Success = timer.Completed, true
	x.append(all[3])
	got, err := x.Stats(x.Context(), time.Time{})
	x.ok(err)
	if got.Completed != 6 || got.Succeeded != 4 || got.Failed != 2 {
		x.Errorf("after a replacement: %+v", got)
	}
}

// bucketsAtTheirBounds puts one at each bound, which it includes, and two a
// microsecond beyond it.
func bucketsAtTheirBounds(x *logFixture) {
	var all []timer.Completion
	add := func(lateness time.Duration) {
		c := completion(fmt.Sprintf("timer-%03d", len(all)), instant(len(all)))
		c.Lateness = lateness
		all = append(all, c)
	}
	want := timer.Stats{Buckets: make([]int64, len(timer.LatenessBounds)+1)}
	var sum time.Duration
	for i, bound := range timer.LatenessBounds {
		add(bound)
		want.Buckets[i]++
		for range 2 {
			add(bound + time.Microsecond)
			want.Buckets[i+1]++
		}
		sum += 3*bound + 2*time.Microsecond
		want.Max = bound + time.Microsecond
	}
	n := int64(len(all))
	want.Completed, want.Succeeded, want.Servers = n, n, map[string]int64{"server-1": n}
	want.Mean = sum / time.Duration(n)
	x.append(all...)
	x.expectStats(time.Time{}, want)
}

func statsFromAnInstant(x *logFixture) {
	early, late := completion("a", instant(1)), completion("b", instant(2))
	late.Lateness = 4 * time.Millisecond
	x.append(early, late)
	for from, want := range map[time.Time]int64{
		instant(0): 2, early.FiredAt: 2, early.FiredAt.Add(time.Microsecond): 1, late.FiredAt: 1, late.FiredAt.Add(time.Microsecond): 0,
	} {
		got, err := x.Stats(x.Context(), from)
		x.ok(err)
		if got.Completed != want {
			x.Errorf("from %v there are %d completions, want %d", from, got.Completed, want)
		}
	}
	buckets := make([]int64, len(timer.LatenessBounds)+1)
	buckets[bucketOf(late.Lateness)] = 1
	x.expectStats(late.FiredAt, timer.Stats{
		Completed: 1, Succeeded: 1, Mean: 4 * time.Millisecond, Max: 4 * time.Millisecond, Buckets: buckets, Servers: map[string]int64{"server-1": 1},
	})
}

func statsOfMany(x *logFixture) {
	const many = 3_000
	all := make([]timer.Completion, many)
	for i := range all {
		all[i] = completion(fmt.Sprintf("timer-%05d", i), instant(0).Add(time.Duration(i)*time.Millisecond))
		all[i].Lateness = time.Duration(i%3) * time.Millisecond
		all[i].Server = fmt.Sprintf("server-%d", i%4)
	}
	x.append(all...)
	buckets := make([]int64, len(timer.LatenessBounds)+1)
	for lateness := range 3 {
		buckets[bucketOf(time.Duration(lateness)*time.Millisecond)] += many / 3
	}
	servers := map[string]int64{}
	for i := range 4 {
		servers[fmt.Sprintf("server-%d", i)] = many / 4
	}
	x.expectStats(time.Time{}, timer.Stats{
		Completed: many, Succeeded: many, Mean: time.Millisecond, Max: 2 * time.Millisecond, Buckets: buckets, Servers: servers,
	})
}

func pruneBefore(x *logFixture) {
	a, b, c := completion("a", instant(1)), completion("b", instant(2)), completion("c", instant(3))
	x.append(c, a, b)
	x.prune(a.FiredAt, 10, 0) // at the instant is not before it
	x.expect(a, b, c)
	x.prune(a.FiredAt.Add(time.Microsecond), 10, 1)
	x.expect(b, c)
	x.prune(a.FiredAt.Add(time.Microsecond), 10, 0)
	x.prune(instant(9), 10, 2)
	x.expect()
	x.append(b) // it may come back
	x.expect(b)
}

func pruneUpTo(x *logFixture) {
	var all []timer.Completion
	for i := range 5 {
		all = append(all, completion(fmt.Sprintf("timer-%d", i), instant(i)))
	}
	x.append(all...)
	x.prune(all[4].FiredAt, 0, 0)
	x.prune(all[4].FiredAt, 3, 3)
	if got := x.all(); len(got) != 2 || got[1].Timer != "timer-4" {
		x.Errorf("left are %s, want two and the last among them", ids(got))
	}
	x.prune(all[4].FiredAt, 3, 1)
	x.expect(all[4])
}

func pruneMany(x *logFixture) {
	const many, limit = 2_500, 2_100
	all := make([]timer.Completion, many)
	for i := range all {
		all[i] = completion(fmt.Sprintf("timer-%05d", i), instant(0).Add(time.Duration(i)*time.Microsecond))
	}
	x.append(all...)
	x.prune(instant(1), limit, limit)
	if got := x.all(); len(got) != many-limit {
		x.Errorf("%d are left, want %d", len(got), many-limit)
	}
	x.prune(instant(1), limit, many-limit)
	x.expect()
}
