package statetest

import (
	"errors"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var queryCases = []testCase{
	{"WaitingInIDOrder", waitingOrder},
	{"WaitingStreams", waitingStreams},
	{"WaitingStops", waitingStops},
	{"UnfinishedAtOneInstant", unfinished},
	{"JobQueries", jobQueries},
	{"Load", load},
	{"DefaultLimits", defaultLimits},
	{"Ledger", ledger},
	{"Outlook", outlook},
	{"Expectation", expectation},
	{"Check", check},
}

// waitingOrder has two runs whose jobs take turns.
func waitingOrder(x *fixture) {
	_, a := x.running("octocat", "a")
	_, b := x.running("hubot", "a")
	var want1 []int64
	a1 := x.succeed(a[0].ID, specs("b", "c")...).Created
	b1 := x.succeed(b[0].ID, specs("b", "c")...).Created
	a2 := x.succeed(a1[0].ID, spec("d")).Created
	want1 = append(want1, a1[1].ID, b1[0].ID, b1[1].ID, a2[0].ID)
	slices.Sort(want1)
	want(x, "waiting", x.waitingIDs(), want1)
	x.ok(x.Waiting(x.Context(), func(ref domain.JobRef) error {
		j := x.job(ref.ID)
		want(x, "ref", ref, domain.JobRef{
			ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, Bucket: j.Bucket, Class: j.Class, Priority: j.Priority, NotBefore: j.NotBefore,
		})
		return nil
	}))
}

func waitingStreams(x *fixture) {
	const many = 10_500
	_, refs := x.running("octocat", resources(many)...)
	want(x, "planned", len(refs), many)
	x.claim(refs[many/2].ID)
	expected := slices.Delete(refIDs(refs), many/2, many/2+1)
	if got := x.waitingIDs(); !slices.Equal(got, expected) {
		x.Fatalf("got %d waiting jobs, want %d in order", len(got), len(expected))
	}
}

func waitingStops(x *fixture) {
	x.running("octocat", "a", "b", "c")
	calls, stop := 0, errors.New("stop")
	err := x.Waiting(x.Context(), func(domain.JobRef) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		x.Fatalf("after %d calls got error %v, want one call and its error", calls, err)
	}
}

// unfinished has jobs move on while they are listed: the list is of one instant,
// over more jobs than a store reads at a time.
func unfinished(x *fixture) {
	const many = 10_500
	_, refs := x.running("octocat", resources(many)...)
	running := x.claim(refs[1].ID)
	x.succeed(refs[2].ID)
	var ids, busy []int64
	x.ok(x.Unfinished(x.Context(), func(ref domain.JobRef, isRunning bool) error {
		if len(ids) == 0 {
			// Behind what is listed first: one begins, one ends, one is new.
			x.claim(refs[many-1].ID)
			x.succeed(refs[many-2].ID, page("r", "new"))
		}
		ids = append(ids, ref.ID)
		if isRunning {
			busy = append(busy, ref.ID)
		}
		return nil
	}))
	want(x, "running", busy, []int64{running.ID})
	if expected := slices.Delete(refIDs(refs), 2, 3); !slices.Equal(ids, expected) {
		x.Fatalf("got %d unfinished jobs, want %d in order", len(ids), len(expected))
	}
}

func jobQueries(x *fixture) {
	r, refs := x.running("octocat", resources(5)...)
	other, _ := x.running("hubot", "a")
	x.succeed(refs[1].ID)
	x.fail(refs[3].ID)
	list := func(q state.JobQuery) []int64 {
		jobs, err := x.Jobs(x.Context(), q)
		x.ok(err)
		out := []int64{}
		for _, j := range jobs {
			want(x, "listed job", j, x.job(j.ID))
			out = append(out, j.ID)
		}
		return out
	}
	all := refIDs(refs)
	want(x, "of a run", list(state.JobQuery{RunID: r.ID}), all)
	want(x, "of all runs", len(list(state.JobQuery{})), 6)
	want(x, "first page", list(state.JobQuery{RunID: r.ID, Limit: 2}), all[:2])
	want(x, "second page", list(state.JobQuery{RunID: r.ID, Limit: 2, AfterID: all[1]}), all[2:4])
	want(x, "last page", list(state.JobQuery{RunID: r.ID, Limit: 2, AfterID: all[3]}), all[4:])
	ended := []domain.JobStatus{domain.JobFailed, domain.JobSucceeded}
	want(x, "by status", list(state.JobQuery{RunID: r.ID, Statuses: ended}), []int64{all[1], all[3]})
	want(x, "by status of another run", list(state.JobQuery{RunID: other.ID, Statuses: ended}), []int64{})
	_, err := x.Job(x.Context(), 1<<40)
	x.wantCode(err, domain.CodeNotFound)
}

func load(x *fixture) {
	_, refs := x.running("octocat", resources(5)...)
	x.succeed(refs[1].ID)
	jobs, err := x.Load(x.Context(), []int64{refs[3].ID, refs[1].ID, 1 << 40})
	x.ok(err)
	slices.SortFunc(jobs, func(a, b domain.Job) int { return int(a.ID - b.ID) })
	want(x, "jobs", jobs, []domain.Job{x.job(refs[1].ID), x.job(refs[3].ID)})
	jobs, err = x.Load(x.Context(), nil)
	x.ok(err)
	want(x, "no jobs", len(jobs), 0)
}

func defaultLimits(x *fixture) {
	r, _ := x.running("octocat", resources(130)...)
	jobs, err := x.Jobs(x.Context(), state.JobQuery{RunID: r.ID})
	x.ok(err)
	want(x, "jobs without a limit", len(jobs), 100)
	jobs, err = x.Jobs(x.Context(), state.JobQuery{RunID: r.ID, Limit: 120})
	x.ok(err)
	want(x, "jobs with a limit", len(jobs), 120)
	a := x.account("hubot")
	for range 101 {
		_, err := x.CancelRun(x.Context(), x.created(a.ID).ID, "")
		x.ok(err)
	}
	runs, err := x.Runs(x.Context(), state.RunQuery{AccountID: a.ID})
	x.ok(err)
	want(x, "runs without a limit", len(runs), 100)
}

func outlook(x *fixture) {
	r := x.created(x.account("octocat").ID)
	root := spec("user")
	refs, err := x.PlanRun(x.Context(), r.ID, []domain.JobSpec{root})
	x.ok(err)
	look := func() []state.Outlook {
		got, err := x.Outlook(x.Context(), r.ID)
		x.ok(err)
		return got
	}
	want(x, "outlook of a plan", look(), []state.Outlook{{Bucket: "core", Left: 1, Discovering: 1}})
	long, other, walk := spec("repo:1"), spec("repo:2"), spec("more")
	walk.Class, walk.Bucket = domain.ClassWalk, "search"
	long.Class, long.Expected = domain.ClassChild, 7
	other.Class, other.Bucket = domain.ClassChild, "graphql"
	created := x.succeed(refs[0].ID, long, other, walk).Created
	want(x, "outlook", look(), []state.Outlook{
		{Bucket: "core", Done: 1, Left: 7}, {Bucket: "graphql", Left: 1}, {Bucket: "search", Left: 1, Discovering: 1},
	})
	want(x, "known", x.wantCounts(r.ID).Known, int64(10))
	x.claim(created[1].ID)
	want(x, "a job under way", look()[1], state.Outlook{Bucket: "graphql", Left: 1, Running: 1})
	rest := page("repo:1", "2")
	rest.Class, rest.Expected = domain.ClassChild, 4
	x.succeed(created[0].ID, rest)
	want(x, "a shorter walk than expected", look()[0], state.Outlook{Bucket: "core", Done: 2, Left: 4})
	want(x, "known", x.wantCounts(r.ID).Known, int64(8))
	x.fail(created[1].ID)
	want(x, "a failed job expects nothing", look()[1], state.Outlook{Bucket: "graphql", Done: 1})
}

func expectation(x *fixture) {
	r := x.created(x.account("octocat").ID)
	want(x, "expected of a new run", r.Expected, domain.Expectation{})
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	first := domain.Expectation{At: now, Calls: 12, Ends: now.Add(time.Hour)}
	x.ok(x.Expect(x.Context(), r.ID, first))
	x.ok(x.Expect(x.Context(), r.ID, domain.Expectation{At: now.Add(time.Minute), Calls: 7, Ends: now}))
	got, err := x.Run(x.Context(), r.ID)
	x.ok(err)
	want(x, "the first that was expected", got.Expected, first)
	_, err = x.CancelRun(x.Context(), r.ID, "")
	x.ok(err)
	runs, err := x.Runs(x.Context(), state.RunQuery{AccountID: r.AccountID})
	x.ok(err)
	want(x, "what was expected of a run that ended", runs[0].Expected, first)
}

func ledger(x *fixture) {
	r, refs := x.running("octocat", "user", "repo:1", "repo:2")
	o := x.outcome(x.claim(refs[1].ID), domain.JobSucceeded)
	o.Items, o.Pages = 100, 3
	second := page("repo:1", "2")
	second.Expected = 2
	o.Next = []domain.JobSpec{second}
	created := x.finish(o).Created
	x.fail(refs[2].ID)
	lines := func() []state.LedgerLine {
		got, err := x.Ledger(x.Context(), r.ID)
		x.ok(err)
		return got
	}
	want(x, "ledger", lines(), []state.LedgerLine{
		{Type: "LIST", Resource: "user", Known: 1, Unknown: 1, Because: "1 page to come"},
		{Type: "LIST", Resource: "repo:1", Announced: 3, Known: 3, Stored: 1, Items: 100, Unknown: 2, Because: "2 pages to come"},
		{Type: "LIST", Resource: "repo:2", Known: 1, Failed: 1, Unknown: 1, Because: "1 page failed: " + x.job(refs[2].ID).Error},
	})
	third := page("repo:1", "3")
	for _, items := range []int{100, 17} {
		o = x.outcome(x.claim(created[0].ID), domain.JobSucceeded)
		o.Items = items
		if items == 100 {
			o.Next = []domain.JobSpec{third}
		}
		created = x.finish(o).Created
	}
	want(x, "a complete resource", lines()[1], state.LedgerLine{
		Type: "LIST", Resource: "repo:1", Announced: 3, Known: 3, Stored: 3, Items: 217,
	})
	// What was put off says why; what was dropped is no gap.
	o = x.outcome(x.claim(refs[0].ID), domain.JobReady)
	o.Failure = &domain.Failure{Kind: domain.FailureServer, Message: "a partial answer"}
	x.finish(o)
	want(x, "a page that waits", lines()[0].Because, "1 page to come: a partial answer")
	o = x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	o.Next = []domain.JobSpec{page("repo:3", "1"), page("repo:3", "2")}
	created = x.finish(o).Created
	o = x.outcome(x.claim(created[0].ID), domain.JobSucceeded)
	o.DropResource = "repo:3"
	x.finish(o)
	want(x, "a resource that went", lines()[3], state.LedgerLine{Type: "LIST", Resource: "repo:3", Known: 2, Stored: 1, Dropped: 1})
	want(x, "what is complete", lines()[0], state.LedgerLine{Type: "LIST", Resource: "user", Known: 1, Stored: 1})
	run, err := x.Run(x.Context(), r.ID)
	x.ok(err)
	want(x, "gaps", state.Gaps(run, lines()), []state.Gap{{Type: "LIST", Resource: "repo:2", Because: "1 page failed: " + x.job(refs[2].ID).Error}})
	other, err := x.Ledger(x.Context(), 1<<40)
	x.ok(err)
	want(x, "ledger of no run", len(other), 0)
}

func check(x *fixture) {
	x.ok(x.Check(x.Context()))
	x.ok(x.Check(x.Context()))
	x.ok(x.Close())
	if err := x.Check(x.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		x.Errorf("a closed store says %v, want code unavailable", err)
	}
	if _, err := x.Accounts(x.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		x.Errorf("a closed store reads with %v, want code unavailable", err)
	}
	x.ok(x.Close())
}
