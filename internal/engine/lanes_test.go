package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// rationed is an upstream that gives "poor" five calls an hour and everybody
// else plenty. It notes when calls came.
type rationed struct {
	*enginetest.Script
	mu       sync.Mutex
	calls    map[string][]time.Time
	refusals int
}

const poorLimit = 5

func newRationed(jobs int) *rationed {
	r := &rationed{calls: map[string][]time.Time{}}
	r.Script = &enginetest.Script{Answer: r.answer}
	for i := range jobs {
		r.Roots = append(r.Roots, enginetest.Item("ITEM", fmt.Sprint("item:", i)))
	}
	return r
}

func (r *rationed) answer(_ context.Context, c source.Call) source.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := 1000
	if c.Run.Login == "poor" {
		limit = poorLimit
	}
	now := time.Now()
	r.calls[c.Run.Login] = append(r.calls[c.Run.Login], now)
	window := now.Truncate(time.Hour)
	used := 0
	for _, at := range r.calls[c.Run.Login] {
		if !at.Before(window) {
			used++
		}
	}
	rate := quota.Response{Known: true, Limit: limit, Remaining: max(limit-used, 0), Reset: window.Add(time.Hour), Date: now}
	if used > limit {
		r.refusals++
		rate.Exhausted = true
		return source.Result{Verdict: source.Wait, Quota: rate, Failure: &domain.Failure{Kind: domain.FailureRateLimited, Message: "enough"}}
	}
	return source.Result{Verdict: source.Done, Quota: rate}
}

// asks counts how often the keeper was asked and refused.
type asks struct {
	quota.Keeper
	mu               sync.Mutex
	granted, refused map[time.Time]int
}

func (a *asks) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	d, err := a.Keeper.Reserve(ctx, ask)
	a.mu.Lock()
	defer a.mu.Unlock()
	hour := time.Now().Truncate(time.Hour)
	if d.Granted {
		a.granted[hour]++
	} else {
		a.refused[hour]++
	}
	return d, err
}

func TestOneOwnersExhaustionSlowsNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const jobs = 22
		src := newRationed(jobs)
		counts := &asks{granted: map[time.Time]int{}, refused: map[time.Time]int{}}
		cfg := wiring.Options{
			Engine: engine.Config{Workers: 2},
			Quota:  quota.Config{Concurrency: 100, Buckets: map[string]quota.Limits{"core": {Limit: poorLimit, Window: time.Hour, PointsPerMinute: 900}}},
			WrapQuota: func(k quota.Keeper) quota.Keeper {
				counts.Keeper = k
				return counts
			},
		}
		s := started(t, src, cfg)
		began := time.Now()
		poor, rich := s.run(s.account("poor")), s.run(s.account("rich"))
		if run := s.wait(rich); run.FinishedAt.Sub(began) > time.Second {
			t.Errorf("the rich owner was slowed down by %s", run.FinishedAt.Sub(began))
		}
		pass(time.Minute)
		wait, ok := s.svc.Engine.Waits()[dispatch.Lane(s.account("poor").Owner, "core")]
		if !ok || wait.Reason != string(quota.ReasonPrimary) || wait.Until.Before(began.Add(time.Hour)) {
			t.Errorf("the waits are %+v", s.svc.Engine.Waits())
		}
		s.wantCompleted(s.wait(poor), 0)
		src.wantTogether(t, jobs)
		// Whoever waits is woken once a window, not each by itself; while one call
		// goes first, the others may ask once more.
		for hour, n := range counts.refused {
			if atMost := 3 * 2 * s.opt.Engine.Workers; n > atMost {
				t.Errorf("%d reservations were refused in the hour of %s, want at most %d", n, hour.Format(time.TimeOnly), atMost)
			}
		}
	})
}

// wantTogether checks that the poor owner's calls came in full windows, all
// calls of a window at one moment, and none was refused.
func (r *rationed) wantTogether(t *testing.T, jobs int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls["poor"]
	if len(calls) != jobs || r.refusals != 0 {
		t.Errorf("%d calls were made for %d jobs, %d of them refused", len(calls), jobs, r.refusals)
	}
	for i, at := range calls {
		first := calls[i-i%poorLimit]
		if at.Sub(first) > time.Second {
			t.Errorf("call %d came %s after its window's first", i, at.Sub(first))
		}
		if i%poorLimit == 0 && i > 0 && at.Sub(calls[i-1]) > time.Hour+time.Minute {
			t.Errorf("call %d came %s after the window before", i, at.Sub(calls[i-1]))
		}
	}
}
