package state_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

func at(minute int) time.Time {
	return time.Date(2026, 3, 1, 12, minute, 0, 123457000, time.UTC)
}

func attempt(job int64, to domain.JobStatus) *state.Attempt {
	return &state.Attempt{Outcome: state.Outcome{Job: job, Attempt: 1, At: at(1), To: to}}
}

func running(run, account, expected int64) *state.Held {
	return &state.Held{Run: run, Account: account, Expected: expected, Priority: domain.PriorityHigh, Status: domain.JobRunning, Attempt: 1}
}

// admit adds an attempt that may be applied.
func admit(t *testing.T, c *state.Commit, a *state.Attempt, h *state.Held) *state.Attempt {
	t.Helper()
	if !c.Admit(a, h) {
		t.Fatalf("job %d is not admitted: %v", a.Outcome.Job, a.Err)
	}
	return a
}

func TestCommitCounts(t *testing.T) {
	c := state.NewCommit(nil)
	c.Begin(1, &state.Claim{})
	good := attempt(10, domain.JobSucceeded)
	good.Outcome.Items = 7
	admit(t, c, good, running(1, 5, 3))
	admit(t, c, attempt(11, domain.JobFailed), running(1, 5, 1))
	admit(t, c, attempt(12, domain.JobReady), running(1, 5, 1))
	admit(t, c, attempt(13, domain.JobPaused), running(2, 5, 1))
	if c.Admit(attempt(14, domain.JobSucceeded), nil) || c.Admit(attempt(15, domain.JobSucceeded), &state.Held{Status: domain.JobSucceeded, Attempt: 1}) {
		t.Error("what may not be applied is admitted")
	}
	want := domain.RunCounts{Calls: 1, Known: -2, Pending: -2, Succeeded: 1, Failed: 1, Documents: 7}
	if got := c.Run(1).RunCounts; got != want {
		t.Errorf("run 1 changes by %+v, want %+v", got, want)
	}
	if got := c.Run(2).RunCounts; got != (domain.RunCounts{}) {
		t.Errorf("a job that waits for a person counts %+v", got)
	}
	if ids := c.RunIDs(); !slices.Equal(ids, []int64{1, 2}) || len(c.Attempts) != 4 {
		t.Errorf("runs %v, %d attempts", ids, len(c.Attempts))
	}
}

func TestCommitCreates(t *testing.T) {
	c := state.NewCommit(nil)
	a := attempt(10, domain.JobSucceeded)
	a.Outcome.Next = []domain.JobSpec{{Type: "LIST", Resource: "a", Expected: 4}, {Type: "LIST", Resource: "b", Priority: domain.PriorityLow}}
	admit(t, c, a, running(1, 5, 1))
	jobs := c.Next()
	if len(jobs) != 2 || jobs[0].Priority != domain.PriorityHigh || jobs[1].Priority != domain.PriorityLow || jobs[1].Expected != 1 ||
		jobs[0].ParentID != 10 || jobs[0].RunID != 1 || jobs[0].AccountID != 5 || jobs[0].Status != domain.JobReady || jobs[0].Params == nil {
		t.Fatalf("next are %+v", jobs)
	}
	jobs[0].ID = 20
	c.Created(jobs[:1]) // the other was there
	if got := c.Run(1).RunCounts; got != (domain.RunCounts{Known: 4, Pending: 0, Succeeded: 1}) {
		t.Errorf("run changes by %+v", got)
	}
	if len(a.Effect.Created) != 1 || a.Effect.Created[0].ID != 20 || !reflect.DeepEqual(a.Effect.Rows, jobs[:1]) {
		t.Errorf("effect %+v", a.Effect)
	}
	// What is canceled in the same commit is not handed out.
	c.Dropped(a, []domain.Job{{ID: 20, JobSpec: domain.JobSpec{Expected: 4}}, {ID: 3, JobSpec: domain.JobSpec{Expected: 1}}})
	if got := c.Run(1).RunCounts; got != (domain.RunCounts{Known: 1, Pending: -2, Succeeded: 1, Canceled: 2}) {
		t.Errorf("after dropping, run changes by %+v", got)
	}
	if len(a.Effect.Created) != 0 || !slices.Equal(a.Effect.Canceled, []int64{20, 3}) {
		t.Errorf("effect after dropping %+v", a.Effect)
	}
}

func TestCommitHolds(t *testing.T) {
	c := state.NewCommit(nil)
	done := admit(t, c, attempt(10, domain.JobSucceeded), running(1, 5, 1))
	if look := c.Leaving(); len(look) != 0 {
		t.Errorf("looks at accounts %v though nothing waits", look)
	}
	back := admit(t, c, attempt(11, domain.JobReady), running(2, 4, 1))
	pausing := attempt(12, domain.JobPaused)
	pausing.Outcome.PauseAccount = "401"
	admit(t, c, pausing, running(3, 6, 1))
	c.Created([]domain.Job{{ID: 20, ParentID: 10, RunID: 1, AccountID: 5}})
	if look := c.Leaving(); !slices.Equal(look, []int64{4, 5, 6}) {
		t.Errorf("looks at accounts %v", look)
	}
	c.Hold(5, []int64{20, 21})
	if done.Effect.Created != nil || !slices.Equal(done.Effect.Canceled, []int64{20, 21}) || back.Effect.Canceled != nil {
		t.Errorf("held: %+v, %+v", done.Effect, back.Effect)
	}
}

func TestCommitCloses(t *testing.T) {
	for name, c := range map[string]struct {
		run    domain.Run
		fail   string
		closes bool
		to     domain.RunStatus
	}{
		"the last job ended":    {domain.Run{Status: domain.RunRunning}, "", true, domain.RunFinalizing},
		"more is to be done":    {domain.Run{Status: domain.RunRunning, RunCounts: domain.RunCounts{Pending: 1}}, "", false, 0},
		"its root is gone":      {domain.Run{Status: domain.RunRunning, RunCounts: domain.RunCounts{Pending: 2}}, "no such user", true, domain.RunFailed},
		"it was canceled first": {domain.Run{Status: domain.RunCanceled}, "", false, 0},
		"it failed first":       {domain.Run{Status: domain.RunFailed}, "no such user", false, 0},
	} {
		commit, a := state.NewCommit(nil), attempt(10, domain.JobFailed)
		a.Outcome.FailRun = c.fail
		admit(t, commit, a, running(1, 5, 1))
		c.run.ID, c.run.Failed = 1, 1
		if got := commit.Run(1).Closes(&c.run); got != c.closes {
			t.Errorf("%s: closes %t", name, got)
		}
		if !c.closes {
			continue
		}
		if err := commit.Close(&c.run, []int64{8, 9}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.run.Status != c.to || c.run.Pending != 0 || c.run.Canceled != 2 || c.run.Known != 3 || c.run.Reason != c.fail {
			t.Errorf("%s: run is %+v", name, c.run)
		}
		if a.Effect.Closed == nil || *a.Effect.Closed != c.run || !slices.Equal(a.Effect.Canceled, []int64{8, 9}) {
			t.Errorf("%s: effect %+v", name, a.Effect)
		}
		if closed := commit.Closed(); len(closed) != 1 || closed[0] != c.run {
			t.Errorf("%s: closed %+v", name, closed)
		}
	}
	claims := state.NewCommit(nil)
	claims.Begin(1, &state.Claim{})
	if claims.Run(1).Closes(&domain.Run{Status: domain.RunRunning}) || claims.Closed() != nil {
		t.Error("a claim closes a run")
	}
}

func TestLost(t *testing.T) {
	for lost, want := range map[int]domain.JobStatus{0: domain.JobReady, 2: domain.JobReady, 3: domain.JobFailed, 4: domain.JobFailed} {
		a := state.Lost(&domain.Job{ID: 1, Attempt: 9, Lost: lost}, 3, at(1))
		if a.Outcome.To != want || a.Outcome.Attempt != 9 || (a.Outcome.Failure != nil) != (want == domain.JobFailed) {
			t.Errorf("lost %d times: %+v", lost, a.Outcome)
		}
		if !state.NewCommit(nil).Admit(a, &state.Held{Status: domain.JobRunning, Attempt: 9}) {
			t.Errorf("lost %d times: %v", lost, a.Err)
		}
	}
}

func TestRunsBeginAndEnd(t *testing.T) {
	run := domain.Run{ID: 1, AccountID: 5, Status: domain.RunCreated, Priority: domain.PriorityLow}
	jobs, err := state.Plan(&run, []domain.JobSpec{{Resource: "a", Expected: 2}, {Resource: "b"}}, at(1))
	if err != nil || run.Status != domain.RunRunning || len(jobs) != 2 || jobs[0].Priority != domain.PriorityLow || jobs[0].ParentID != 0 {
		t.Fatalf("planned %+v, run %+v, %v", jobs, run, err)
	}
	if state.Planned(&run, jobs); run.RunCounts != (domain.RunCounts{Known: 3, Pending: 2}) {
		t.Errorf("counts %+v", run.RunCounts)
	}
	if err := state.EndRun(&run, domain.RunCanceled, "enough", at(2).Add(99), 2); err != nil || !run.FinishedAt.Equal(at(2)) ||
		run.RunCounts != (domain.RunCounts{Known: 2, Canceled: 2}) || run.Reason != "enough" {
		t.Errorf("ended %+v, %v", run, err)
	}
	for _, status := range []domain.RunStatus{domain.RunFinalizing, domain.RunCompleted, domain.RunFailed, domain.RunCanceled} {
		ended := domain.Run{Status: status}
		if _, err := state.Plan(&ended, nil, at(1)); domain.CodeOf(err) != domain.CodeIllegalMove || ended.Status != status {
			t.Errorf("a run that is %s is planned: %v", status, err)
		}
		if err := state.MayPrioritize(&ended); (err == nil) != status.Active() {
			t.Errorf("a run that is %s gets another priority: %v", status, err)
		}
	}
	busy := &domain.Run{ID: 7}
	for _, both := range [][2]*domain.Run{{busy, {}}, {{}, busy}} {
		if err := state.NewRun(both[0], both[1]); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("begins beside %+v: %v", both, err)
		}
	}
	if err := state.NewRun(&domain.Run{}, &domain.Run{}); err != nil {
		t.Errorf("does not begin: %v", err)
	}
}

func TestRunsGoOn(t *testing.T) {
	failed := domain.Job{ID: 3, Status: domain.JobFailed, ErrorKind: domain.FailureServer, Failures: 2, Lost: 1, JobSpec: domain.JobSpec{Expected: 2}}
	kinds := []domain.FailureKind{domain.FailureServer}
	ended := domain.Run{ID: 1, Status: domain.RunCompleted, FinishedAt: at(1), RunCounts: domain.RunCounts{Known: 1, Failed: 1}}
	run := ended
	back, err := state.Resume(&run, []domain.Job{failed}, kinds, 0, at(2))
	again := domain.RunCounts{Known: 2, Pending: 1}
	if err != nil || len(back) != 1 || run.Status != domain.RunRunning || run.RunCounts != again || !run.FinishedAt.IsZero() {
		t.Errorf("resumed %+v with %+v, %v", run, back, err)
	}
	for name, c := range map[string]struct {
		jobs  []domain.Job
		other int64
	}{"nothing to go on with": {nil, 0}, "another run": {[]domain.Job{failed}, 9}} {
		run = ended
		if _, err := state.Resume(&run, c.jobs, kinds, c.other, at(2)); domain.CodeOf(err) != domain.CodeConflict || run != ended {
			t.Errorf("%s: %+v, %v", name, run, err)
		}
	}
	lacks := domain.Run{Status: domain.RunFailed, Reason: domain.NoStatistics + "x"}
	if back, err := state.Resume(&lacks, nil, kinds, 0, at(2)); err != nil || back != nil || lacks.Status != domain.RunFinalizing {
		t.Errorf("a run without statistics: %+v, %v", lacks, err)
	}
	run = ended
	job := failed
	if err := state.RetryJob(&job, &run, 0, at(2)); err != nil || run.RunCounts != again || run.Status != domain.RunRunning ||
		job.Status != domain.JobReady || job.Failures+job.Lost != 0 {
		t.Errorf("retried %+v in %+v, %v", job, run, err)
	}
	job, run = failed, ended
	if err := state.RetryJob(&job, &run, 9, at(2)); domain.CodeOf(err) != domain.CodeConflict || run != ended {
		t.Errorf("retried beside another run: %v", err)
	}
}

func TestJobsFollowTheirAccount(t *testing.T) {
	for to, want := range map[domain.AccountState]domain.JobStatus{
		domain.AccountActive: domain.JobReady, domain.AccountPaused: domain.JobPaused, domain.AccountDeleted: 0,
	} {
		become, from := state.Follow(to)
		if become != want || (len(from) == 0) != (want == 0) {
			t.Errorf("%s: %s from %v", to, become, from)
		}
		for _, s := range from {
			if _, err := domain.MoveJob(s, become); err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
	}
}
