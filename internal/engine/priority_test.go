package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// TestRunGoesOnAfterQuota: a LOW run whose ration is spent goes on at the reset,
// as HIGH, and ends before one of the same owner that was begun later.
func TestRunGoesOnAfterQuota(t *testing.T) {
	t.Parallel()
	for margin, wait := range map[string]time.Duration{"": 0, "7m": 7 * time.Minute} {
		t.Run("margin "+margin, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				const items, limit = 24, 20
				f := newField(items, limit)
				// These are found in the second window; as LOW ones they would
				// wait behind all of the second run.
				f.leads = []string{"item:20", "item:21", "item:22", "item:23"}
				own := `{"off":true}`
				if margin != "" {
					own = fmt.Sprintf(`{"off":true,"after_quota":%q}`, margin)
				}
				s := started(t, f, harvesting(t, own, limit))
				pass(10 * time.Minute)
				first := s.run(s.putShared("first"))
				pass(time.Minute)
				second := s.run(s.putShared("second"))
				pass(time.Minute)
				if run := s.stored(first); run.Priority != domain.PriorityHigh || run.Status != domain.RunRunning {
					t.Errorf("the run that waits is %+v", run)
				}
				if run := s.stored(second); run.Priority != domain.PriorityLow {
					t.Errorf("the run that was begun later is %+v", run)
				}
				for _, job := range s.jobs(first, domain.JobReady) {
					if job.Priority != domain.PriorityHigh {
						t.Errorf("job %d waits with priority %s", job.ID, job.Priority)
					}
				}
				firstEnded, secondEnded := s.wait(first), s.wait(second)
				s.wantCompleted(firstEnded, 0)
				s.wantCompleted(secondEnded, 0)
				if !firstEnded.FinishedAt.Before(secondEnded.FinishedAt) {
					t.Error("the run that was begun later ended first")
				}
				wantWindows(t, f.seen(nil), first.ID, items+len(f.leads), limit, wait)
			})
		})
	}
}

// putShared stores an account that draws on the ration of all others of these.
func (s *service) putShared(login string) domain.Account {
	s.t.Helper()
	a, err := s.svc.Engine.PutAccount(s.t.Context(), engine.Signup{Source: "script", Login: login, Token: "shared"})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// wantWindows checks that calls came in full windows, so long after the reset,
// and those of a run before all others, but for the share of LOW and for what
// four workers had claimed, leased and asked for ahead when a window ended.
func wantWindows(t *testing.T, calls []called, first int64, jobs, limit int, wait time.Duration) {
	t.Helper()
	if len(calls) != 2*jobs {
		t.Errorf("%d calls for %d jobs", len(calls), 2*jobs)
	}
	others := 0
	left := jobs
	for i, c := range calls {
		if i >= limit && i%limit == 0 {
			reset := calls[i-1].at.Truncate(time.Hour).Add(time.Hour)
			wantAt(t, fmt.Sprint("call ", i), c.at, reset.Add(wait))
		}
		switch {
		case c.run == first:
			left--
		case left > 0:
			others++
		}
	}
	// The share of LOW is counted over all lanes, so that it may be due at once.
	if most := (jobs-limit)/9 + 1 + 3*4; others > most {
		t.Errorf("%d calls of the later run came before the end of the first, want at most %d", others, most)
	}
}

// gate is a source with one worker's calls in order. Until it is opened, its
// first call waits.
type gate struct {
	*enginetest.Script
	open  chan struct{}
	began chan struct{}
	order []int64
	login []string
}

// newGate makes runs of items, each of which leads to as many others.
func newGate(items, children int) *gate {
	g := &gate{open: make(chan struct{}), began: make(chan struct{}, 1)}
	g.Script = &enginetest.Script{}
	for i := range items {
		g.Roots = append(g.Roots, enginetest.Item("ITEM", fmt.Sprint("item:", i)))
	}
	g.Answer = func(_ context.Context, c source.Call) source.Result {
		if len(g.order) == 0 {
			g.began <- struct{}{}
			<-g.open
		}
		g.order, g.login = append(g.order, c.Run.ID), append(g.login, c.Run.Login)
		r := source.Result{Verdict: source.Done}
		if c.Job.Type == "ITEM" {
			for i := range children {
				r.Next = append(r.Next, enginetest.Item("CHILD", fmt.Sprint(c.Job.Resource, "/", i)))
			}
		}
		return r
	}
	return g
}

// before counts the calls of one run that came before another's last.
func (g *gate) before(of, last int64) (n int) {
	end := 0
	for i, run := range g.order {
		if run == last {
			end = i
		}
	}
	for _, run := range g.order[:end] {
		if run == of {
			n++
		}
	}
	return n
}

// begin starts a run of an account that shares its ration.
func (s *service) begin(login string, p domain.Priority) domain.Run {
	s.t.Helper()
	run, err := s.svc.Engine.StartRun(s.t.Context(), s.putShared(login).ID, domain.TriggerManual, p)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// TestPriorityIsChanged: of four runs of one ration, three of one priority, the
// one that is changed goes first or last, with the children it creates later,
// but for the share of LOW, which is one call in ten.
func TestPriorityIsChanged(t *testing.T) {
	t.Parallel()
	const items, children = 30, 2
	const calls = items * (1 + children)
	for name, tc := range map[string]struct{ from, to, others domain.Priority }{
		"raised among HIGH":  {domain.PriorityLow, domain.PriorityHigh, domain.PriorityHigh},
		"raised among LOW":   {domain.PriorityLow, domain.PriorityHigh, domain.PriorityLow},
		"lowered among HIGH": {domain.PriorityHigh, domain.PriorityLow, domain.PriorityHigh},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				g := newGate(items, children)
				s := started(t, g, wiring.Options{Engine: engine.Config{Workers: 1}})
				other := []domain.Run{s.begin("other", tc.others)}
				<-g.began
				changed := s.begin("changed", tc.from)
				other = append(other, s.begin("another", tc.others))
				run, err := s.svc.Engine.SetRunPriority(t.Context(), changed.ID, tc.to)
				if err != nil || run.Priority != tc.to {
					t.Fatal(run, err)
				}
				if p, err := s.svc.Engine.Progress(t.Context(), s.stored(changed)); err != nil || p.Priority != tc.to {
					t.Errorf("the progress shows %s, %v", p.Priority, err)
				}
				close(g.open)
				for _, one := range append(other, changed) {
					s.wantCompleted(s.wait(one), 0)
				}
				for _, job := range s.jobs(changed) {
					if job.Type == "CHILD" && job.Priority != tc.to {
						t.Fatalf("a child has priority %s", job.Priority)
					}
				}
				wantOrder(t, g, changed.ID, other, tc.to, tc.others, calls)
			})
		})
	}
}

// wantOrder checks who came before whom. What was leased before the change, two
// jobs with one worker, comes as it was.
func wantOrder(t *testing.T, g *gate, changed int64, other []domain.Run, is, others domain.Priority, calls int) {
	t.Helper()
	const ahead = 4
	switch is {
	case others:
		// They wait in one queue: nobody is held back for longer than the rest.
		if n := g.before(changed, other[1].ID); n < calls/3 {
			t.Errorf("only %d of %d calls of the raised run came before the end of one begun later", n, calls)
		}
	case domain.PriorityHigh:
		n := 0
		for _, run := range other {
			n += g.before(run.ID, changed)
		}
		if n > calls/9+ahead {
			t.Errorf("%d calls of LOW runs came before the end of the raised one, which took %d", n, calls)
		}
	default:
		n := max(g.before(changed, other[0].ID), g.before(changed, other[1].ID))
		// The bounded share, and not less than that.
		if share := 2 * calls / 9; n > share+ahead || n < share-ahead {
			t.Errorf("%d calls of the lowered run came before the end of HIGH ones that took %d, want about %d", n, 2*calls, share)
		}
	}
}

// TestPriorityOfWhatHasEnded cannot be changed, nor that of what is not there.
func TestPriorityOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newItems(2), wiring.Options{})
		run := s.wait(s.run(s.account("octocat")))
		if _, err := s.svc.Engine.SetRunPriority(t.Context(), run.ID, domain.PriorityHigh); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("an ended run: %v", err)
		}
		if _, err := s.svc.Engine.ResumeRun(t.Context(), run.ID, domain.PriorityHigh); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("a run without failures: %v", err)
		}
		if _, err := s.svc.Engine.SetRunPriority(t.Context(), 99, domain.PriorityHigh); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("a run that is not there: %v", err)
		}
	})
}
