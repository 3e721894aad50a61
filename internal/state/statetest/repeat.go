package statetest

import (
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// repeatCases show that a call whose answer was lost can be made again.
var repeatCases = []testCase{
	{"RepeatedFinishReturnsTheSameEffect", repeatedFinish},
	{"RepeatedFinishThatClosed", repeatedClose},
	{"RepeatedFinishThatFailedTheRun", repeatedFail},
	{"RepeatedRetryOutcome", repeatedRetry},
	{"RepeatedFinishAfterRestart", repeatedAfterRestart},
	{"ConcurrentRepeats", concurrentRepeats},
	{"RepeatedEndings", repeatedEndings},
}

var documentCases = []testCase{
	{"DocumentsWithTheOutcome", documentsWithOutcome},
	{"InvalidDocumentLeavesNothing", invalidDocument},
	{"InvalidDocumentHarmsNobody", invalidDocumentAmongOthers},
}

func doc(account int64, name string, version time.Time) document.Document {
	return document.Document{
		Key:     document.Key{Account: account, Kind: documenttest.KindIssue, Name: name},
		Version: version, Raw: []byte(`{"name":"` + name + `"}`),
	}
}

func repeatedFinish(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	o := x.everything(x.claim(refs[0].ID))
	first := x.finish(o)
	run, job, jobs := x.run(r.ID), x.job(refs[0].ID), len(x.jobsOf(r.ID))
	for range 2 {
		want(x, "effect", x.finish(o), first)
		want(x, "run", x.wantCounts(r.ID), run)
		want(x, "job", x.job(refs[0].ID), job)
		want(x, "jobs", len(x.jobsOf(r.ID)), jobs)
	}
	o.Attempt++
	_, err := x.Finish(x.Context(), o)
	x.wantCode(err, domain.CodeStale)
}

func repeatedClose(x *fixture) {
	r, refs := x.running("octocat", "a")
	o := x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	first := x.finish(o)
	if first.Closed == nil {
		x.Fatalf("the run did not close")
	}
	want(x, "effect", x.finish(o), first)
	_, err := x.CompleteRun(x.Context(), r.ID, []byte("{}"))
	x.ok(err)
	want(x, "effect when its consequence is done", x.finish(o), state.Effect{})
}

func repeatedFail(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	o := x.outcome(x.claim(refs[0].ID), domain.JobFailed)
	o.FailRun = "there is no such user"
	first := x.finish(o)
	again := x.finish(o)
	if again.Closed == nil {
		x.Fatalf("the repeated outcome does not say that the run failed")
	}
	want(x, "closed run", again.Closed, first.Closed)
	want(x, "run", x.wantCounts(r.ID), *first.Closed)
}

func repeatedRetry(x *fixture) {
	r, refs := x.running("octocat", "a")
	o := x.outcome(x.claim(refs[0].ID), domain.JobReady)
	o.CountFailure, o.NotBefore = true, x.instant()
	want(x, "effect", x.finish(o), state.Effect{})
	want(x, "effect", x.finish(o), state.Effect{})
	want(x, "failures", x.job(refs[0].ID).Failures, 1)
	want(x, "calls", x.wantCounts(r.ID).Calls, int64(1))
	x.claim(refs[0].ID)
	_, err := x.Finish(x.Context(), o)
	x.wantCode(err, domain.CodeStale)
}

func repeatedAfterRestart(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	o := x.everything(x.claim(refs[0].ID))
	first := x.finish(o)
	x = x.on(x.Reopen(x.t))
	want(x, "effect", x.finish(o), first)
	x.wantCounts(r.ID)
}

func concurrentRepeats(x *fixture) {
	r, refs := x.running("octocat", "a")
	o := x.everything(x.claim(refs[0].ID))
	effects := make([]state.Effect, crowd)
	together(crowd, func(i int) {
		e, err := x.Finish(x.Context(), o)
		if err != nil {
			x.Errorf("finish: %v", err)
		}
		e.Rows = nil
		effects[i] = e
	})
	for _, e := range effects {
		want(x, "effect", e, effects[0])
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 1, Succeeded: 1, Calls: 1, Documents: 5})
}

func repeatedEndings(x *fixture) {
	a, _ := x.running("octocat", "a")
	first, err := x.CancelRun(x.Context(), a.ID, "enough")
	x.ok(err)
	again, err := x.CancelRun(x.Context(), a.ID, "enough")
	x.ok(err)
	want(x, "run canceled twice", again, first)
	b, _ := x.running("hubot", "a")
	first, err = x.FailRun(x.Context(), b.ID, "no such user")
	x.ok(err)
	again, err = x.FailRun(x.Context(), b.ID, "no such user")
	x.ok(err)
	want(x, "run failed twice", again, first)
	_, err = x.CancelRun(x.Context(), b.ID, "enough")
	x.wantCode(err, domain.CodeIllegalMove)
	want(x, "run", x.run(b.ID), first)
}

func documentsWithOutcome(x *fixture) {
	if x.Documents == nil {
		return
	}
	r, refs := x.running("octocat", "a", "b")
	o := x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	newer, older := x.instant(), o.At
	o.Documents = []document.Document{doc(r.AccountID, "one", newer), doc(r.AccountID, "two", newer)}
	x.finish(o)
	o = x.outcome(x.claim(refs[1].ID), domain.JobSucceeded)
	late := doc(r.AccountID, "one", older)
	late.Raw = []byte(`"older"`)
	o.Documents = []document.Document{late, doc(r.AccountID, "three", older)}
	x.finish(o)
	for _, name := range []string{"one", "two", "three"} {
		got, found, err := x.Documents.Get(x.Context(), doc(r.AccountID, name, newer).Key)
		x.ok(err)
		want(x, "found "+name, found, true)
		want(x, "payload of "+name, string(got.Raw), `{"name":"`+name+`"}`)
	}
}

func invalidDocument(x *fixture) {
	if x.Documents == nil {
		return
	}
	r, refs := x.running("octocat", "a", "b")
	j := x.claim(refs[0].ID)
	before := x.run(r.ID)
	o := x.everything(j)
	o.Documents = append(o.Documents, doc(r.AccountID, "", o.At))
	_, err := x.Finish(x.Context(), o)
	x.wantCode(err, domain.CodeInvalid)
	want(x, "job", x.job(j.ID), j)
	want(x, "run", x.run(r.ID), before)
	want(x, "jobs", len(x.jobsOf(r.ID)), 2)
	x.wantNoTrace(r.AccountID)
	o.Documents = o.Documents[:1]
	want(x, "jobs created by the corrected outcome", len(x.finish(o).Created), 1)
}

func invalidDocumentAmongOthers(x *fixture) {
	if x.Documents == nil {
		return
	}
	r, refs := x.running("octocat", resources(crowd)...)
	jobs := make([]domain.Job, crowd)
	for i := range jobs {
		jobs[i] = x.claim(refs[i].ID)
	}
	at := x.instant()
	together(crowd, func(i int) {
		o := x.outcomeAt(jobs[i], domain.JobSucceeded, at)
		o.Documents = []document.Document{doc(r.AccountID, jobs[i].Resource, at)}
		if i%10 == 0 {
			o.Documents[0].Kind = ""
		}
		_, err := x.Finish(x.Context(), o)
		if bad := i%10 == 0; bad != (domain.CodeOf(err) == domain.CodeInvalid) || (!bad && err != nil) {
			x.Errorf("finish %d: %v", i, err)
		}
	})
	want(x, "succeeded", x.wantCounts(r.ID).Succeeded, int64(crowd-crowd/10))
	n, err := x.Documents.Count(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "documents", n[documenttest.KindIssue], int64(crowd-crowd/10))
}
