package forecast

import (
	"testing"
	"time"
)

func TestRationEnds(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	hour := ration{
		left: 100, available: 1000, perWindow: 5000, perSecond: 10,
		now: now, reset: now.Add(30 * time.Minute), window: time.Hour,
	}
	for name, tc := range map[string]struct {
		change func(*ration)
		want   time.Duration
	}{
		"nothing left":                     {func(r *ration) { r.left = 0 }, 0},
		"the pace decides":                 {func(*ration) {}, 10 * time.Second},
		"the rest waits for the reset":     {func(r *ration) { r.left = 1100 }, 30*time.Minute + 10*time.Second},
		"exactly this window":              {func(r *ration) { r.left = 1000 }, 100 * time.Second},
		"two more windows":                 {func(r *ration) { r.left = 1000 + 5000 + 20 }, 90*time.Minute + 2*time.Second},
		"full windows only":                {func(r *ration) { r.left = 1000 + 5000 }, 30*time.Minute + 500*time.Second},
		"too slow to use the ration":       {func(r *ration) { r.left, r.perSecond = 360, 0.1 }, time.Hour},
		"a window that is over":            {func(r *ration) { r.left, r.reset = 100, now.Add(-time.Second) }, 10 * time.Second},
		"unknown windows leave the pace":   {func(r *ration) { r.left, r.window = 6000, 0 }, 600 * time.Second},
		"nothing available until it opens": {func(r *ration) { r.left, r.available = 10, 0 }, 30*time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := hour
			tc.change(&r)
			if got := r.ends().Sub(now); got != tc.want {
				t.Errorf("it ends after %s, want %s", got, tc.want)
			}
		})
	}
	unknown := hour
	unknown.perSecond = 0
	if got := unknown.ends(); !got.IsZero() {
		t.Errorf("without a pace it ends at %s; nobody can say", got)
	}
}

func TestBucketsShareTheWorkers(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	f := Forecast{Buckets: make([]BucketForecast, 2)}
	rations := []ration{
		{left: 100, available: 5000, perWindow: 5000, now: now, reset: now.Add(time.Hour), window: time.Hour},
		{left: 300, available: 5000, perWindow: 5000, now: now, reset: now.Add(time.Hour), window: time.Hour},
	}
	for i, name := range []string{"core", "graphql"} {
		f.Buckets[i].Bucket, f.Buckets[i].Left = name, rations[i].left
	}
	f.setEnds(rations, 20)
	if got := f.Ends.Sub(now); got != 20*time.Second || f.Bottleneck != "graphql" || f.Left != 400 {
		t.Errorf("400 calls at 20 a second end after %s at %q (%d left)", got, f.Bottleneck, f.Left)
	}
	if !f.EndsWithOneMore.Equal(f.Ends) {
		t.Errorf("one more owner would change the end to %s, although no ration is short", f.EndsWithOneMore)
	}
	rations[0].available = 0
	f = Forecast{Buckets: f.Buckets}
	f.setEnds(rations, 20)
	if got := f.Ends.Sub(now); got != time.Hour+5*time.Second || f.Bottleneck != "core" {
		t.Errorf("a spent ration ends it after %s at %q", got, f.Bottleneck)
	}
	if got := f.EndsWithOneMore.Sub(now); got != 20*time.Second {
		t.Errorf("one more owner ends it after %s, want 20s", got)
	}
}

func TestPaceLeavesOutTheWaits(t *testing.T) {
	p := NewPaces()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	reset := at.Add(time.Hour)
	for range 10 {
		p.Observe("lane", at, at.Add(100*time.Millisecond), reset)
		at = at.Add(100 * time.Millisecond)
	}
	at = at.Add(50 * time.Minute) // parked
	for range 10 {
		p.Observe("lane", at, at.Add(100*time.Millisecond), reset)
		at = at.Add(100 * time.Millisecond)
	}
	perSecond, window := p.Rate("lane")
	if perSecond < 9.99 || perSecond > 10.01 || window != time.Hour {
		t.Errorf("the pace is %.2f calls/s in windows of %s; want 10 in an hour", perSecond, window)
	}
	if perSecond, _ := p.Rate("other"); perSecond != 0 {
		t.Errorf("an unknown lane has a pace of %.2f", perSecond)
	}
}
