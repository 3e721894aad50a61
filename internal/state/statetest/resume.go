package statetest

import (
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

var resumeCases = []testCase{
	{"ResumeRunWithItsFailedJobs", resumeCompleted},
	{"ResumeRunByKindOfFailure", resumeKinds},
	{"ResumeRunThatFailed", resumeFailed},
	{"ResumeRunThatWasFailedByHand", resumeFailedByHand},
	{"ResumeRunLeavesDroppedResources", resumeDropped},
	{"ResumeRunThatFailedAgain", resumeAgain},
	{"ResumeRunRefused", resumeRefused},
	{"ResumeRunConflicts", resumeConflicts},
	{"ResumeRunRepeated", resumeRepeated},
	{"ConcurrentResumes", concurrentResumes},
	{"ConcurrentResumeAndCreate", resumeOrCreate},
	{"ResumeRunKeepsWhatWasStored", resumeKeeps},
	{"ResumeRunUnderAPausedAccount", resumePaused},
	{"ResumeRunOfManyJobs", resumeMany},
	{"ResumeRunAfterRestart", resumeAfterRestart},
}

// passing are kinds of failure that pass by themselves.
var passing = []domain.FailureKind{domain.FailureServer, domain.FailureTimeout, domain.FailureLost}

func (x *fixture) resume(run int64, p domain.Priority, kinds ...domain.FailureKind) []domain.JobRef {
	x.Helper()
	if len(kinds) == 0 {
		kinds = passing
	}
	refs, err := x.ResumeRun(x.Context(), run, p, kinds)
	x.ok(err)
	return refs
}

// failAs claims a job and ends it badly, for a reason.
func (x *fixture) failAs(id int64, kind domain.FailureKind, failRun string) state.Effect {
	x.Helper()
	o := x.outcome(x.claim(id), domain.JobFailed)
	o.CountFailure, o.FailRun = true, failRun
	o.Failure = &domain.Failure{Kind: kind, Message: "as " + string(kind)}
	return x.finish(o)
}

func (x *fixture) complete(run int64) domain.Run {
	x.Helper()
	r, err := x.CompleteRun(x.Context(), run, []byte("{}"))
	x.ok(err)
	return r
}

func resumeCompleted(x *fixture) {
	r, refs := x.running("octocat", "good", "bad")
	x.succeed(refs[0].ID)
	x.fail(refs[1].ID)
	x.complete(r.ID)
	back := x.resume(r.ID, domain.PriorityLow)
	expected := refs[1]
	expected.Priority = domain.PriorityLow
	want(x, "jobs that wait", back, []domain.JobRef{expected})
	want(x, "waiting", x.waitingIDs(), refIDs(back))
	got := x.wantCounts(r.ID)
	want(x, "run", [3]any{got.Status, got.Priority, got.FinishedAt.IsZero()}, [3]any{domain.RunRunning, domain.PriorityLow, true})
	want(x, "anchor", got.Anchor, r.Anchor)
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 2, Pending: 1, Succeeded: 1, Calls: 2})
	want(x, "attempt", x.claim(refs[1].ID).Attempt, int64(2))
	closed := x.finish(x.outcome(x.job(refs[1].ID), domain.JobSucceeded)).Closed
	if closed == nil {
		x.Fatalf("the run did not close again")
	}
	want(x, "counts", closed.RunCounts, domain.RunCounts{Known: 2, Succeeded: 2, Calls: 3})
	want(x, "status", x.complete(r.ID).Status, domain.RunCompleted)
}

func resumeKinds(x *fixture) {
	r, refs := x.running("octocat", "server", "gone", "timeout", "lost")
	x.failAs(refs[0].ID, domain.FailureServer, "")
	x.failAs(refs[1].ID, domain.FailureGone, "")
	x.failAs(refs[2].ID, domain.FailureTimeout, "")
	x.claim(refs[3].ID)
	_, _, err := x.RecoverRunning(x.Context(), 0)
	x.ok(err)
	x.complete(r.ID)
	back := x.resume(r.ID, domain.PriorityHigh, domain.FailureServer, domain.FailureLost)
	want(x, "jobs that wait", refIDs(back), []int64{refs[0].ID, refs[3].ID})
	for _, ref := range back {
		j := x.job(ref.ID)
		want(x, "job", [5]any{j.Status, j.Failures, j.Lost, j.NotBefore.IsZero(), j.FinishedAt.IsZero()}, [5]any{domain.JobReady, 0, 0, true, true})
	}
	for _, ref := range refs[1:3] {
		want(x, "failures", x.job(ref.ID).Failures, 1)
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 4, Pending: 2, Failed: 2, Calls: 4})
	for _, ref := range back {
		x.succeed(ref.ID)
	}
	x.complete(r.ID)
	want(x, "jobs that wait for another kind", refIDs(x.resume(r.ID, domain.PriorityHigh, domain.FailureTimeout)), []int64{refs[2].ID})
}

// resumeFailed has a run whose root failed, with jobs of every state: those
// that were canceled with the run come back with it.
func resumeFailed(x *fixture) {
	r, refs := x.running("octocat", "root", "ready", "running", "done", "gone")
	x.succeed(refs[3].ID)
	x.failAs(refs[4].ID, domain.FailureGone, "")
	late := x.claim(refs[2].ID)
	o := x.outcome(x.claim(refs[1].ID), domain.JobReady)
	o.NotBefore, o.CountFailure = x.instant(), true
	x.finish(o)
	if e := x.failAs(refs[0].ID, domain.FailureServer, "no answer"); e.Closed == nil || len(e.Canceled) != 2 {
		x.Fatalf("the run did not fail: %+v", e)
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 5, Succeeded: 1, Failed: 2, Canceled: 2, Calls: 5})
	back := x.resume(r.ID, domain.PriorityHigh)
	want(x, "jobs that wait", refIDs(back), refIDs(refs[:3]))
	for _, ref := range back {
		want(x, "ref", ref, x.refOf(ref.ID))
		j := x.job(ref.ID)
		want(x, "job", [3]any{j.Failures, j.NotBefore.IsZero(), j.FinishedAt.IsZero()}, [3]any{0, true, true})
	}
	got := x.wantCounts(r.ID)
	want(x, "run", [2]any{got.Status, got.Reason}, [2]any{domain.RunRunning, ""})
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 5, Pending: 3, Succeeded: 1, Failed: 1, Calls: 5})
	_, err := x.Finish(x.Context(), x.everything(late))
	x.wantCode(err, domain.CodeStale)
	x.wantNoTrace(r.AccountID)
	for _, ref := range back {
		x.succeed(ref.ID)
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 5, Succeeded: 4, Failed: 1, Calls: 8})
	want(x, "status", x.complete(r.ID).Status, domain.RunCompleted)
}

// refOf is what dispatch must be told about a job.
func (x *fixture) refOf(id int64) domain.JobRef {
	x.Helper()
	j := x.job(id)
	return domain.JobRef{
		ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, Bucket: j.Bucket, Class: j.Class, Priority: j.Priority, NotBefore: j.NotBefore,
	}
}

func resumeFailedByHand(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	_, err := x.FailRun(x.Context(), r.ID, "on request")
	x.ok(err)
	refsBack, err := x.ResumeRun(x.Context(), r.ID, domain.PriorityHigh, nil)
	x.ok(err)
	want(x, "jobs that wait", refsBack, refs)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 2})
}

func resumeDropped(x *fixture) {
	r, refs := x.running("octocat", "root", "gone", "left")
	page := x.succeed(refs[1].ID, page("gone", "2"), page("gone", "3")).Created
	o := x.outcome(x.claim(page[0].ID), domain.JobFailed)
	o.Failure = &domain.Failure{Kind: domain.FailureGone, Message: "410"}
	o.DropResource = "gone"
	want(x, "dropped jobs", x.finish(o).Canceled, []int64{page[1].ID})
	x.failAs(refs[0].ID, domain.FailureServer, "no answer")
	want(x, "jobs that wait", refIDs(x.resume(r.ID, domain.PriorityHigh)), []int64{refs[0].ID, refs[2].ID})
	want(x, "job of a dropped resource", x.job(page[1].ID).Status, domain.JobCanceled)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 5, Pending: 2, Succeeded: 1, Failed: 1, Canceled: 1, Calls: 3})
}

func resumeAgain(x *fixture) {
	r, refs := x.running("octocat", "root", "rest")
	for range 3 {
		x.failAs(refs[0].ID, domain.FailureServer, "no answer")
		want(x, "jobs that wait", refIDs(x.resume(r.ID, domain.PriorityHigh)), refIDs(refs))
		want(x, "pending", x.wantCounts(r.ID).Pending, int64(2))
	}
}

// wantNotResumed checks that a run cannot go on, and stays as it is.
func (x *fixture) wantNotResumed(run int64, kinds ...domain.FailureKind) {
	x.Helper()
	before, jobs := x.run(run), x.jobsOf(run)
	refs, err := x.ResumeRun(x.Context(), run, domain.PriorityLow, kinds)
	x.wantCode(err, domain.CodeConflict)
	want(x, "jobs of a refused call", len(refs), 0)
	want(x, "run", x.wantCounts(run), before)
	want(x, "jobs", x.jobsOf(run), jobs)
}

func resumeRefused(x *fixture) {
	_, err := x.ResumeRun(x.Context(), 99, domain.PriorityLow, passing)
	x.wantCode(err, domain.CodeNotFound)
	r := x.created(x.account("octocat").ID)
	x.wantNotResumed(r.ID, passing...)
	refs, err := x.PlanRun(x.Context(), r.ID, specs("good", "gone"))
	x.ok(err)
	x.succeed(refs[0].ID)
	x.failAs(refs[1].ID, domain.FailureGone, "")
	x.wantNotResumed(r.ID, domain.FailureGone) // its statistics are due
	x.complete(r.ID)
	x.wantNotResumed(r.ID, passing...)
	x.wantNotResumed(r.ID)
	canceled, refs := x.runningFor(r.AccountID, "failed", "left")
	x.fail(refs[0].ID)
	_, err = x.CancelRun(x.Context(), canceled.ID, "enough")
	x.ok(err)
	x.wantNotResumed(canceled.ID, passing...)
	unplanned := x.created(r.AccountID)
	_, err = x.FailRun(x.Context(), unplanned.ID, "no such user")
	x.ok(err)
	x.wantNotResumed(unplanned.ID, passing...)
	whole, refs := x.runningFor(r.AccountID, "good")
	x.succeed(refs[0].ID)
	x.complete(whole.ID)
	x.wantNotResumed(whole.ID, passing...)
}

func resumeConflicts(x *fixture) {
	r, refs := x.running("octocat", "a")
	x.fail(refs[0].ID)
	x.complete(r.ID)
	other := x.created(r.AccountID)
	x.wantNotResumed(r.ID, passing...)
	_, err := x.CancelRun(x.Context(), other.ID, "")
	x.ok(err)
	want(x, "jobs that wait", refIDs(x.resume(r.ID, domain.PriorityHigh)), refIDs(refs))
	_, err = x.CreateRun(x.Context(), state.RunSpec{AccountID: r.AccountID, Trigger: domain.TriggerSchedule, Priority: domain.PriorityLow})
	x.wantCode(err, domain.CodeConflict)
}

func resumeRepeated(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c")
	x.fail(refs[0].ID)
	x.fail(refs[1].ID)
	running := x.run(r.ID)
	want(x, "jobs that wait in a run that runs", x.resume(r.ID, domain.PriorityLow), refs[2:])
	want(x, "run", x.wantCounts(r.ID), running)
	x.succeed(refs[2].ID)
	x.complete(r.ID)
	first := x.resume(r.ID, domain.PriorityLow)
	before, jobs := x.run(r.ID), x.jobsOf(r.ID)
	want(x, "jobs that wait", x.resume(r.ID, domain.PriorityLow), first)
	want(x, "run", x.wantCounts(r.ID), before)
	want(x, "jobs", x.jobsOf(r.ID), jobs)
	x.succeed(refs[0].ID)
	want(x, "what still waits", x.resume(r.ID, domain.PriorityLow), first[1:])
}

func concurrentResumes(x *fixture) {
	r, refs := x.running("octocat", resources(crowd)...)
	for _, ref := range refs[1:] {
		x.fail(ref.ID)
	}
	x.failAs(refs[0].ID, domain.FailureServer, "no answer")
	answers, errs := make([][]domain.JobRef, crowd), make([]error, crowd)
	together(crowd, func(i int) { answers[i], errs[i] = x.ResumeRun(x.Context(), r.ID, domain.PriorityLow, passing) })
	for i, err := range errs {
		x.ok(err)
		want(x, "jobs that wait", answers[i], answers[0])
	}
	want(x, "jobs that wait", refIDs(answers[0]), refIDs(refs))
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: crowd, Pending: crowd, Calls: crowd})
}

// resumeOrCreate lets a run go on while others open a new one: one of both is
// active in the end.
func resumeOrCreate(x *fixture) {
	r, refs := x.running("octocat", "a")
	x.fail(refs[0].ID)
	x.complete(r.ID)
	errs := make([]error, 10)
	together(len(errs), func(i int) {
		if i%2 == 0 {
			_, errs[i] = x.ResumeRun(x.Context(), r.ID, domain.PriorityLow, passing)
			return
		}
		_, errs[i] = x.CreateRun(x.Context(), state.RunSpec{AccountID: r.AccountID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	})
	resumed, created := 0, 0
	for i, err := range errs {
		switch {
		case err != nil:
			x.wantCode(err, domain.CodeConflict)
		case i%2 == 0:
			resumed++
		default:
			created++
		}
	}
	active, err := x.Runs(x.Context(), state.RunQuery{AccountID: r.AccountID, ActiveOnly: true})
	x.ok(err)
	want(x, "active runs", len(active), 1)
	if (active[0].ID == r.ID) != (resumed == len(errs)/2) || (active[0].ID != r.ID) != (created == 1) || resumed > 0 && created > 0 {
		x.Errorf("%d resumed, %d created, run %d is active", resumed, created, active[0].ID)
	}
	x.wantCounts(r.ID)
}

func resumeKeeps(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	o := x.everything(x.claim(refs[0].ID))
	next := x.finish(o).Created
	x.fail(refs[1].ID)
	x.failAs(next[0].ID, domain.FailureServer, "no answer")
	windows := x.windows()
	back := x.resume(r.ID, domain.PriorityHigh)
	want(x, "jobs that wait", refIDs(back), []int64{refs[1].ID, next[0].ID})
	want(x, "windows", x.windows(), windows)
	cursor := o.Cursors[0]
	at, err := x.cursor(r.AccountID, cursor.Resource)
	x.ok(err)
	want(x, "cursor", at, cursor.At)
	_, found, err := x.StoredPage(x.Context(), r.AccountID, o.Stored[0].Key)
	x.ok(err)
	want(x, "stored page", found, true)
	documents := x.wantCounts(r.ID).Documents
	// What goes on adds to that, and a repeated outcome of before does not.
	want(x, "repeated outcome", len(x.finish(o).Created), 1)
	cursor.At = x.instant()
	more := x.outcome(x.claim(refs[1].ID), domain.JobSucceeded)
	more.Items, more.Cursors = 1, []domain.Cursor{cursor}
	more.Documents = []document.Document{doc(r.AccountID, "resumed", more.At)}
	x.finish(more)
	at, err = x.cursor(r.AccountID, cursor.Resource)
	x.ok(err)
	want(x, "moved cursor", at, cursor.At)
	want(x, "documents", x.wantCounts(r.ID).Documents, documents+1)
	if x.Documents == nil {
		return
	}
	for _, key := range []document.Key{o.Documents[0].Key, more.Documents[0].Key} {
		_, found, err := x.Documents.Get(x.Context(), key)
		x.ok(err)
		want(x, "document "+key.Name, found, true)
	}
}

func resumePaused(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	x.failAs(refs[0].ID, domain.FailureServer, "no answer")
	_, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountPaused, "on request")
	x.ok(err)
	want(x, "jobs that wait", len(x.resume(r.ID, domain.PriorityHigh)), 0)
	want(x, "waiting", x.waitingIDs(), []int64{})
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 2, Calls: 1})
	back, err := x.SetAccountState(x.Context(), r.AccountID, domain.AccountActive, "")
	x.ok(err)
	want(x, "jobs that came back", sorted(refIDs(back)), refIDs(refs))
}

// resumeMany has more jobs than a statement lists, and expectations of more
// than one call.
func resumeMany(x *fixture) {
	r, refs := x.running("octocat", "root", "walk")
	next := specs(resources(2500)...)
	next[7].Expected = 30
	x.succeed(refs[1].ID, next...)
	x.failAs(refs[0].ID, domain.FailureServer, "no answer")
	want(x, "known", x.wantCounts(r.ID).Known, int64(2502))
	want(x, "jobs that wait", len(x.resume(r.ID, domain.PriorityLow)), 2501)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2502 + 29, Pending: 2501, Succeeded: 1, Calls: 2})
	for _, j := range x.jobsOf(r.ID)[2:] {
		if j.Status != domain.JobReady || j.Priority != domain.PriorityLow {
			x.Fatalf("job %d is %s with priority %s", j.ID, j.Status, j.Priority)
		}
	}
}

func resumeAfterRestart(x *fixture) {
	r, refs := x.running("octocat", "root", "rest")
	x.failAs(refs[0].ID, domain.FailureServer, "no answer")
	x = x.on(x.Reopen(x.t))
	back := x.resume(r.ID, domain.PriorityLow)
	x = x.on(x.Reopen(x.t))
	want(x, "repeated after a restart", x.resume(r.ID, domain.PriorityLow), back)
	want(x, "waiting", x.waitingIDs(), refIDs(refs))
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 2, Calls: 1})
}
