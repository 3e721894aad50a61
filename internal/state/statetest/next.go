package statetest

import (
	"sluice/internal/domain"
)

var nextCases = []testCase{
	{"NextJobs", nextJobs},
	{"NextJobsDeduplicated", nextDeduplicated},
	{"NextJobsDeduplicatedAcrossConcurrentOutcomes", nextConcurrent},
	{"Children", children},
	{"KnownCountsAnnouncedPages", announcedPages},
	{"ManyNextJobs", manyNext},
}

func nextJobs(x *fixture) {
	r, refs := x.running("octocat", "a")
	parent := x.claim(refs[0].ID)
	o := x.outcome(parent, domain.JobSucceeded)
	o.Next = append(specs("b"), page("a", "2"))
	e := x.finish(o)
	want(x, "number of jobs created", len(e.Created), 2)
	for i, ref := range e.Created {
		j := x.job(ref.ID)
		want(x, "ref", ref, domain.JobRef{
			ID: j.ID, RunID: r.ID, AccountID: r.AccountID, Bucket: "core", Class: o.Next[i].Class, Priority: r.Priority,
		})
		want(x, "spec", j.JobSpec, stored(o.Next[i], r.Priority))
		want(x, "parent", j.ParentID, parent.ID)
		want(x, "status", j.Status, domain.JobReady)
		want(x, "creation", j.CreatedAt, o.At)
	}
	r = x.wantCounts(r.ID)
	want(x, "counts", r.RunCounts, domain.RunCounts{Known: 3, Pending: 2, Succeeded: 1, Calls: 1})
	want(x, "status", r.Status, domain.RunRunning)
}

func nextDeduplicated(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c")
	first := x.succeed(refs[0].ID, spec("d"), spec("d"), spec("b"))
	want(x, "created, one of them twice in the outcome, one planned before", len(first.Created), 1)
	second := x.succeed(refs[1].ID, spec("d"), page("d", "2"))
	want(x, "created, one of them by an earlier outcome", len(second.Created), 1)
	done := x.succeed(first.Created[0].ID, spec("a"))
	want(x, "created, one that already succeeded", len(done.Created), 0)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 5, Pending: 2, Succeeded: 3, Calls: 3})
}

func nextConcurrent(x *fixture) {
	r, refs := x.running("octocat", resources(crowd)...)
	jobs := make([]domain.Job, crowd)
	for i := range jobs {
		jobs[i] = x.claim(refs[i].ID)
	}
	created := make([]int, crowd)
	at := x.instant()
	together(crowd, func(i int) {
		o := x.outcomeAt(jobs[i], domain.JobSucceeded, at)
		o.Next = specs("shared", "own "+refs[i].Bucket+jobs[i].Resource)
		e, err := x.Finish(x.Context(), o)
		if err != nil {
			x.Errorf("finish: %v", err)
		}
		created[i] = len(e.Created)
	})
	total := 0
	for _, n := range created {
		total += n
	}
	want(x, "jobs created", total, crowd+1)
	want(x, "jobs", len(x.jobsOf(r.ID)), 2*crowd+1)
	x.wantCounts(r.ID)
}

func children(x *fixture) {
	_, refs := x.running("octocat", "a", "b")
	e := x.succeed(refs[0].ID, page("a", "2"), page("a", "3"), spec("c"))
	got, err := x.Children(x.Context(), refs[0].ID)
	x.ok(err)
	want(x, "children", got, e.Created)
	x.claim(e.Created[0].ID)
	x.succeed(e.Created[1].ID)
	got, err = x.Children(x.Context(), refs[0].ID)
	x.ok(err)
	want(x, "children that still wait", got, e.Created[2:])
	for _, id := range []int64{refs[1].ID, 1 << 40} {
		got, err = x.Children(x.Context(), id)
		x.ok(err)
		want(x, "children of a childless job", len(got), 0)
	}
}

func announcedPages(x *fixture) {
	r, refs := x.running("octocat", "a")
	o := x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	o.Pages = 4
	second := page("a", "2")
	second.Expected = 3
	o.Next = append(specs("b"), second)
	e := x.finish(o)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 5, Pending: 2, Succeeded: 1, Calls: 1})
	o = x.outcome(x.claim(e.Created[1].ID), domain.JobSucceeded)
	o.Pages = 4 // a later page announces the same pages again
	third := page("a", "3")
	third.Expected = 2
	o.Next = []domain.JobSpec{third}
	e2 := x.finish(o)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 5, Pending: 2, Succeeded: 2, Calls: 2})
	x.succeed(e.Created[0].ID)
	// The walk ends a page early: what was announced and never came must not
	// leave the run open, nor its progress below the whole.
	closed := x.succeed(e2.Created[0].ID).Closed
	if closed == nil {
		x.Fatalf("the run did not close: %+v", x.run(r.ID))
	}
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 4, Succeeded: 4, Calls: 4})
}

func manyNext(x *fixture) {
	r, refs := x.running("octocat", "a")
	next := specs(resources(1000)...)
	e := x.succeed(refs[0].ID, next...)
	want(x, "jobs created", len(e.Created), len(next))
	jobs := x.jobsOf(r.ID)[1:]
	for i, j := range jobs {
		want(x, "spec", j.JobSpec, stored(next[i], r.Priority))
		want(x, "ref", e.Created[i].ID, j.ID)
	}
	x.wantCounts(r.ID)
}
