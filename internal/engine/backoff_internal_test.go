package engine

import (
	"testing"
	"time"
)

func TestBackoffGrowsToItsCap(t *testing.T) {
	low := Config{BackoffBase: time.Second, BackoffMax: time.Minute, Random: func() float64 { return 0 }}
	high := low
	high.Random = func() float64 { return 0.999999 }
	want := time.Second
	for failures := range 100 {
		least, most := low.backoff(failures), high.backoff(failures)
		if least != want/2 {
			t.Errorf("after %d failures at least %s, want %s", failures, least, want/2)
		}
		if most <= want*99/100 || most >= want {
			t.Errorf("after %d failures at most %s, want almost %s", failures, most, want)
		}
		want = min(2*want, time.Minute)
	}
}

func TestBackoffIsSpread(t *testing.T) {
	cfg := Config{}.withDefaults()
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[cfg.backoff(3)] = true
	}
	if len(seen) < 90 {
		t.Errorf("100 jobs that failed together come back at %d instants", len(seen))
	}
}

func TestOutageOfCallsTogetherCountsOnce(t *testing.T) {
	o := newOutages(Config{BackoffBase: time.Second, BackoffMax: time.Hour, Random: func() float64 { return 0.5 }})
	now := time.Unix(1_000_000, 0)
	first := o.retryAt("a", now)
	for range 10 {
		if at := o.retryAt("a", now); !at.Equal(first) {
			t.Fatalf("a call that failed at the same time comes back at %s, not %s", at, first)
		}
	}
	second := o.retryAt("a", first).Sub(first)
	if second != 2*first.Sub(now) {
		t.Errorf("the second pause is %s after one of %s", second, first.Sub(now))
	}
	for range 20 {
		now = o.retryAt("a", now.Add(time.Hour))
	}
	if pause := o.retryAt("a", now).Sub(now); pause > outageMax {
		t.Errorf("the longest pause is %s", pause)
	}
	o.over("a")
	if at := o.retryAt("a", now); at.Sub(now) != first.Sub(time.Unix(1_000_000, 0)) {
		t.Errorf("after an answer the pauses do not begin anew: %s", at.Sub(now))
	}
}
