package engine_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

// passingFaults are answers that may be better next time.
var passingFaults = []struct {
	name  string
	fault sim.Fault
	kind  domain.FailureKind
	says  string
}{
	{"malformed JSON", sim.MalformedJSON(), domain.FailureMalformed, "not as expected"},
	{"truncated body", sim.TruncatedBody(), domain.FailureMalformed, "cut off"},
	{"server error", sim.ServerError(500), domain.FailureServer, "GitHub answers 500 Server Error"},
	{"HTML error page", sim.HTMLErrorPage(), domain.FailureServer, "GitHub answers 502 with an HTML page"},
	{"connection reset", sim.ConnectionReset(), domain.FailureConnection, "the connection was closed before an answer came"},
	{"timeout", sim.Delayed(time.Minute), domain.FailureTimeout, "within 100ms"},
}

// faultyWorld has two accounts and a source that loses patience soon if that is
// the fault: on a busy machine it would do so for no fault at all.
func faultyWorld(t *testing.T, kind domain.FailureKind) *world {
	t.Helper()
	patience := time.Minute
	if kind == domain.FailureTimeout {
		patience = 100 * time.Millisecond
	}
	upstream := sim.New(small(2))
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return worldOf(t, upstream, github.Options{BaseURL: server.URL, Timeout: patience}, wiring.Options{Engine: quick()})
}

func TestPassingFaultIsRetried(t *testing.T) {
	for _, f := range passingFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := faultyWorld(t, f.kind)
			logins := w.sim.Logins()
			w.sim.FailNext(w.of(logins[0], "/events"), 2, f.fault)
			for _, c := range w.signupAll() {
				w.wantWhole(c)
			}
			retried := w.svc.Engine.Counters().Retried.Load()
			if retried < 2 || retried > 2 && f.kind != domain.FailureTimeout {
				t.Errorf("%d retries, want 2", retried)
			}
		})
	}
}

func TestLastingFaultFailsTheJobAlone(t *testing.T) {
	for _, f := range passingFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := faultyWorld(t, f.kind)
			logins := w.sim.Logins()
			w.sim.FailNext(w.of(logins[0], "/events"), 1<<30, f.fault)
			all := w.signupAll()
			w.wantWhole(all[1])
			run := w.wait(all[0].run)
			w.wantCompleted(run, 1)

			failed := w.jobs(run, domain.JobFailed)
			if len(failed) != 1 {
				t.Fatalf("%d jobs failed", len(failed))
			}
			job := failed[0]
			if job.ErrorKind != f.kind || !strings.Contains(job.Error, f.says) {
				t.Errorf("the job says %q: %q, want %q: …%s…", job.ErrorKind, job.Error, f.kind, f.says)
			}
			if job.Failures != 5 || job.Attempt != 5 {
				t.Errorf("the job failed %d times in %d attempts, want 5", job.Failures, job.Attempt)
			}
			w.wantRetryCompletes(all[0], job)
		})
	}
}

// wantRetryCompletes heals the upstream and brings the job back.
func (w *world) wantRetryCompletes(c collection, job domain.Job) {
	w.t.Helper()
	w.sim.ClearHooks()
	back, err := w.svc.Engine.RetryJob(w.t.Context(), job.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if back.Failures != 0 {
		w.t.Errorf("the job came back with %d failures", back.Failures)
	}
	w.wantWhole(c)
	if _, err := w.svc.Engine.RetryJob(w.t.Context(), job.ID); domain.CodeOf(err) != domain.CodeIllegalMove {
		w.t.Errorf("a job that succeeded could be retried: %v", err)
	}
}

func TestUnknownLoginFailsTheRun(t *testing.T) {
	t.Parallel()
	w := faultyWorld(t, domain.FailureNone)
	stranger := w.signupWith("nobody-of-that-name", w.sim.Token2(w.sim.Logins()[0]))
	others := w.signupAll()
	run := w.wait(stranger.run)
	if run.Status != domain.RunFailed || !strings.Contains(run.Reason, "nobody-of-that-name") {
		t.Errorf("the run ended %s with reason %q", run.Status, run.Reason)
	}
	if left := w.jobs(run, domain.JobReady, domain.JobPaused); len(left) != 0 || run.Pending != 0 {
		t.Errorf("%d jobs of it still wait", len(left))
	}
	for _, c := range others {
		w.wantWhole(c)
	}
}

func TestBadTokenPausesUntilItIsRenewed(t *testing.T) {
	t.Parallel()
	w := faultyWorld(t, domain.FailureNone)
	logins := w.sim.Logins()
	w.sim.RevokeToken(w.sim.Token(logins[0]))
	all := w.signupAll()
	w.wantWhole(all[1])
	w.until("the pause", func() bool {
		a, err := w.raw.Account(t.Context(), all[0].account.ID)
		return err == nil && a.State == domain.AccountPaused &&
			len(w.jobs(all[0].run, domain.JobPaused)) == len(w.jobs(all[0].run))
	})
	run := w.stored(all[0].run)
	p, err := w.svc.Engine.Progress(t.Context(), run)
	if err != nil || run.Status != domain.RunRunning {
		t.Fatalf("the run is %s, error %v", run.Status, err)
	}
	if len(p.Waits) != 1 || !strings.Contains(p.Waits[0].Reason, "does not accept the token of "+logins[0]) || !p.Waits[0].Until.IsZero() {
		t.Errorf("the progress says %+v", p.Waits)
	}
	if _, err := w.svc.Engine.StartRun(t.Context(), all[0].account.ID, domain.TriggerManual, domain.PriorityHigh); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a paused account could be started: %v", err)
	}
	_, err = w.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "github", Login: logins[0], Token: w.sim.Token2(logins[0])})
	if err != nil {
		t.Fatal(err)
	}
	w.wantWhole(all[0])
}

func TestUnreachableUpstreamIsWaitedFor(t *testing.T) {
	t.Parallel()
	upstream := sim.New(small(2))
	address := testkit.FreeAddress(t)
	w := worldOf(t, upstream, github.Options{BaseURL: "http://" + address}, wiring.Options{Engine: quick()})
	all := w.signupAll()
	tries := 2 * w.opt.Engine.MaxAttempts * w.opt.Engine.Workers
	w.until("many tries and a word about it", func() bool {
		p, err := w.svc.Engine.Progress(t.Context(), w.stored(all[0].run))
		return err == nil && len(p.Waits) > 0 && strings.Contains(p.Waits[0].Reason, "connection refused") &&
			w.svc.Engine.Counters().Retried.Load() > int64(max(tries, 20))
	})
	for _, c := range all {
		for _, job := range w.jobs(c.run) {
			if job.Failures != 0 || job.Status.Ended() {
				t.Errorf("job %d is %s with %d failures, though it was never answered", job.ID, job.Status, job.Failures)
			}
		}
	}
	serve(t, listen(t, address), upstream)
	for _, c := range all {
		w.wantWhole(c)
	}
	w.wantNoWaste()
}
