package statetest

import (
	"fmt"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var listCases = []testCase{
	{"ListAccounts", listAccounts},
	{"ListRuns", listRuns},
	{"ListJobs", listJobs},
	{"ListJobsPages", listJobPages},
	{"ListJobsLooksAtSoMany", listJobsBounded},
	{"AccountsOf", accountsOf},
	{"WithoutStatistics", withoutStatistics},
	{"StartedAt", startedAt},
}

// all follows a list to its end; no page may be longer than its limit.
func all[T any](x *fixture, limit int, read func(position int64) (state.Page[T], error)) []T {
	x.Helper()
	out := []T{}
	for position := int64(0); ; {
		page, err := read(position)
		x.ok(err)
		if len(page.Items) > state.PageLimit(limit) {
			x.Fatalf("a page of %d items, want %d at most", len(page.Items), state.PageLimit(limit))
		}
		out = append(out, page.Items...)
		if page.Next == 0 {
			return out
		}
		if page.Next == position {
			x.Fatalf("the page after %d is itself", position)
		}
		position = page.Next
	}
}

func listAccounts(x *fixture) {
	logins := func(q state.AccountList) []string {
		out := []string{}
		for _, a := range all(x, q.Limit, func(after int64) (state.Page[domain.Account], error) {
			q.After = after
			return x.ListAccounts(x.Context(), q)
		}) {
			stored, err := x.Account(x.Context(), a.ID)
			x.ok(err)
			want(x, "listed account", a, stored)
			out = append(out, a.Login)
		}
		return out
	}
	want(x, "none", logins(state.AccountList{}), []string{})
	for _, login := range []string{"a", "b", "c", "d", "e"} {
		x.account(login)
	}
	b, err := x.AccountByLogin(x.Context(), "github", "b")
	x.ok(err)
	_, err = x.SetAccountState(x.Context(), b.ID, domain.AccountPaused, "for a test")
	x.ok(err)
	want(x, "all", logins(state.AccountList{Limit: 2}), []string{"a", "b", "c", "d", "e"})
	want(x, "paused", logins(state.AccountList{States: []domain.AccountState{domain.AccountPaused, domain.AccountDeleted}, Limit: 1}), []string{"b"})
	want(x, "active", logins(state.AccountList{States: []domain.AccountState{domain.AccountActive}, Limit: 2}), []string{"a", "c", "d", "e"})
	want(x, "of another source", logins(state.AccountList{Source: "maplestory"}), []string{})
	want(x, "of the source", len(logins(state.AccountList{Source: "github"})), 5)
}

func listRuns(x *fixture) {
	a, b := x.account("a"), x.account("b")
	var of []int64
	for range 3 {
		run := x.created(a.ID)
		_, err := x.CancelRun(x.Context(), run.ID, "")
		x.ok(err)
		of = append(of, run.ID)
	}
	failed := x.created(b.ID)
	_, err := x.FailRun(x.Context(), failed.ID, "no root")
	x.ok(err)
	active := x.created(b.ID)
	ids := func(q state.RunList) []int64 {
		out := []int64{}
		for _, r := range all(x, q.Limit, func(before int64) (state.Page[domain.Run], error) {
			q.Before = before
			return x.ListRuns(x.Context(), q)
		}) {
			want(x, "listed run", r, x.run(r.ID))
			out = append(out, r.ID)
		}
		return out
	}
	canceled := slices.Clone(of)
	slices.Reverse(canceled)
	want(x, "all", ids(state.RunList{Limit: 2}), append([]int64{active.ID, failed.ID}, canceled...))
	want(x, "of an account", ids(state.RunList{AccountID: a.ID, Limit: 1}), canceled)
	want(x, "by status", ids(state.RunList{Statuses: []domain.RunStatus{domain.RunCanceled}, Limit: 2}), canceled)
	want(x, "by two", ids(state.RunList{Statuses: []domain.RunStatus{domain.RunCreated, domain.RunFailed}, Limit: 1}), []int64{active.ID, failed.ID})
	want(x, "by status of an account", ids(state.RunList{AccountID: b.ID, Statuses: []domain.RunStatus{domain.RunFailed}}), []int64{failed.ID})
	want(x, "of nobody", ids(state.RunList{AccountID: 1 << 40}), []int64{})
}

// manyJobs are two accounts with jobs of two types in every state.
func manyJobs(x *fixture) []domain.Job {
	for _, login := range []string{"octocat", "hubot"} {
		r := x.created(x.account(login).ID)
		var planned []domain.JobSpec
		for i := range 12 {
			s := spec(fmt.Sprintf("repo:%d", i))
			if i%3 == 0 {
				s.Type = "OTHER"
			}
			planned = append(planned, s)
		}
		refs, err := x.PlanRun(x.Context(), r.ID, planned)
		x.ok(err)
		x.succeed(refs[0].ID)
		x.succeed(refs[1].ID)
		for i, kind := range map[int]domain.FailureKind{2: domain.FailureServer, 3: domain.FailureTimeout, 4: domain.FailureTimeout} {
			o := x.outcome(x.claim(refs[i].ID), domain.JobFailed)
			o.Failure = &domain.Failure{Kind: kind, Message: "it failed"}
			x.finish(o)
		}
		x.claim(refs[5].ID)
		o := x.outcome(x.claim(refs[6].ID), domain.JobReady)
		o.Failure, o.CountFailure, o.NotBefore = &domain.Failure{Kind: domain.FailureServer, Message: "once"}, true, x.instant()
		x.finish(o)
	}
	jobs, err := x.Jobs(x.Context(), state.JobQuery{Limit: 1000})
	x.ok(err)
	return jobs
}

func (x *fixture) listedJobs(q state.JobList) []int64 {
	x.Helper()
	out := []int64{}
	for _, j := range all(x, q.Limit, func(after int64) (state.Page[domain.Job], error) {
		q.After = after
		return x.ListJobs(x.Context(), q)
	}) {
		out = append(out, j.ID)
	}
	return out
}

func (x *fixture) listedJobIDs(q state.JobList) []int64 {
	x.Helper()
	return append([]int64{}, all(x, q.Limit, func(after int64) (state.Page[int64], error) {
		q.After = after
		return x.ListJobIDs(x.Context(), q)
	})...)
}

// listJobs tries every combination of filters against all jobs.
func listJobs(x *fixture) {
	jobs := manyJobs(x)
	statuses := [][]domain.JobStatus{
		nil, {domain.JobFailed}, {domain.JobReady}, {domain.JobRunning, domain.JobReady}, {domain.JobSucceeded}, {domain.JobFailed, domain.JobRunning}, {domain.JobCanceled},
	}
	for _, run := range []int64{0, jobs[0].RunID, 1 << 40} {
		for _, account := range []int64{0, jobs[0].AccountID, jobs[len(jobs)-1].AccountID} {
			for _, kind := range []string{"", "OTHER", "NONE"} {
				for _, in := range statuses {
					for _, why := range []domain.FailureKind{"", domain.FailureTimeout, domain.FailureServer} {
						q := state.JobList{RunID: run, AccountID: account, Type: kind, Statuses: in, ErrorKind: why, Limit: 10}
						expected := []int64{}
						for _, j := range jobs {
							if (run == 0 || j.RunID == run) && (account == 0 || j.AccountID == account) && (kind == "" || j.Type == kind) &&
								(in == nil || slices.Contains(in, j.Status)) && (why == "" || j.ErrorKind == why) {
								expected = append(expected, j.ID)
							}
						}
						if got := x.listedJobs(q); !slices.Equal(got, expected) {
							x.Fatalf("%+v: got %v, want %v", q, got, expected)
						}
						if got := x.listedJobIDs(q); !slices.Equal(got, expected) {
							x.Fatalf("%+v: got the ids %v, want %v", q, got, expected)
						}
					}
				}
			}
		}
	}
}

func listJobPages(x *fixture) {
	r, refs := x.running("octocat", resources(250)...)
	page, err := x.ListJobs(x.Context(), state.JobList{RunID: r.ID})
	x.ok(err)
	want(x, "without a limit", len(page.Items), 100)
	want(x, "listed job", page.Items[42], x.job(refs[42].ID))
	want(x, "position", page.Next, page.Items[99].ID)
	want(x, "all", x.listedJobs(state.JobList{RunID: r.ID, Limit: 99}), refIDs(refs))
	want(x, "all of all", x.listedJobs(state.JobList{Limit: 250}), refIDs(refs))
}

// listJobsBounded has more jobs than a page looks at before the one that is asked
// for: the page ends without it, and says where to go on.
func listJobsBounded(x *fixture) {
	_, refs := x.running("octocat", resources(state.WalkLimit+10)...)
	last := refs[len(refs)-1].ID
	x.succeed(last)
	for _, q := range []state.JobList{
		{Statuses: []domain.JobStatus{domain.JobSucceeded}},
		{RunID: refs[0].RunID, Statuses: []domain.JobStatus{domain.JobSucceeded}},
		{AccountID: refs[0].AccountID, Statuses: []domain.JobStatus{domain.JobSucceeded}},
	} {
		page, err := x.ListJobs(x.Context(), q)
		x.ok(err)
		if len(page.Items) != 0 || page.Next == 0 || page.Next >= last {
			x.Fatalf("%+v: the first page has %d jobs and goes on after %d", q, len(page.Items), page.Next)
		}
		want(x, "in the end", x.listedJobs(q), []int64{last})
		want(x, "by ids", x.listedJobIDs(q), []int64{last})
	}
}

func accountsOf(x *fixture) {
	a, b := x.account("a"), x.account("b")
	x.account("c")
	list := func(most int, owners ...string) []string {
		accounts, err := x.AccountsOf(x.Context(), owners, most)
		x.ok(err)
		out := []string{}
		for _, a := range accounts {
			out = append(out, a.Login)
		}
		return out
	}
	want(x, "of nobody", list(10), []string{})
	want(x, "of one", list(10, b.Owner), []string{"b"})
	want(x, "of two and a stranger", list(10, b.Owner, a.Owner, "stranger"), []string{"a", "b"})
	want(x, "so many", list(1, b.Owner, a.Owner), []string{"a"})
}

// withoutStatistics has runs whose statistics were given up, and others that
// failed or were made up for.
func withoutStatistics(x *fixture) {
	lacking := func(account int64) int64 {
		r, refs := x.runningFor(account, "a")
		x.succeed(refs[0].ID)
		_, err := x.FailRun(x.Context(), r.ID, domain.NoStatistics+"out of memory")
		x.ok(err)
		return r.ID
	}
	a, b, c := x.account("a"), x.account("b"), x.account("c")
	first := lacking(a.ID)
	lacking(b.ID) // made up for by its next run
	r, refs := x.runningFor(b.ID, "a")
	x.succeed(refs[0].ID)
	_, err := x.CompleteRun(x.Context(), r.ID, []byte("{}"))
	x.ok(err)
	other := x.created(c.ID)
	_, err = x.FailRun(x.Context(), other.ID, "no root")
	x.ok(err)
	newest := lacking(c.ID)
	ids := func(most int) []int64 {
		runs, err := x.WithoutStatistics(x.Context(), most)
		x.ok(err)
		out := []int64{}
		for _, r := range runs {
			want(x, "listed run", r, x.run(r.ID))
			out = append(out, r.ID)
		}
		return out
	}
	want(x, "all but the one that was made up for", ids(10), []int64{newest, first})
	want(x, "so many", ids(1), []int64{newest})
}

func startedAt(x *fixture) {
	_, refs := x.running("octocat", "a", "b")
	want(x, "before", x.job(refs[0].ID).StartedAt.IsZero(), true)
	at := x.instant()
	job, err := x.take(state.Claim{Job: refs[0].ID, At: at})
	x.ok(err)
	want(x, "begun", job.StartedAt, at)
	o := x.outcome(job, domain.JobReady)
	o.NotBefore = x.instant()
	x.finish(o)
	again := x.instant()
	job, err = x.take(state.Claim{Job: refs[0].ID, Attempt: 1, At: again})
	x.ok(err)
	want(x, "begun again", job.StartedAt, again)
	x.finish(x.outcome(job, domain.JobSucceeded))
	want(x, "ended", x.job(refs[0].ID).StartedAt, again)
	want(x, "the other", x.job(refs[1].ID).StartedAt.IsZero(), true)
}
