package main

import (
	"testing"

	"sluice/internal/load"
	"sluice/internal/refresh"
)

func TestFreeUpstreamTellsEveryValueAndAlwaysTheSame(t *testing.T) {
	values := make([]refresh.Fetched, freeBodies)
	for i := range values {
		values[i] = refresh.Fetched{Verdict: refresh.FetchDone, Received: i}
	}
	up, sent := freeUpstream(values), 0
	ask := func(key string) refresh.Fetched { return up.Fetch(t.Context(), key, func() { sent++ }) }
	met := map[int]bool{}
	keys := freeKeys(20 * freeBodies)
	for _, key := range keys {
		first := ask(key)
		if again := ask(key); first.Verdict != refresh.FetchDone || again.Received != first.Received {
			t.Fatalf("%s is %d, then %d", key, first.Received, again.Received)
		}
		met[first.Received] = true
	}
	if len(met) < freeBodies*9/10 || sent != 2*len(keys) {
		t.Errorf("%d keys met %d of %d values with %d calls", len(keys), len(met), freeBodies, sent)
	}
	if got := ask("no number"); got.Verdict != refresh.FetchDead {
		t.Errorf("a key without a number is %s", got.Verdict)
	}
}

func TestCallsOfAScenario(t *testing.T) {
	calls := loadFigure{name: "calls_per_second"}
	for name, c := range map[string]struct {
		figures map[string]float64
		want    float64
		there   bool
	}{
		"measured":   {map[string]float64{"calls_per_second": 449, "calls": 10, "seconds": 5}, 449, true},
		"of all":     {map[string]float64{"calls": 10, "seconds": 5}, 2, true},
		"broken off": {map[string]float64{}, 0, false},
	} {
		if got, there := calls.of(load.Result{Figures: c.figures}); got != c.want || there != c.there {
			t.Errorf("%s: got %v, %t", name, got, there)
		}
	}
	if _, there := (loadFigure{name: "read_p95_ms"}).of(load.Result{Figures: map[string]float64{"seconds": 5}}); there {
		t.Error("a figure is there that was not measured")
	}
}

func TestRateFeederCountsWhatWaits(t *testing.T) {
	f := rateFeeder{accepted: 2_500}
	f.seen.Calls = 400
	if got := f.waiting(); got != 2_100 {
		t.Errorf("%d wait", got)
	}
}

func TestProcessesSayWhereTheyAre(t *testing.T) {
	for line, want := range map[string]string{
		"sluice serves http://127.0.0.1:81/api/v1 (state and dispatch are shared with other processes); Ctrl-C stops\n": "http://127.0.0.1:81",
		"sluice works; http://127.0.0.1:82/readyz and /metrics show how (data in x); Ctrl-C stops\n":                    "http://127.0.0.1:82",
		"sluice: waiting: http://127.0.0.1:83/ does not answer\n":                                                       "",
	} {
		got := ""
		if m := upServed.FindStringSubmatch(line); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q says %q, want %q", line, got, want)
		}
	}
}
