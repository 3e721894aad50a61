package statetest

import (
	"sluice/internal/domain"
	"sluice/internal/state"
)

var priorityCases = []testCase{
	{"SetRunPriority", setRunPriority},
	{"SetRunPriorityBeforePlanning", priorityBeforePlanning},
	{"SetRunPriorityReachesLaterJobs", priorityOfLater},
	{"SetRunPriorityReachesJobsThatComeBack", priorityOfRetried},
	{"SetRunPriorityAndThatOfASpec", priorityOfSpec},
	{"SetRunPriorityRefused", priorityRefused},
	{"SetRunPriorityWhileOthersFinish", priorityConcurrent},
}

func (x *fixture) setPriority(run int64, p domain.Priority) []domain.JobRef {
	x.Helper()
	refs, err := x.SetRunPriority(x.Context(), run, p)
	x.ok(err)
	return refs
}

func setRunPriority(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "done", "running", "paused")
	_, others := x.running("hubot", "a")
	x.succeed(refs[2].ID)
	x.claim(refs[3].ID)
	x.finish(x.outcome(x.claim(refs[4].ID), domain.JobPaused))
	o := x.outcome(x.claim(refs[1].ID), domain.JobReady)
	o.NotBefore = x.instant()
	x.finish(o)
	before := x.run(r.ID)
	for range 2 {
		got := x.setPriority(r.ID, domain.PriorityLow)
		want(x, "jobs that wait", refIDs(got), refIDs(refs[:2]))
		for _, ref := range got {
			want(x, "ref", ref, x.refOf(ref.ID))
			want(x, "priority of a job that waits", ref.Priority, domain.PriorityLow)
		}
	}
	want(x, "instant", x.refOf(refs[1].ID).NotBefore, o.NotBefore)
	for _, ref := range refs[3:] {
		want(x, "priority of an unfinished job", x.job(ref.ID).Priority, domain.PriorityLow)
	}
	want(x, "priority of another run's job", x.job(others[0].ID).Priority, domain.PriorityHigh)
	before.Priority = domain.PriorityLow
	want(x, "run", x.wantCounts(r.ID), before)
	x.setPriority(r.ID, domain.PriorityHigh)
	want(x, "priority", [2]domain.Priority{x.run(r.ID).Priority, x.job(refs[0].ID).Priority}, [2]domain.Priority{domain.PriorityHigh, domain.PriorityHigh})
}

func priorityBeforePlanning(x *fixture) {
	r := x.created(x.account("octocat").ID)
	want(x, "jobs of a run without", len(x.setPriority(r.ID, domain.PriorityLow)), 0)
	want(x, "status", x.run(r.ID).Status, domain.RunCreated)
	refs, err := x.PlanRun(x.Context(), r.ID, specs("a"))
	x.ok(err)
	want(x, "priority", refs[0].Priority, domain.PriorityLow)
}

// priorityOfLater has jobs that were claimed, read and remembered under the
// old priority: what they lead to has the new one.
func priorityOfLater(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c", "d", "e", "f", "g", "h")
	jobs := make([]domain.Job, len(refs))
	for i, ref := range refs {
		jobs[i] = x.claim(ref.ID)
	}
	p := domain.PriorityHigh
	for i, j := range jobs {
		if i%2 == 0 {
			p = domain.PriorityLow + domain.PriorityHigh - p
			x.setPriority(r.ID, p)
		}
		o := x.outcome(j, domain.JobSucceeded)
		o.Next = specs(j.Resource+"1", j.Resource+"2")
		for _, ref := range x.finish(o).Created {
			want(x, "priority of a new job", ref.Priority, p)
			want(x, "ref", ref, x.refOf(ref.ID))
		}
	}
	x.wantCounts(r.ID)
}

func priorityOfRetried(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c")
	x.fail(refs[0].ID)
	want(x, "jobs that wait", refIDs(x.setPriority(r.ID, domain.PriorityLow)), refIDs(refs[1:]))
	ref, err := x.RetryJob(x.Context(), refs[0].ID)
	x.ok(err)
	want(x, "priority of a retried job", ref.Priority, domain.PriorityLow)
	x.failAs(refs[1].ID, domain.FailureGone, "the root is gone")
	x.resume(r.ID, domain.PriorityHigh)
	ref, err = x.RetryJob(x.Context(), refs[1].ID)
	x.ok(err)
	want(x, "priority of a job retried after the run went on", ref.Priority, domain.PriorityHigh)
}

// priorityOfSpec: a priority that a job has from its spec outlasts a call that
// asks for what the run has, but not another priority of the run.
func priorityOfSpec(x *fixture) {
	r, refs := x.running("octocat", "a")
	own := spec("sweep")
	own.Priority = domain.PriorityLow
	sweep := x.succeed(refs[0].ID, own, spec("b")).Created
	want(x, "priority of a spec", sweep[0].Priority, domain.PriorityLow)
	want(x, "jobs that wait", x.setPriority(r.ID, domain.PriorityHigh), sweep)
	x.fail(sweep[0].ID)
	x.fail(sweep[1].ID)
	x.complete(r.ID)
	want(x, "jobs that wait", x.resume(r.ID, domain.PriorityHigh), sweep)
	next := x.succeed(sweep[0].ID, page("sweep", "2")).Created
	want(x, "priority of what it leads to", next[0].Priority, domain.PriorityLow)
	for _, p := range []domain.Priority{domain.PriorityLow, domain.PriorityHigh} {
		for _, ref := range x.setPriority(r.ID, p) {
			want(x, "priority", ref.Priority, p)
		}
	}
	own.Resource = "another sweep"
	want(x, "priority of a later spec", x.succeed(next[0].ID, own).Created[0].Priority, domain.PriorityLow)
}

func priorityRefused(x *fixture) {
	_, err := x.SetRunPriority(x.Context(), 99, domain.PriorityLow)
	x.wantCode(err, domain.CodeNotFound)
	r, refs := x.running("octocat", "a")
	x.fail(refs[0].ID)
	want(x, "jobs that wait in a run whose statistics are due", len(x.setPriority(r.ID, domain.PriorityLow)), 0)
	x.setPriority(r.ID, domain.PriorityHigh)
	refuse := func(run int64) {
		x.Helper()
		before, jobs := x.run(run), x.jobsOf(run)
		_, err := x.SetRunPriority(x.Context(), run, domain.PriorityLow)
		x.wantCode(err, domain.CodeConflict)
		want(x, "run", x.run(run), before)
		want(x, "jobs", x.jobsOf(run), jobs)
	}
	x.complete(r.ID)
	refuse(r.ID)
	canceled, _ := x.runningFor(r.AccountID, "a")
	_, err = x.CancelRun(x.Context(), canceled.ID, "")
	x.ok(err)
	refuse(canceled.ID)
	failed, _ := x.runningFor(r.AccountID, "a")
	_, err = x.FailRun(x.Context(), failed.ID, "")
	x.ok(err)
	refuse(failed.ID)
}

// priorityConcurrent changes the priority while jobs are claimed and finished:
// in the end everything that is left has the last one.
func priorityConcurrent(x *fixture) {
	r, refs := x.running("octocat", resources(crowd)...)
	at := x.instant()
	together(crowd+1, func(i int) {
		if i == crowd {
			for _, p := range []domain.Priority{domain.PriorityLow, domain.PriorityHigh, domain.PriorityLow} {
				if _, err := x.SetRunPriority(x.Context(), r.ID, p); err != nil {
					x.Errorf("priority: %v", err)
				}
			}
			return
		}
		j, err := x.take(state.Claim{Job: refs[i].ID, At: at})
		if err != nil {
			x.Errorf("claim: %v", err)
			return
		}
		o := x.outcomeAt(j, domain.JobSucceeded, at)
		o.Next = []domain.JobSpec{page(j.Resource, "2"), page(j.Resource, "3")}
		if _, err := x.Finish(x.Context(), o); err != nil {
			x.Errorf("finish: %v", err)
		}
	})
	want(x, "pending", x.wantCounts(r.ID).Pending, int64(2*crowd))
	want(x, "priority", x.run(r.ID).Priority, domain.PriorityLow)
	for _, j := range x.jobsOf(r.ID) {
		if !j.Status.Ended() {
			want(x, "priority of job "+j.Resource+" "+j.PageKey, j.Priority, domain.PriorityLow)
		}
	}
}
