package timertest

import (
	"fmt"
	"slices"
	"time"

	"sluice/internal/timer"
)

var queryCases = []testCase{
	{"TimersInTheOrderOfIDs", timersOrder},
	{"TimersByStatus", timersStatus},
	{"TimersByPrefix", timersPrefix},
	{"TimersInPages", timersPages},
}

func (x *fixture) listed(q timer.Query) []string {
	x.Helper()
	timers, err := x.Timers(x.Context(), q)
	x.ok(err)
	return idsOf(timers, timerID)
}

func timersOrder(x *fixture) {
	want(x, "none", len(x.all()), 0)
	ids := []string{"b", "B", "a", "a:1", "a-1", "a.1", "a_1", "a@1", "A", "a1", "10", "9", "a1b"}
	for i, id := range ids {
		x.put(timer.Spec{ID: id, At: after(-time.Duration(i) * time.Minute)})
	}
	want(x, "ids", x.listed(timer.Query{}), slices.Sorted(slices.Values(ids)))
}

func timersStatus(x *fixture) {
	for _, status := range allStatuses {
		x.inStatus("a-"+status.String(), status)
		x.inStatus("b-"+status.String(), status)
	}
	for _, status := range allStatuses {
		want(x, status.String(), x.listed(timer.Query{Statuses: []timer.Status{status}}), []string{"a-" + status.String(), "b-" + status.String()})
	}
	want(x, "two statuses", x.listed(timer.Query{Statuses: []timer.Status{timer.Dead, timer.Canceled}, AfterID: "a-CANCELED"}),
		[]string{"a-DEAD", "b-CANCELED", "b-DEAD"})
	want(x, "statuses and prefix", x.listed(timer.Query{Statuses: []timer.Status{timer.Waiting, timer.Dead}, Prefix: "b-D"}), []string{"b-DEAD"})
	want(x, "all", len(x.listed(timer.Query{Statuses: allStatuses})), 10)
}

func timersPrefix(x *fixture) {
	for _, id := range []string{"a", "a:", "a:1", "a:1:2", "a;", "a_1", "a_2", "ab1", "a%1", "a%", "aX1", "A:1", "b"} {
		x.put(timer.Spec{ID: id, At: start})
	}
	for prefix, expected := range map[string][]string{
		"a:": {"a:", "a:1", "a:1:2"}, "a:1": {"a:1", "a:1:2"}, "a_": {"a_1", "a_2"}, "a%": {"a%", "a%1"}, "A": {"A:1"},
		"a\x7f": {}, "a\xff": {}, "\xff\xff": {}, "c": {}, "a:1:2:3": {}, "%": {}, "_": {}, `a\`: {},
	} {
		want(x, fmt.Sprintf("prefix %q", prefix), x.listed(timer.Query{Prefix: prefix}), expected)
	}
	want(x, "prefix and after", x.listed(timer.Query{Prefix: "a:", AfterID: "a:"}), []string{"a:1", "a:1:2"})
	want(x, "after one before the prefix", x.listed(timer.Query{Prefix: "a:", AfterID: "A"}), []string{"a:", "a:1", "a:1:2"})
	want(x, "after one behind the prefix", x.listed(timer.Query{Prefix: "a:", AfterID: "b"}), []string{})
}

func timersPages(x *fixture) {
	ids := x.putMany(257)
	want(x, "default page", x.listed(timer.Query{}), ids[:100])
	for _, size := range []int{1, 50, 256, 257, 300} {
		var got []string
		for page := x.listed(timer.Query{Limit: size}); len(page) > 0; page = x.listed(timer.Query{Limit: size, AfterID: got[len(got)-1]}) {
			if len(page) > size {
				x.Fatalf("a page of %d has %d", size, len(page))
			}
			got = append(got, page...)
		}
		want(x, fmt.Sprintf("pages of %d", size), got, ids)
	}
}
