package bucketed_test

import (
	"context"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/ration/rationtest"
)

// earlier is a keeper that goes on from what an earlier version stored.
type earlier struct {
	*testing.T
	clock  *rationtest.Clock
	store  *rationtest.Store
	keeper *bucketed.Keeper
}

var earlierConfig = quota.Config{Concurrency: 2, Buckets: map[string]quota.Limits{
	"core":    {Limit: 10, Window: time.Hour, Floor: 1, PointsPerMinute: 900},
	"graphql": {Limit: 10, Window: time.Hour},
}}

func newEarlier(t *testing.T, windows func(now time.Time) []domain.QuotaWindow) *earlier {
	e := &earlier{T: t, clock: rationtest.NewClock(rationtest.Morning), store: &rationtest.Store{}}
	e.start(windows(e.clock.Now()))
	return e
}

func (e *earlier) start(windows []domain.QuotaWindow) {
	e.Helper()
	if err := bucketed.TakeOver(e.Context(), earlierConfig, windows, e.store, e.clock.Now()); err != nil {
		e.Fatal(err)
	}
	rations := memory.NewRations(memory.RationsOptions{Store: e.store, Now: e.clock.Now, Passed: e.clock.Passed})
	e.keeper = bucketed.New(earlierConfig, rations, bucketed.Options{Groups: e.store.Groups, Now: e.clock.Now})
}

// spend makes calls that nobody answers until one is refused.
func (e *earlier) spend(bucket string) (n int, last quota.Decision) {
	e.Helper()
	for ; ; n++ {
		d, err := e.keeper.Reserve(e.Context(), quota.Ask{Owner: "alice", Bucket: bucket})
		if err != nil {
			e.Fatal(err)
		}
		if !d.Granted {
			return n, d
		}
		if err := e.keeper.Settle(e.Context(), d.Permit, quota.Response{}); err != nil {
			e.Fatal(err)
		}
	}
}

// TestWindowsOfAnEarlierVersionGoOn: what was taken of a window stays taken until it ends,
// also for a keeper that starts again, and is taken over once.
func TestWindowsOfAnEarlierVersionGoOn(t *testing.T) {
	stored := func(now time.Time) []domain.QuotaWindow {
		return []domain.QuotaWindow{
			{Owner: "alice", Bucket: "core", Limit: 10, Remaining: 4, Reset: now.Add(10 * time.Minute), Touched: now.Add(-time.Hour), Seq: 1 << 60},
			{Owner: "alice", Bucket: "elsewhere", Limit: 10, Remaining: 4, Reset: now.Add(10 * time.Minute), Seq: 1 << 60},
			// What Redis kept is stored as spent.
			{Owner: "alice", Bucket: "graphql", Limit: 10, Reset: now.Add(20 * time.Minute), Touched: now.Add(-time.Hour), Seq: 1 << 60},
		}
	}
	e := newEarlier(t, stored)
	if n, d := e.spend("core"); n != 3 || d.Reason != quota.ReasonFloor || d.RetryAt.Sub(e.clock.Now()) != 10*time.Minute {
		t.Errorf("%d calls of core, then %+v; want 3", n, d)
	}
	if n, d := e.spend("graphql"); n != 0 || d.Reason != quota.ReasonPrimary || d.RetryAt.Sub(e.clock.Now()) != 20*time.Minute {
		t.Errorf("%d calls of graphql, then %+v; want none", n, d)
	}
	e.start(stored(e.clock.Now()))
	if n, _ := e.spend("core"); n != 0 {
		t.Errorf("%d calls were granted once more", n)
	}
	windows, err := e.keeper.Windows(t.Context(), "")
	if err != nil || len(windows) != 2 || windows[0].Bucket != "core" || windows[0].Available != 0 {
		t.Errorf("shown are %+v, %v", windows, err)
	}
}

// TestMomentsOfAnEarlierVersion: what is not known of its last moments is taken for the
// worst that can be.
func TestMomentsOfAnEarlierVersion(t *testing.T) {
	now := rationtest.Morning
	for name, c := range map[string]struct {
		window domain.QuotaWindow
		// closed is for how long nobody is served, calls how many are granted then.
		closed time.Duration
		calls  int
	}{
		"a pause":                      {domain.QuotaWindow{Limit: 10, Remaining: 10, Touched: now.Add(-time.Hour), ParkedUntil: now.Add(5 * time.Minute)}, 5 * time.Minute, 1},
		"a minute that is not over":    {domain.QuotaWindow{Limit: 10, Remaining: 5, Reset: now.Add(30 * time.Minute), Touched: now.Add(-10 * time.Second)}, time.Minute, 1},
		"nothing is known but the end": {domain.QuotaWindow{Limit: 10, Remaining: 5, Reset: now.Add(30 * time.Minute)}, time.Minute, 1},
		"an end that nobody told":      {domain.QuotaWindow{Limit: 10, Remaining: 2, Started: now.Add(-time.Minute), Touched: now.Add(-5 * time.Minute)}, 0, 1},
		"a window that is over":        {domain.QuotaWindow{Limit: 10, Remaining: 0, Reset: now.Add(-5 * time.Hour), Touched: now.Add(-6 * time.Hour)}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.window.Owner, c.window.Bucket, c.window.Seq = "alice", "core", 5
			e := newEarlier(t, func(time.Time) []domain.QuotaWindow { return []domain.QuotaWindow{c.window} })
			if c.closed > 0 {
				n, d := e.spend("core")
				if wait := d.RetryAt.Sub(e.clock.Now()); n != 0 || d.Reason != quota.ReasonRetryAfter || wait != c.closed {
					t.Fatalf("%d calls, then %+v after %v", n, d, wait)
				}
				e.clock.Advance(c.closed)
			}
			d, err := e.keeper.Reserve(context.Background(), quota.Ask{Owner: "alice", Bucket: "core"})
			if err != nil || !d.Granted {
				t.Fatalf("it gets %+v, %v", d, err)
			}
			granted := 1
			for ; ; granted++ {
				d, err := e.keeper.Reserve(context.Background(), quota.Ask{Owner: "alice", Bucket: "core"})
				if err != nil {
					t.Fatal(err)
				}
				if !d.Granted {
					break
				}
			}
			if granted != c.calls {
				t.Errorf("%d calls were granted at once, want %d", granted, c.calls)
			}
		})
	}
}
