package backoff_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backoff"
)

func TestDelaysDoubleToTheLongest(t *testing.T) {
	for name, c := range map[string]struct {
		delays backoff.Delays
		want   []time.Duration
	}{
		"bounded":          {backoff.Delays{First: 3, Longest: 20}, []time.Duration{3, 6, 12, 20, 20}},
		"met exactly":      {backoff.Delays{First: 5, Longest: 20}, []time.Duration{5, 10, 20, 20}},
		"one":              {backoff.Delays{First: 50, Longest: 20}, []time.Duration{20, 20}},
		"without an end":   {backoff.Delays{First: 1}, []time.Duration{1, 2, 4, 8}},
		"least of a half":  {backoff.Delays{First: 4, Longest: 16, Spread: backoff.Upper, Random: always(0)}, []time.Duration{2, 4, 8, 8}},
		"most of a half":   {backoff.Delays{First: 4, Longest: 16, Spread: backoff.Upper, Random: always(1)}, []time.Duration{4, 8, 16, 16}},
		"least of a whole": {backoff.Delays{First: 4, Longest: 16, Spread: backoff.Whole, Random: always(0)}, []time.Duration{0, 0, 0}},
		"middle":           {backoff.Delays{First: 4, Longest: 16, Spread: backoff.Whole, Random: always(0.5)}, []time.Duration{2, 4, 8, 8}},
	} {
		var got []time.Duration
		for s := c.delays.Series(); len(got) < len(c.want); {
			got = append(got, s.Next())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func always(r float64) func() float64 { return func() float64 { return r } }

// TestDelaysNeverOverflow, however often something has failed.
func TestDelaysNeverOverflow(t *testing.T) {
	for _, longest := range []time.Duration{0, time.Hour, math.MaxInt64} {
		d, last := backoff.Delays{First: time.Second, Longest: longest}, time.Duration(0)
		for n := range 200 {
			if delay := d.Delay(n); delay < last || delay <= 0 {
				t.Fatalf("delay %d of at most %v is %v after %v", n, longest, delay, last)
			} else {
				last = delay
			}
		}
	}
	if d := (backoff.Delays{First: time.Second}).Delay(-1); d != time.Second {
		t.Errorf("before the first failure: %v", d)
	}
}

func TestSeriesBeginsAgain(t *testing.T) {
	s := backoff.Delays{First: 1, Longest: 8}.Series()
	for range 5 {
		s.Next()
	}
	s.Reset()
	if d := s.Next(); d != 1 {
		t.Errorf("after a success: %v", d)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !backoff.Sleep(t.Context(), time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("slept %v", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if backoff.Sleep(ctx, time.Minute) || time.Since(began) != time.Second {
			t.Errorf("slept %v beyond the end", time.Since(began))
		}
	})
}
