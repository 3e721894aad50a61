package statetest

import (
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var holdCases = []testCase{
	{"PausingAnAccountHoldsItsJobs", pauseHolds},
	{"RefusedCredentialHoldsEverything", refusedCredential},
	{"JobsUnderWayAreHeldLater", heldLater},
	{"ResumeKeepsInstants", resumeKeepsInstants},
	{"DropResource", dropResource},
}

var endCases = []testCase{
	{"CancelRun", cancelRun},
	{"CanceledJobsResultIsDropped", canceledResult},
	{"FailRun", failRun},
	{"FailRunWithAnOutcome", failRunOutcome},
	{"CancelBeforePlanning", cancelBeforePlanning},
}

func sorted(ids []int64) []int64 {
	slices.Sort(ids)
	return ids
}

func pauseHolds(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c")
	_, others := x.running("hubot", "a")
	x.claim(refs[0].ID)
	held, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountPaused, "on request")
	x.ok(err)
	want(x, "held jobs", sorted(refIDs(held)), refIDs(refs[1:]))
	want(x, "waiting", x.waitingIDs(), refIDs(others))
	want(x, "the job under way", x.job(refs[0].ID).Status, domain.JobRunning)
	_, err = x.take(state.Claim{Job: refs[1].ID, At: x.instant()})
	x.wantCode(err, domain.CodeStale)
	x.wantCounts(r.ID)
	back, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs that came back", sorted(refIDs(back)), refIDs(refs[1:]))
	want(x, "waiting", x.waitingIDs(), append(refIDs(refs[1:]), others[0].ID))
	again, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs that come back twice", len(again), 0)
}

func refusedCredential(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c")
	o := x.outcome(x.claim(refs[0].ID), domain.JobPaused)
	o.PauseAccount = "the token is not accepted; renew it"
	o.Failure = &domain.Failure{Kind: domain.FailureCredential, Message: "401"}
	e := x.finish(o)
	want(x, "jobs that must not be handed out", sorted(e.Canceled), refIDs(refs[1:]))
	a, err := x.Account(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "account", a.State, domain.AccountPaused)
	want(x, "reason", a.Reason, o.PauseAccount)
	for _, j := range x.jobsOf(r.ID) {
		want(x, "status", j.Status, domain.JobPaused)
	}
	r = x.wantCounts(r.ID)
	want(x, "pending", r.Pending, int64(3))
	want(x, "run", r.Status, domain.RunRunning)
	back, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs that came back", sorted(refIDs(back)), refIDs(refs))
	for _, ref := range refs {
		x.succeed(ref.ID)
	}
	want(x, "run", x.run(r.ID).Status, domain.RunFinalizing)
}

// heldLater pauses an account while jobs of it are under way: what those bring
// about is held as well.
func heldLater(x *fixture) {
	r, refs := x.running("octocat", "parent", "retried", "ended")
	parent, retried, ended := x.claim(refs[0].ID), x.claim(refs[1].ID), x.claim(refs[2].ID)
	_, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountPaused, "")
	x.ok(err)
	o := x.outcome(parent, domain.JobSucceeded)
	o.Next = specs("child")
	e := x.finish(o)
	want(x, "created by a paused account", len(e.Created), 0)
	e = x.finish(x.outcome(retried, domain.JobReady))
	want(x, "created by a retry", len(e.Created), 0)
	x.finish(x.outcome(ended, domain.JobSucceeded))
	want(x, "waiting", x.waitingIDs(), []int64{})
	want(x, "retried job", x.job(retried.ID).Status, domain.JobPaused)
	x.wantCounts(r.ID)
	back, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs that came back", len(back), 2)
	want(x, "waiting", x.waitingIDs(), sorted(refIDs(back)))
}

func resumeKeepsInstants(x *fixture) {
	r, refs := x.running("octocat", "a")
	o := x.outcome(x.claim(refs[0].ID), domain.JobReady)
	o.NotBefore = x.instant()
	x.finish(o)
	_, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountPaused, "")
	x.ok(err)
	back, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs", len(back), 1)
	want(x, "instant", back[0].NotBefore, o.NotBefore)
}

func dropResource(x *fixture) {
	r, refs := x.running("octocat", "repo:1", "repo:2")
	e := x.succeed(refs[0].ID, page("repo:1", "2"), page("repo:1", "3"), page("repo:1", "4"), page("repo:2", "2"))
	under := x.claim(e.Created[0].ID)
	x.finish(x.outcome(x.claim(e.Created[2].ID), domain.JobPaused))
	gone := x.claim(refs[1].ID)
	o := x.outcome(gone, domain.JobFailed)
	o.DropResource = "repo:1"
	dropped := x.finish(o)
	want(x, "dropped jobs", sorted(dropped.Canceled), refIDs(e.Created[1:3]))
	for _, ref := range e.Created[1:3] {
		want(x, "status", x.job(ref.ID).Status, domain.JobCanceled)
	}
	want(x, "the job under way", x.job(under.ID).Status, domain.JobRunning)
	want(x, "waiting", x.waitingIDs(), refIDs(e.Created[3:]))
	want(x, "canceled", x.wantCounts(r.ID).Canceled, int64(2))
	o = x.outcome(under, domain.JobSucceeded)
	o.Next, o.DropResource = []domain.JobSpec{page("repo:2", "3")}, "repo:2"
	e = x.finish(o)
	want(x, "created and dropped at once", len(e.Created), 0)
	want(x, "dropped jobs", len(e.Canceled), 2)
	if e.Closed == nil {
		x.Fatalf("the last jobs were dropped and the run is %+v", x.run(r.ID))
	}
	x.wantCounts(r.ID)
}

func cancelRun(x *fixture) {
	r, refs := x.running("octocat", "ready", "running", "paused", "done", "failed")
	x.claim(refs[1].ID)
	x.finish(x.outcome(x.claim(refs[2].ID), domain.JobPaused))
	x.succeed(refs[3].ID)
	x.fail(refs[4].ID)
	got, err := x.CancelRun(x.Context(), r.ID, "on request")
	x.ok(err)
	want(x, "status", got.Status, domain.RunCanceled)
	want(x, "reason", got.Reason, "on request")
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 5, Succeeded: 1, Failed: 1, Canceled: 3, Calls: 4})
	if got.FinishedAt.IsZero() {
		x.Errorf("a canceled run has no end")
	}
	want(x, "stored run", x.wantCounts(r.ID), got)
	want(x, "waiting", x.waitingIDs(), []int64{})
	for i, status := range []domain.JobStatus{
		domain.JobCanceled, domain.JobCanceled, domain.JobCanceled, domain.JobSucceeded, domain.JobFailed,
	} {
		j := x.job(refs[i].ID)
		want(x, j.Resource, j.Status, status)
		if j.FinishedAt.IsZero() {
			x.Errorf("job %q has no end", j.Resource)
		}
	}
}

func canceledResult(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	j := x.claim(refs[0].ID)
	canceled, err := x.CancelRun(x.Context(), r.ID, "enough")
	x.ok(err)
	_, err = x.Finish(x.Context(), x.everything(j))
	x.wantCode(err, domain.CodeStale)
	want(x, "run", x.wantCounts(r.ID), canceled)
	x.wantNoTrace(r.AccountID)
}

func failRun(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	x.succeed(refs[0].ID)
	got, err := x.FailRun(x.Context(), r.ID, "no such user")
	x.ok(err)
	want(x, "status", got.Status, domain.RunFailed)
	want(x, "reason", got.Reason, "no such user")
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 2, Succeeded: 1, Canceled: 1, Calls: 1})
	want(x, "stored run", x.wantCounts(r.ID), got)
	x.created(r.AccountID) // the slot is free
}

func failRunOutcome(x *fixture) {
	r, refs := x.running("octocat", "root", "waiting", "under way")
	under := x.claim(refs[2].ID)
	o := x.outcome(x.claim(refs[0].ID), domain.JobFailed)
	o.FailRun = "there is no user octocat"
	o.Failure = &domain.Failure{Kind: domain.FailureNotFound, Message: "404"}
	e := x.finish(o)
	if e.Closed == nil {
		x.Fatalf("the run did not end: %+v", x.run(r.ID))
	}
	want(x, "jobs that must not be handed out", sorted(e.Canceled), refIDs(refs[1:]))
	got := x.wantCounts(r.ID)
	want(x, "closed run", *e.Closed, got)
	want(x, "status", got.Status, domain.RunFailed)
	want(x, "reason", got.Reason, o.FailRun)
	want(x, "end", got.FinishedAt, o.At)
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 3, Failed: 1, Canceled: 2, Calls: 2})
	_, err := x.Finish(x.Context(), x.everything(under))
	x.wantCode(err, domain.CodeStale)
	x.wantNoTrace(r.AccountID)
	want(x, "run", x.run(r.ID), got)
}

func cancelBeforePlanning(x *fixture) {
	r := x.created(x.account("octocat").ID)
	got, err := x.CancelRun(x.Context(), r.ID, "")
	x.ok(err)
	want(x, "counts", got.RunCounts, domain.RunCounts{})
	_, err = x.PlanRun(x.Context(), r.ID, specs("a"))
	x.wantCode(err, domain.CodeIllegalMove)
	want(x, "jobs", len(x.jobsOf(r.ID)), 0)
}
