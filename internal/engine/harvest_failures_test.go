package engine_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/schedule"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
)

// TestFailedJobsAreResumed: half an hour later the same run goes on with what
// failed, and nothing is paid for twice.
func TestFailedJobsAreResumed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		o := harvesting(t, `{"spread":"0s"}`, 0)
		o.Quota = quota.Config{}
		w := newBubbleWorld(t, small(1), o)
		login := w.sim.Logins()[0]
		w.sim.FailNext(w.of(login, "/events"), 5, sim.ServerError(http.StatusInternalServerError))
		c := w.signup(login)
		failed := w.wait(c.run)
		w.wantCompleted(failed, 1)
		h := w.plans(c.account)
		if h.Resume != c.run.ID || h.Tries != 1 || h.Priority != domain.PriorityHigh || !strings.Contains(h.Reason, "1 of ") {
			t.Errorf("planned is %+v", h)
		}
		wantAt(t, "the plan", h.At, failed.FinishedAt.Add(30*time.Minute))
		before := w.sim.Audit()
		w.until("the run to go on", func() bool { return w.stored(c.run).FinishedAt != failed.FinishedAt })
		wantAt(t, "the resumption", time.Now(), h.At)
		run := w.wantWhole(c)
		if run.ID != c.run.ID || run.Priority != domain.PriorityHigh || len(w.allRuns(c.account)) != 1 {
			t.Errorf("the run is %+v, one of %d", run, len(w.allRuns(c.account)))
		}
		// The same refusal was paid for again and again, but no answer was.
		after := w.sim.Audit()
		if after.Calls != before.Calls+1 || after.Repeated != 0 || after.RepeatedQueries != 0 || after.Violations != 0 {
			t.Errorf("before the resumption the upstream counted %+v, then %+v", before, after)
		}
		if h := w.plans(c.account); h.Resume != 0 || h.Priority != domain.PriorityLow || h.After != run.ID {
			t.Errorf("after that %+v is planned", h)
		}
	})
}

func server(c source.Call) *source.Result {
	return &source.Result{Verdict: source.Retry, Failure: &domain.Failure{Kind: domain.FailureServer, Message: "500 for " + c.Job.Resource}}
}

// TestInVain: after the last resumption a new run is begun in its turn.
func TestInVain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := newField(3, 1000)
		f.fails = func(c source.Call) *source.Result {
			if c.Job.Resource == "item:1" {
				return server(c)
			}
			return nil
		}
		s := started(t, f, harvesting(t, `{"spread":"0s"}`, 1000))
		c := s.signs("octocat", "secret")
		ended := s.wait(c.run)
		for try := range schedule.MaxResumes {
			h := s.plans(c.account)
			if h.Resume != c.run.ID || h.Tries != try+1 || h.Priority != domain.PriorityHigh {
				t.Fatalf("after %d resumptions %+v is planned", try, h)
			}
			// Planning anew is not trying again.
			if again, err := s.svc.Engine.SetSchedule(t.Context(), c.account.ID, schedule.Policy{}); err != nil || again.Tries != h.Tries {
				t.Errorf("planned again: %+v, %v", again, err)
			}
			finished := ended.FinishedAt
			s.until("another end", func() bool {
				ended = s.stored(c.run)
				return !ended.Status.Active() && ended.FinishedAt.After(finished)
			})
			wantWithin(t, "a resumption", ended.FinishedAt.Sub(finished), 30*time.Minute, 31*time.Minute)
			s.wantCompleted(ended, 1)
		}
		h := s.plans(c.account)
		if h.Resume != 0 || h.Priority != domain.PriorityLow || !strings.Contains(h.Reason, "also after 5 retries") {
			t.Errorf("in the end %+v is planned", h)
		}
		if run := s.next(c.run); run.Priority != domain.PriorityLow || run.Trigger != domain.TriggerSchedule {
			t.Errorf("in the end came %+v", run)
		}
		counts := map[string]int{}
		for _, one := range f.seen(func(one called) bool { return one.run == c.run.ID }) {
			counts[one.item]++
		}
		if counts["item:0"] != 1 || counts["item:2"] != 1 || counts["item:1"] != 5*(schedule.MaxResumes+1) {
			t.Errorf("calls were %v", counts)
		}
	})
}

func wantWithin(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s took %s, want %s to %s", what, got, least, most)
	}
}

// TestWhatCannotPassIsNotResumed: beside it, what can is.
func TestWhatCannotPassIsNotResumed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sim.Fault{
		"410":            {Status: http.StatusGone, Body: `{"message":"Issues are disabled"}`},
		"403 permission": {Status: http.StatusForbidden, Body: `{"message":"Resource not accessible by personal access token"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				o := harvesting(t, `{"spread":"0s"}`, 0)
				o.Quota = quota.Config{}
				w := newBubbleWorld(t, small(2), o)
				logins := w.sim.Logins()
				w.sim.FailNext(w.of(logins[0], "/issues"), 1, fault)
				c := w.signup(logins[0])
				w.wantCompleted(w.wait(c.run), 1)
				if h := w.plans(c.account); h.Resume != 0 || h.Priority != domain.PriorityLow {
					t.Errorf("planned is %+v", h)
				}
				w.sim.FailNext(w.of(logins[1], "/issues"), 1, fault)
				w.sim.FailNext(w.of(logins[1], "/events"), 5, sim.ServerError(http.StatusBadGateway))
				mixed := w.signup(logins[1])
				first := w.wait(mixed.run)
				w.wantCompleted(first, 2)
				w.until("its second end", func() bool {
					run := w.stored(mixed.run)
					return !run.Status.Active() && run.FinishedAt.After(first.FinishedAt)
				})
				w.wantCompleted(w.stored(mixed.run), 1)
				if failed := w.jobs(mixed.run, domain.JobFailed); len(failed) != 1 || failed[0].Attempt != 1 {
					t.Errorf("what could not pass was tried again: %+v", failed)
				}
				if h := w.plans(mixed.account); h.Resume != 0 {
					t.Errorf("in the end %+v is planned", h)
				}
			})
		})
	}
}

// TestUnknownLoginIsNotAskedForAgain: a first run whose root is not found ends
// FAILED and pauses its account, whose login is most likely mistyped. One that
// was collected before is looked for once more.
func TestUnknownLoginIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		o := harvesting(t, `{"spread":"0s"}`, 0)
		o.Quota = quota.Config{}
		w := newBubbleWorld(t, small(1), o)
		unknown := func(times int) {
			w.sim.FailNext(sim.PathContains("/events"), times, sim.Fault{Status: http.StatusNotFound, Body: `{"message":"Not Found"}`})
		}
		stored := func(c collection) domain.Account {
			a, err := w.svc.State.Account(t.Context(), c.account.ID)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		// Each run asks twice before it believes it.
		unknown(2)
		c := w.signup(w.sim.Logins()[0])
		if run := w.wait(c.run); run.Status != domain.RunFailed {
			t.Errorf("the run ended as %+v", run)
		}
		if a := stored(c); a.State != domain.AccountPaused || !strings.Contains(a.Reason, "right login") {
			t.Errorf("the account is %+v", a)
		}
		pass(48 * time.Hour)
		if runs := w.allRuns(c.account); len(runs) != 1 {
			t.Errorf("%d runs of a login that nobody has", len(runs))
		}

		if err := w.svc.Engine.ResumeAccount(t.Context(), c.account.ID); err != nil {
			t.Fatal(err)
		}
		collected := w.next(c.run)
		w.wantCompleted(w.wait(collected), 0)
		// Not found in one run is an accident, in two it is not.
		unknown(4)
		first := w.next(collected)
		if run := w.wait(first); run.Status != domain.RunFailed {
			t.Errorf("the run ended as %+v", run)
		}
		if a := stored(c); a.State != domain.AccountActive {
			t.Errorf("after one run that did not find it the account is %+v", a)
		}
		if h := w.plans(c.account); h.Resume != 0 || h.Priority != domain.PriorityLow || h.After != first.ID {
			t.Errorf("planned is %+v", h)
		}
		second := w.next(first)
		if run := w.wait(second); run.Status != domain.RunFailed {
			t.Errorf("the run ended as %+v", run)
		}
		if a := stored(c); a.State != domain.AccountPaused {
			t.Errorf("after two the account is %+v", a)
		}
	})
}
