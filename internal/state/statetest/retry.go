package statetest

import (
	"sluice/internal/domain"
	"sluice/internal/state"
)

var retryCases = []testCase{
	{"RetryJobInARunningRun", retryRunning},
	{"RetryJobReopensItsRun", retryReopens},
	{"RetryJobOfAFailedRun", retryFailedRun},
	{"RetryJobConflicts", retryConflicts},
	{"RetryJobRefused", retryRefused},
}

var recoverCases = []testCase{
	{"RecoverRunning", recoverRunning},
	{"RecoverRunningUnderAPausedAccount", recoverPaused},
	{"RecoverRunningGivesUp", recoverGivesUp},
	{"RecoverRunningClosesARun", recoverCloses},
	{"SurvivesACrash", survivesCrash},
}

func retryRunning(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	o := x.outcome(x.claim(refs[0].ID), domain.JobFailed)
	o.CountFailure = true
	x.finish(o)
	ref, err := x.RetryJob(x.Context(), refs[0].ID)
	x.ok(err)
	want(x, "ref", ref, refs[0])
	j := x.job(refs[0].ID)
	want(x, "status", j.Status, domain.JobReady)
	want(x, "failures", j.Failures, 0)
	want(x, "end", j.FinishedAt.IsZero(), true)
	want(x, "attempt", j.Attempt, int64(1))
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 2, Calls: 1})
	want(x, "attempt after the retry", x.claim(ref.ID).Attempt, int64(2))
}

func retryReopens(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	x.succeed(refs[0].ID)
	if x.fail(refs[1].ID).Closed == nil {
		x.Fatalf("the run did not close")
	}
	_, err := x.RetryJob(x.Context(), refs[1].ID)
	x.wantCode(err, domain.CodeConflict)
	want(x, "a run whose statistics are due", x.wantCounts(r.ID).Status, domain.RunFinalizing)
	_, err = x.CompleteRun(x.Context(), r.ID, []byte("1"))
	x.ok(err)
	_, err = x.RetryJob(x.Context(), refs[1].ID)
	x.ok(err)
	got := x.wantCounts(r.ID)
	want(x, "status", got.Status, domain.RunRunning)
	want(x, "end", got.FinishedAt.IsZero(), true)
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 2, Pending: 1, Succeeded: 1, Calls: 2})
	closed := x.succeed(refs[1].ID).Closed
	if closed == nil {
		x.Fatalf("the run did not close again")
	}
	want(x, "counts", closed.RunCounts, domain.RunCounts{Known: 2, Succeeded: 2, Calls: 3})
	_, err = x.CompleteRun(x.Context(), r.ID, []byte("2"))
	x.ok(err)
	data, _, err := x.AccountStatistics(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "statistics", string(data), "2")
}

func retryFailedRun(x *fixture) {
	r, refs := x.running("octocat", "root", "rest")
	o := x.outcome(x.claim(refs[0].ID), domain.JobFailed)
	o.FailRun = "no such user"
	x.finish(o)
	_, err := x.RetryJob(x.Context(), refs[0].ID)
	x.ok(err)
	got := x.wantCounts(r.ID)
	want(x, "status", got.Status, domain.RunRunning)
	want(x, "reason", got.Reason, "")
	if x.succeed(refs[0].ID).Closed == nil {
		x.Fatalf("the run did not close")
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Succeeded: 1, Canceled: 1, Calls: 2})
}

func retryConflicts(x *fixture) {
	r, refs := x.running("octocat", "a")
	x.fail(refs[0].ID)
	done, err := x.CompleteRun(x.Context(), r.ID, nil)
	x.ok(err)
	x.created(r.AccountID)
	_, err = x.RetryJob(x.Context(), refs[0].ID)
	x.wantCode(err, domain.CodeConflict)
	want(x, "job", x.job(refs[0].ID).Status, domain.JobFailed)
	want(x, "run", x.run(r.ID), done)
}

func retryRefused(x *fixture) {
	r, refs := x.running("octocat", "ready", "running", "done", "failed")
	x.claim(refs[1].ID)
	x.succeed(refs[2].ID)
	x.fail(refs[3].ID)
	for _, ref := range refs[:3] {
		_, err := x.RetryJob(x.Context(), ref.ID)
		x.wantCode(err, domain.CodeIllegalMove)
	}
	_, err := x.RetryJob(x.Context(), 1<<40)
	x.wantCode(err, domain.CodeNotFound)
	canceled, err := x.CancelRun(x.Context(), r.ID, "")
	x.ok(err)
	for _, ref := range refs {
		_, err := x.RetryJob(x.Context(), ref.ID)
		x.wantCode(err, domain.CodeIllegalMove)
	}
	want(x, "run", x.wantCounts(r.ID), canceled)
}

func recoverRunning(x *fixture) {
	r, refs := x.running("octocat", "running", "ready", "done", "paused")
	old := x.claim(refs[0].ID)
	x.succeed(refs[2].ID)
	x.finish(x.outcome(x.claim(refs[3].ID), domain.JobPaused))
	n, ended, err := x.RecoverRunning(x.Context(), 3)
	x.ok(err)
	want(x, "recovered", n, 1)
	want(x, "runs ended", len(ended), 0)
	j := x.job(old.ID)
	want(x, "status", j.Status, domain.JobReady)
	want(x, "lost", j.Lost, 1)
	want(x, "failures", j.Failures, 0)
	want(x, "paused job", x.job(refs[3].ID).Status, domain.JobPaused)
	want(x, "waiting", x.waitingIDs(), refIDs(refs[:2]))
	n, _, err = x.RecoverRunning(x.Context(), 3)
	x.ok(err)
	want(x, "recovered twice", n, 0)
	x.claim(old.ID)
	_, err = x.Finish(x.Context(), x.everything(old))
	x.wantCode(err, domain.CodeStale)
	x.wantNoTrace(r.AccountID)
	x.wantCounts(r.ID)
}

func recoverPaused(x *fixture) {
	r, refs := x.running("octocat", "a")
	x.claim(refs[0].ID)
	_, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountPaused, "")
	x.ok(err)
	n, _, err := x.RecoverRunning(x.Context(), 3)
	x.ok(err)
	want(x, "recovered", n, 1)
	want(x, "waiting under a paused account", x.waitingIDs(), []int64{})
	back, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs that came back", refIDs(back), refIDs(refs))
}

func recoverGivesUp(x *fixture) {
	r, refs := x.running("octocat", "poison", "left")
	for range 2 {
		x.claim(refs[0].ID)
		n, ended, err := x.RecoverRunning(x.Context(), 2)
		x.ok(err)
		want(x, "recovered", n, 1)
		want(x, "runs ended", len(ended), 0)
	}
	x.claim(refs[0].ID)
	n, ended, err := x.RecoverRunning(x.Context(), 2)
	x.ok(err)
	want(x, "recovered", n, 0)
	want(x, "runs ended", len(ended), 0)
	j := x.job(refs[0].ID)
	want(x, "status", j.Status, domain.JobFailed)
	want(x, "kind", j.ErrorKind, domain.FailureLost)
	want(x, "lost", j.Lost, 3)
	if j.Error == "" || j.FinishedAt.IsZero() {
		x.Errorf("a lost job does not say what happened: %+v", j)
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 1, Failed: 1, Calls: 3})
	_, err = x.RetryJob(x.Context(), j.ID)
	x.ok(err)
	want(x, "lost after a retry", x.job(j.ID).Lost, 0)
}

func recoverCloses(x *fixture) {
	a, refsA := x.running("octocat", "poison", "done")
	b, refsB := x.running("hubot", "poison")
	x.succeed(refsA[1].ID)
	x.claim(refsA[0].ID)
	x.claim(refsB[0].ID)
	n, ended, err := x.RecoverRunning(x.Context(), 0)
	x.ok(err)
	want(x, "recovered", n, 0)
	want(x, "runs ended", len(ended), 2)
	for _, r := range ended {
		want(x, "ended run", r, x.wantCounts(r.ID))
		want(x, "status", r.Status, domain.RunFinalizing)
	}
	want(x, "failed", x.run(a.ID).Failed+x.run(b.ID).Failed, int64(2))
}

// survivesCrash looks at what is left when the process dies between two
// calls: everything that was answered.
func survivesCrash(x *fixture) {
	if x.Crash == nil {
		return
	}
	r, refs := x.running("octocat", "a", "b", "c")
	o := x.everything(x.claim(refs[0].ID))
	effect := x.finish(o)
	lost := x.claim(refs[1].ID)
	run, jobs := x.run(r.ID), x.jobsOf(r.ID)
	y := x.on(x.Crash(x.t))
	want(y, "run", y.run(r.ID), run)
	want(y, "jobs", y.jobsOf(r.ID), jobs)
	want(y, "windows", y.windows(), x.windows())
	if y.Documents != nil {
		_, found, err := y.Documents.Get(y.Context(), o.Documents[0].Key)
		y.ok(err)
		want(y, "document", found, true)
	}
	n, _, err := y.RecoverRunning(y.Context(), 5)
	y.ok(err)
	want(y, "recovered", n, 1)
	want(y, "repeated finish", y.finish(o), effect)
	_, err = y.Finish(y.Context(), y.outcome(lost, domain.JobSucceeded))
	y.wantCode(err, domain.CodeStale)
	for _, id := range y.waitingIDs() {
		y.succeed(id)
	}
	want(y, "status", y.wantCounts(r.ID).Status, domain.RunFinalizing)
	_, err = y.CreateRun(y.Context(), state.RunSpec{AccountID: r.AccountID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	y.wantCode(err, domain.CodeConflict)
}
