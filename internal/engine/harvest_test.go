package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// field is a source that notes its calls. Every token has the same number of
// calls in each hour of the clock.
type field struct {
	*enginetest.Script
	limit int
	// leads are the items that lead to another each.
	leads []string
	// fails, if set, may replace the answer to a call.
	fails func(source.Call) *source.Result

	mu    sync.Mutex
	calls []called
}

// called is one call of a field.
type called struct {
	at          time.Time
	run         int64
	login, item string
	token       string
}

func newField(items, limit int) *field {
	f := &field{limit: limit}
	f.Script = &enginetest.Script{Answer: f.answer}
	for i := range items {
		f.Roots = append(f.Roots, enginetest.Item("ITEM", fmt.Sprint("item:", i)))
	}
	return f
}

func (f *field) answer(_ context.Context, c source.Call) source.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	window := now.Truncate(time.Hour)
	used := 1
	for _, one := range f.calls {
		if one.token == c.Token && !one.at.Before(window) {
			used++
		}
	}
	f.calls = append(f.calls, called{at: now, run: c.Run.ID, login: c.Run.Login, item: c.Job.Resource, token: c.Token})
	rate := quota.Response{Known: true, Limit: f.limit, Remaining: max(f.limit-used, 0), Reset: window.Add(time.Hour), Date: now}
	if f.fails != nil {
		if r := f.fails(c); r != nil {
			r.Quota = rate
			return *r
		}
	}
	r := source.Result{Verdict: source.Done, Quota: rate}
	if c.Job.Type == "ITEM" && slices.Contains(f.leads, c.Job.Resource) {
		r.Next = []domain.JobSpec{enginetest.Item("CHILD", c.Job.Resource)}
	}
	return r
}

// seen returns the calls so far that are chosen.
func (f *field) seen(choose func(called) bool) (out []called) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if choose == nil || choose(c) {
			out = append(out, c)
		}
	}
	return out
}

// policy reads a schedule.
func policy(t *testing.T, text string) schedule.Policy {
	t.Helper()
	p, err := schedule.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// harvesting configures a service whose accounts are collected again.
func harvesting(t *testing.T, text string, limit int) wiring.Options {
	t.Helper()
	p := policy(t, text)
	return wiring.Options{
		Engine: engine.Config{Workers: 4, Harvests: map[string]schedule.Policy{"script": p, "github": p}},
		Quota: quota.Config{Concurrency: 100, Buckets: map[string]quota.Limits{
			"core": {Limit: limit, Window: time.Hour, PointsPerMinute: 100_000}}},
	}
}

// signs signs an account up.
func (s *service) signs(login, token string) collection {
	s.t.Helper()
	a, run, err := s.svc.Engine.Signup(s.t.Context(), engine.Signup{Source: s.opt.Sources[0].Name(), Login: login, Token: token})
	if err != nil {
		s.t.Fatal(err)
	}
	return collection{a, run}
}

// allRuns are an account's runs, the first one first.
func (s *service) allRuns(a domain.Account) []domain.Run {
	s.t.Helper()
	runs, err := s.raw.Runs(s.t.Context(), state.RunQuery{AccountID: a.ID, Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(runs)
	return runs
}

// next waits for the run that follows one.
func (s *service) next(run domain.Run) (following domain.Run) {
	s.t.Helper()
	s.until("the next run", func() bool {
		runs := s.allRuns(domain.Account{ID: run.AccountID})
		following = runs[len(runs)-1]
		return following.ID > run.ID
	})
	return following
}

// plans waits until what follows an account's last run is planned.
func (s *service) plans(a domain.Account) (h domain.Harvest) {
	s.t.Helper()
	for {
		var err error
		if _, h, err = s.svc.Engine.Schedule(s.t.Context(), a.ID); err != nil {
			s.t.Fatal(err)
		}
		if !h.At.IsZero() {
			return h
		}
		// Nobody announces a plan; it follows the end of a run at once.
		pass(time.Millisecond)
	}
}

// wantAt checks an instant, with a moment for what led to it.
func wantAt(t *testing.T, what string, got, want time.Time) {
	t.Helper()
	if late := got.Sub(want); late < 0 || late > 2*time.Second {
		t.Errorf("%s is at %s, want %s", what, got.UTC(), want.UTC())
	}
}

// TestHarvestFollowsTheQuotaReset: round by round.
func TestHarvestFollowsTheQuotaReset(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newField(3, 1000), harvesting(t, `{"spread":"0s"}`, 1000))
		pass(20 * time.Minute)
		c := s.signs("octocat", "secret")
		run := c.run
		for range 5 {
			run = s.wait(run)
			s.wantCompleted(run, 0)
			h := s.plans(c.account)
			reset := run.CreatedAt.Truncate(time.Hour).Add(time.Hour)
			if h.Priority != domain.PriorityLow || h.Resume != 0 || h.After != run.ID || !strings.HasPrefix(h.Reason, "quota resets at") {
				t.Errorf("planned is %+v", h)
			}
			wantAt(t, "the plan", h.At, reset.Add(5*time.Minute))
			run = s.next(run)
			wantAt(t, "the harvest", run.CreatedAt, h.At)
			if run.Trigger != domain.TriggerSchedule || run.Priority != domain.PriorityLow || run.ID == h.After {
				t.Errorf("the harvest is %+v", run)
			}
		}
	})
}

// TestHarvestOfARealSource: the simulated GitHub, whose windows begin with a
// call.
func TestHarvestOfARealSource(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		o := harvesting(t, `{}`, 0)
		o.Quota = quota.Config{}
		w := newBubbleWorld(t, small(1), o)
		c := w.signup(w.sim.Logins()[0])
		run := w.wantWhole(c)
		for range 3 {
			windows, err := w.svc.Quota.Windows(t.Context(), w.reread(c.account).Owner)
			if err != nil {
				t.Fatal(err)
			}
			reset := time.Time{}
			for _, window := range windows {
				if window.Reset.After(reset) {
					reset = window.Reset
				}
			}
			following := w.next(run)
			earliest := max(reset.Sub(run.FinishedAt), 0) + 5*time.Minute
			if after := following.CreatedAt.Sub(run.FinishedAt); after < earliest || after > time.Hour+16*time.Minute {
				t.Errorf("a harvest came %s after the run, the reset was at %s", after, reset)
			}
			run = w.wait(following)
			w.wantCompleted(run, 0)
		}
		w.verify(c.account)
		if audit := w.sim.Audit(); audit.Violations != 0 {
			t.Errorf("the upstream counted violations: %+v", audit)
		}
	})
}

// reread reads an account again.
func (s *service) reread(a domain.Account) domain.Account {
	s.t.Helper()
	a, err := s.raw.Account(s.t.Context(), a.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// TestHarvestByPolicy names when the next three runs begin, for an account that
// is signed up at noon, in UTC, of the first day of 2030, a Tuesday.
func TestHarvestByPolicy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		source, own string
		want        [3]string
	}{
		"every":           {`{"spread":"0s","every":"6h"}`, ``, [3]string{"01 18:00", "02 00:00", "02 06:00"}},
		"cron in a zone":  {`{"spread":"0s","cron":"0 3 * * *","zone":"Asia/Seoul"}`, ``, [3]string{"01 18:00", "02 18:00", "03 18:00"}},
		"quiet hours":     {`{"spread":"0s","every":"6h","quiet":"17:00-01:00 UTC"}`, ``, [3]string{"02 01:00", "02 07:00", "02 13:00"}},
		"own over source": {`{"spread":"0s","every":"6h","quiet":"23:00-01:00 UTC"}`, `{"cron":"30 * * * *"}`, [3]string{"01 12:30", "01 13:30", "01 14:30"}},
		"own zone": {`{"spread":"0s","cron":"0 3 * * *","zone":"Asia/Seoul"}`, `{"zone":"UTC"}`,
			[3]string{"02 03:00", "03 03:00", "04 03:00"}},
		"later after success": {`{"spread":"0s"}`, `{"after_success":"45m"}`, [3]string{"01 13:45", "01 14:45", "01 15:45"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				s := started(t, newField(2, 1000), harvesting(t, tc.source, 1000))
				pass(12 * time.Hour)
				c := s.signs("octocat", "secret")
				if tc.own != "" {
					if _, err := s.svc.Engine.SetSchedule(t.Context(), c.account.ID, policy(t, tc.own)); err != nil {
						t.Fatal(err)
					}
				}
				run := c.run
				for _, text := range tc.want {
					s.wantCompleted(s.wait(run), 0)
					want, err := time.Parse("2006-01-02 15:04", "2030-01-"+text)
					if err != nil {
						t.Fatal(err)
					}
					run = s.next(run)
					wantAt(t, "a harvest", run.CreatedAt, want)
					if run.Trigger != domain.TriggerSchedule || run.Priority != domain.PriorityLow {
						t.Errorf("the harvest is %+v", run)
					}
				}
			})
		})
	}
}

func TestOffMeansOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newField(2, 1000), harvesting(t, `{"spread":"0s"}`, 1000))
		off, on := s.signs("off", "one"), s.signs("on", "two")
		if _, err := s.svc.Engine.SetSchedule(t.Context(), off.account.ID, policy(t, `{"off":true}`)); err != nil {
			t.Fatal(err)
		}
		pass(24 * time.Hour)
		if n := len(s.allRuns(off.account)); n != 1 {
			t.Errorf("an account that is off had %d runs", n)
		}
		if n := len(s.allRuns(on.account)); n < 20 {
			t.Errorf("an account that is on had %d runs", n)
		}
		// On again: it was due long ago.
		h, err := s.svc.Engine.SetSchedule(t.Context(), off.account.ID, schedule.Policy{})
		if err != nil || h.At.IsZero() {
			t.Fatal(h, err)
		}
		wantAt(t, "the harvest", s.next(off.run).CreatedAt, h.At)
	})
}
