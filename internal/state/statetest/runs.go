package statetest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var runCases = []testCase{
	{"CreateRun", createRun},
	{"OneActiveRunPerAccount", oneActiveRun},
	{"ConcurrentCreatorsOpenOneRun", concurrentCreators},
	{"UnknownRuns", unknownRuns},
	{"RunQueries", runQueries},
}

var planCases = []testCase{
	{"PlanRunCreatesReadyJobs", planRun},
	{"PlanRunDeduplicates", planDeduplicates},
	{"PlanRunRepeatedAfterLostAnswer", planRepeated},
	{"PlanRunAfterRestart", planAfterRestart},
	{"PlanRunRefusedWhenEnded", planRefused},
}

func createRun(x *fixture) {
	a := x.account("octocat")
	anchor := x.instant()
	r, err := x.CreateRun(x.Context(), state.RunSpec{
		AccountID: a.ID, Trigger: domain.TriggerSignup, Priority: domain.PriorityLow, Anchor: anchor,
	})
	x.ok(err)
	if r.ID == 0 || r.CreatedAt.IsZero() {
		x.Fatalf("incomplete: %+v", r)
	}
	want(x, "run", r, domain.Run{
		ID: r.ID, AccountID: a.ID, Source: "github", Login: "octocat", Trigger: domain.TriggerSignup,
		Priority: domain.PriorityLow, Status: domain.RunCreated, Anchor: anchor, CreatedAt: r.CreatedAt,
	})
	want(x, "stored run", x.run(r.ID), r)
}

func oneActiveRun(x *fixture) {
	a, b := x.account("octocat"), x.account("hubot")
	first := x.created(a.ID)
	again, err := x.CreateRun(x.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	x.wantCode(err, domain.CodeConflict)
	want(x, "the active run", again, first)
	other := x.created(b.ID)
	want(x, "the other account's run", other.AccountID, b.ID)
	_, err = x.CancelRun(x.Context(), first.ID, "enough")
	x.ok(err)
	second := x.created(a.ID)
	if second.ID <= first.ID {
		x.Fatalf("the second run has id %d, the first %d", second.ID, first.ID)
	}
}

func concurrentCreators(x *fixture) {
	a := x.account("octocat")
	runs := make([]domain.Run, crowd)
	errs := make([]error, crowd)
	together(crowd, func(i int) {
		runs[i], errs[i] = x.CreateRun(x.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh})
	})
	opened := 0
	for i, err := range errs {
		if err == nil {
			opened++
		} else {
			x.wantCode(err, domain.CodeConflict)
		}
		want(x, "run", runs[i].ID, runs[0].ID)
	}
	want(x, "runs opened", opened, 1)
}

func unknownRuns(x *fixture) {
	_, err := x.Run(x.Context(), 99)
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.PlanRun(x.Context(), 99, specs("a"))
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.FailRun(x.Context(), 99, "")
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.CancelRun(x.Context(), 99, "")
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.CompleteRun(x.Context(), 99, nil)
	x.wantCode(err, domain.CodeNotFound)
	want(x, "jobs", x.waitingIDs(), []int64{})
}

func runQueries(x *fixture) {
	a, b := x.account("octocat"), x.account("hubot")
	var ids []int64 // newest first
	for range 5 {
		r := x.created(a.ID)
		_, err := x.CancelRun(x.Context(), r.ID, "")
		x.ok(err)
		ids = append([]int64{r.ID}, ids...)
	}
	active := x.created(b.ID)
	list := func(q state.RunQuery) []int64 {
		runs, err := x.Runs(x.Context(), q)
		x.ok(err)
		out := []int64{}
		for _, r := range runs {
			want(x, "listed run", r, x.run(r.ID))
			out = append(out, r.ID)
		}
		return out
	}
	want(x, "all", list(state.RunQuery{}), append([]int64{active.ID}, ids...))
	want(x, "of one account", list(state.RunQuery{AccountID: a.ID}), ids)
	want(x, "active ones", list(state.RunQuery{ActiveOnly: true}), []int64{active.ID})
	want(x, "active ones of one account", list(state.RunQuery{AccountID: a.ID, ActiveOnly: true}), []int64{})
	want(x, "first page", list(state.RunQuery{AccountID: a.ID, Limit: 2}), ids[:2])
	want(x, "second page", list(state.RunQuery{AccountID: a.ID, Limit: 2, BeforeID: ids[1]}), ids[2:4])
	want(x, "last page", list(state.RunQuery{AccountID: a.ID, Limit: 2, BeforeID: ids[3]}), ids[4:])
}

func planRun(x *fixture) {
	r := x.created(x.account("octocat").ID)
	specs := []domain.JobSpec{spec("user"), {
		Type: "WALK", Resource: "user", PageKey: "", Bucket: "graphql", Class: domain.ClassChild, Params: nil,
	}}
	refs, err := x.PlanRun(x.Context(), r.ID, specs)
	x.ok(err)
	want(x, "refs", refs, []domain.JobRef{
		{ID: refs[0].ID, RunID: r.ID, AccountID: r.AccountID, Bucket: "core", Class: domain.ClassDiscovery, Priority: domain.PriorityHigh},
		{ID: refs[1].ID, RunID: r.ID, AccountID: r.AccountID, Bucket: "graphql", Class: domain.ClassChild, Priority: domain.PriorityHigh},
	})
	j := x.job(refs[0].ID)
	if j.CreatedAt.IsZero() {
		x.Errorf("job %d has no creation time", j.ID)
	}
	want(x, "job", j, domain.Job{
		ID: refs[0].ID, RunID: r.ID, AccountID: r.AccountID, JobSpec: stored(spec("user"), domain.PriorityHigh),
		Status: domain.JobReady, CreatedAt: j.CreatedAt,
	})
	r = x.wantCounts(r.ID)
	want(x, "status", r.Status, domain.RunRunning)
	want(x, "counts", r.RunCounts, domain.RunCounts{Known: 2, Pending: 2})
	want(x, "waiting", x.waitingIDs(), refIDs(refs))
}

func planDeduplicates(x *fixture) {
	r := x.created(x.account("octocat").ID)
	refs, err := x.PlanRun(x.Context(), r.ID, append(specs("a", "b", "a"), page("a", "2"), page("a", "2")))
	x.ok(err)
	want(x, "number of jobs", len(refs), 3)
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 3, Pending: 3})
	other, refs := x.running("hubot", "a", "b")
	want(x, "jobs of another run", len(refs), 2)
	want(x, "counts of another run", x.wantCounts(other.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 2})
}

func planRepeated(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	again, err := x.PlanRun(x.Context(), r.ID, specs("a", "b"))
	x.ok(err)
	want(x, "repeated plan", again, refs)
	want(x, "run", x.wantCounts(r.ID), r)
	x.succeed(refs[0].ID, page("a", "2"))
	again, err = x.PlanRun(x.Context(), r.ID, specs("a", "b"))
	x.ok(err)
	want(x, "what still waits of the plan", refIDs(again), refIDs(refs[1:]))
	want(x, "jobs", len(x.jobsOf(r.ID)), 3)
}

func planAfterRestart(x *fixture) {
	r := x.created(x.account("octocat").ID)
	x = x.on(x.Reopen(x.t))
	want(x, "status", x.run(r.ID).Status, domain.RunCreated)
	refs, err := x.PlanRun(x.Context(), r.ID, specs("a", "b"))
	x.ok(err)
	x = x.on(x.Reopen(x.t))
	again, err := x.PlanRun(x.Context(), r.ID, specs("a", "b"))
	x.ok(err)
	want(x, "plan repeated after a restart", again, refs)
	next := x.succeed(refs[0].ID, spec("c")).Created
	if len(next) != 1 || next[0].ID <= refs[1].ID {
		x.Fatalf("after a restart the next job is %+v, the last was %d", next, refs[1].ID)
	}
}

func planRefused(x *fixture) {
	r, refs := x.running("octocat", "a")
	x.succeed(refs[0].ID)
	_, err := x.PlanRun(x.Context(), r.ID, specs("b"))
	x.wantCode(err, domain.CodeIllegalMove)
	_, err = x.CompleteRun(x.Context(), r.ID, []byte("{}"))
	x.ok(err)
	_, err = x.PlanRun(x.Context(), r.ID, specs("b"))
	x.wantCode(err, domain.CodeIllegalMove)
	want(x, "jobs", len(x.jobsOf(r.ID)), 1)
	if end := x.run(r.ID).FinishedAt; end.IsZero() || end.After(time.Now().Add(time.Hour)) {
		x.Errorf("the run ended at %v", end)
	}
}
