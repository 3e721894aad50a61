package statetest

import (
	"strconv"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

var finishCases = []testCase{
	{"FinishSucceeded", finishSucceeded},
	{"FinishFailed", finishFailed},
	{"FinishRetry", finishRetry},
	{"FinishPaused", finishPaused},
	{"FinishToImpossibleStates", finishImpossible},
	{"FinishFenced", finishFenced},
	{"FinishUnknownJob", finishUnknown},
	{"FinishWithAnInvalidAbsence", finishInvalidAbsence},
}

// resources names n different resources.
func resources(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "repo:" + strconv.Itoa(i)
	}
	return out
}

func finishSucceeded(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	j := x.claim(refs[0].ID)
	o := x.outcome(j, domain.JobSucceeded)
	o.Items, o.Pages = 7, 1
	want(x, "effect", x.finish(o), state.Effect{})
	j.Status, j.Items, j.Pages, j.FinishedAt = domain.JobSucceeded, 7, 1, o.At
	want(x, "job", x.job(j.ID), j)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 1, Succeeded: 1, Calls: 1, Documents: 7})
}

func finishFailed(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	j := x.claim(refs[0].ID)
	o := x.outcome(j, domain.JobFailed)
	o.CountFailure = true
	o.Failure = &domain.Failure{Kind: domain.FailureGone, Message: "it's \"gone\" — für immer"}
	want(x, "effect", x.finish(o), state.Effect{})
	j.Status, j.Failures, j.FinishedAt = domain.JobFailed, 1, o.At
	j.ErrorKind, j.Error = o.Failure.Kind, o.Failure.Message
	want(x, "job", x.job(j.ID), j)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 1, Failed: 1, Calls: 1})
}

func finishRetry(x *fixture) {
	r, refs := x.running("octocat", "a")
	for attempt := 1; attempt <= 3; attempt++ {
		o := x.outcome(x.claim(refs[0].ID), domain.JobReady)
		o.NotBefore, o.CountFailure = x.instant(), attempt != 2
		o.Failure = &domain.Failure{Kind: domain.FailureTimeout, Message: "attempt " + strconv.Itoa(attempt)}
		want(x, "effect", x.finish(o), state.Effect{})
		j := x.job(refs[0].ID)
		want(x, "status", j.Status, domain.JobReady)
		want(x, "not before", j.NotBefore, o.NotBefore)
		want(x, "failures", j.Failures, []int{0, 1, 1, 2}[attempt])
		want(x, "error", j.Error, o.Failure.Message)
		want(x, "end", j.FinishedAt, time.Time{})
	}
	x.ok(x.Waiting(x.Context(), func(ref domain.JobRef) error {
		want(x, "instant in the ref", ref.NotBefore, x.job(ref.ID).NotBefore)
		return nil
	}))
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 1, Pending: 1, Calls: 3})
	x.succeed(refs[0].ID)
	j := x.job(refs[0].ID)
	want(x, "failures of a job that succeeded", j.Failures, 2)
	want(x, "error of a job that succeeded", j.Error+string(j.ErrorKind), "")
}

func finishPaused(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	x.finish(x.outcome(x.claim(refs[0].ID), domain.JobPaused))
	want(x, "status", x.job(refs[0].ID).Status, domain.JobPaused)
	want(x, "waiting", x.waitingIDs(), refIDs(refs[1:]))
	x.succeed(refs[1].ID)
	r = x.wantCounts(r.ID)
	want(x, "a run with a paused job", r.Status, domain.RunRunning)
	want(x, "pending", r.Pending, int64(1))
}

func finishImpossible(x *fixture) {
	r, refs := x.running("octocat", "a")
	j := x.claim(refs[0].ID)
	before := x.run(r.ID)
	for _, to := range []domain.JobStatus{0, 2, domain.JobRunning, domain.JobCanceled, 99} {
		_, err := x.Finish(x.Context(), x.outcome(j, to))
		x.wantCode(err, domain.CodeInvalid)
	}
	want(x, "job", x.job(j.ID), j)
	want(x, "run", x.run(r.ID), before)
}

// everything is an outcome that would leave a trace wherever it can.
func (x *fixture) everything(j domain.Job) state.Outcome {
	o := x.outcome(j, domain.JobSucceeded)
	o.Items, o.Pages = 5, 9
	o.Documents = []document.Document{doc(j.AccountID, "trace", o.At)}
	o.Next = specs("trace")
	o.Cursors = []domain.Cursor{{AccountID: j.AccountID, Resource: "trace", At: o.At}}
	o.Stored = []domain.Page{{AccountID: j.AccountID, Key: "trace", ETag: "e"}}
	o.Window = &domain.QuotaWindow{Owner: "trace", Bucket: "core", Seq: 1 << 40}
	return o
}

// wantNoTrace checks that nothing of an outcome is there.
func (x *fixture) wantNoTrace(account int64) {
	x.Helper()
	at, err := x.cursor(account, "trace")
	x.ok(err)
	want(x, "cursor", at, time.Time{})
	_, found, err := x.StoredPage(x.Context(), account, "trace")
	x.ok(err)
	want(x, "stored page", found, false)
	want(x, "windows", len(x.windows()), 0)
	if x.Documents != nil {
		_, found, err := x.Documents.Get(x.Context(), doc(account, "trace", time.Time{}).Key)
		x.ok(err)
		want(x, "document", found, false)
	}
}

func finishFenced(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	old := x.claim(refs[0].ID)
	x.finish(x.outcome(old, domain.JobReady))
	owner := x.claim(refs[0].ID)
	refuse := func(what string, o state.Outcome) {
		x.Helper()
		before, run, jobs := x.job(old.ID), x.run(r.ID), len(x.jobsOf(r.ID))
		effect, err := x.Finish(x.Context(), o)
		x.wantCode(err, domain.CodeStale)
		want(x, what+": effect", effect, state.Effect{})
		want(x, what+": job", x.job(old.ID), before)
		want(x, what+": run", x.run(r.ID), run)
		want(x, what+": jobs", len(x.jobsOf(r.ID)), jobs)
		x.wantNoTrace(r.AccountID)
	}
	refuse("an older attempt", x.everything(old))
	ahead := owner
	ahead.Attempt++
	refuse("an attempt that never was", x.everything(ahead))
	fail := x.everything(old)
	fail.To, fail.FailRun, fail.PauseAccount, fail.DropResource = domain.JobFailed, "no", "no", "b"
	refuse("an older attempt that would end the run", fail)
	never := x.job(refs[1].ID)
	o := x.everything(never)
	_, err := x.Finish(x.Context(), o)
	x.wantCode(err, domain.CodeStale)
	x.wantNoTrace(r.AccountID)
	_, err = x.CancelRun(x.Context(), r.ID, "enough")
	x.ok(err)
	refuse("a canceled job", x.everything(owner))
	a, err := x.Account(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "account", a.State, domain.AccountActive)
}

func finishUnknown(x *fixture) {
	_, err := x.Finish(x.Context(), state.Outcome{Job: 99, Attempt: 1, At: x.instant(), To: domain.JobSucceeded})
	x.wantCode(err, domain.CodeNotFound)
}

// finishInvalidAbsence: what cannot be stored is refused, and the job is as it
// was.
func finishInvalidAbsence(x *fixture) {
	_, refs := x.running("octocat", "a")
	j := x.claim(refs[0].ID)
	o := x.outcome(j, domain.JobSucceeded)
	o.Absences = []document.Absence{{Account: j.AccountID, Repository: 1}}
	if _, err := x.Finish(x.Context(), o); domain.CodeOf(err) != domain.CodeInvalid {
		x.Errorf("an absence without a reason: %v, want code invalid", err)
	}
	want(x, "job", x.job(j.ID), j)
}
