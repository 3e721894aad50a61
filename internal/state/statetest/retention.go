package statetest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var retentionCases = []testCase{
	{"PruneRunsKeepsASummary", pruneKeepsASummary},
	{"PruneRunsSparesTheNewestAndTheActive", pruneSpares},
	{"DeliveryBeginsOneRun", deliveryBeginsOneRun},
	{"DeliveredJobs", deliveredJobs},
	{"ResumeRunThatLacksStatistics", resumeWithoutStatistics},
}

// later is after everything that a store does in a test.
func later() time.Time { return time.Now().Add(time.Hour) }

func (x *fixture) prune(account int64, before time.Time, jobs int) int {
	x.Helper()
	n, err := x.PruneRuns(x.Context(), account, before, jobs)
	x.ok(err)
	return n
}

func pruneKeepsASummary(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c", "bad")
	for _, ref := range refs[:3] {
		o := x.outcome(x.claim(ref.ID), domain.JobSucceeded)
		o.Items = 7
		x.finish(o)
	}
	x.fail(refs[3].ID)
	x.complete(r.ID)
	ended, err := x.Run(x.Context(), r.ID)
	x.ok(err)
	x.created(r.AccountID)
	want(x, "deleted of what is not old enough", x.prune(r.AccountID, ended.FinishedAt, 10), 0)
	want(x, "deleted of another account", x.prune(r.AccountID+1000, later(), 10), 0)
	want(x, "deleted at first", x.prune(r.AccountID, later(), 3), 3)
	want(x, "deleted then", x.prune(r.AccountID, later(), 3), 1)
	want(x, "deleted at last", x.prune(r.AccountID, later(), 3), 0)
	want(x, "jobs that are left", len(x.jobsOf(r.ID)), 0)
	lines, err := x.Summary(x.Context(), r.ID)
	x.ok(err)
	want(x, "the summary", lines, []state.LedgerLine{{Type: "LIST", Known: 4, Stored: 3, Failed: 1, Items: 21}})
	left, err := x.Run(x.Context(), r.ID)
	x.ok(err)
	want(x, "the run", left, ended)
}

func pruneSpares(x *fixture) {
	first, refs := x.running("octocat", "a")
	x.succeed(refs[0].ID)
	x.complete(first.ID)
	want(x, "deleted of the newest run", x.prune(first.AccountID, later(), 10), 0)
	second, _ := x.runningFor(first.AccountID, "b")
	want(x, "deleted of the run before an active one", x.prune(first.AccountID, later(), 10), 1)
	want(x, "deleted of the active run", x.prune(first.AccountID, later(), 10), 0)
	want(x, "jobs of the active run", len(x.jobsOf(second.ID)), 1)
}

func deliveryBeginsOneRun(x *fixture) {
	a, b := x.account("octocat"), x.account("hubot")
	begin := func(account int64, delivery string) (domain.Run, error) {
		return x.CreateRun(x.Context(), state.RunSpec{
			AccountID: account, Trigger: domain.TriggerWebhook, Priority: domain.PriorityHigh, Anchor: x.instant(), Delivery: delivery,
		})
	}
	first, err := begin(a.ID, "72d3162e")
	x.ok(err)
	_, err = x.CancelRun(x.Context(), first.ID, "over")
	x.ok(err)
	again, err := begin(a.ID, "72d3162e")
	x.wantCode(err, domain.CodeConflict)
	want(x, "the run of the delivery", again.ID, first.ID)
	other, err := begin(b.ID, "72d3162e")
	x.ok(err)
	next, err := begin(a.ID, "another")
	x.ok(err)
	if next.ID == first.ID || other.ID == first.ID {
		x.Errorf("other deliveries, or of other accounts, began no run")
	}
}

// resumeWithoutStatistics: everything was collected, so that nothing is called.
func resumeWithoutStatistics(x *fixture) {
	r, refs := x.running("octocat", "a")
	x.succeed(refs[0].ID)
	_, err := x.FailRun(x.Context(), r.ID, domain.NoStatistics+"no memory")
	x.ok(err)
	waiting := x.resume(r.ID, domain.PriorityHigh)
	want(x, "jobs that wait", len(waiting), 0)
	run, err := x.Run(x.Context(), r.ID)
	x.ok(err)
	want(x, "the run", run.Status, domain.RunFinalizing)
	x.complete(r.ID)

	failed, refs := x.running("hubot", "a")
	x.succeed(refs[0].ID)
	_, err = x.FailRun(x.Context(), failed.ID, "by hand")
	x.ok(err)
	_, err = x.ResumeRun(x.Context(), failed.ID, domain.PriorityHigh, passing)
	x.wantCode(err, domain.CodeConflict)
}

// deliveredJobs go into the run that is under way, or into one of their own, once.
func deliveredJobs(x *fixture) {
	a := x.account("octocat")
	deliver := func(into int64, delivery string, resources ...string) (domain.Run, []domain.JobRef, error) {
		return x.Deliver(x.Context(), state.Delivered{Into: into, Jobs: specs(resources...), RunSpec: state.RunSpec{
			AccountID: a.ID, Trigger: domain.TriggerWebhook, Priority: domain.PriorityHigh, Anchor: x.instant(), Delivery: delivery,
		}})
	}
	own, made, err := deliver(0, "first", "a", "b")
	x.ok(err)
	want(x, "jobs of a new run", len(made), 2)
	want(x, "a new run", own.Status, domain.RunRunning)
	stored, err := x.Run(x.Context(), own.ID)
	x.ok(err)
	want(x, "pending of a new run", stored.Pending, int64(2))
	again, made, err := deliver(own.ID, "first", "a", "b")
	x.wantCode(err, domain.CodeConflict)
	want(x, "the run of the same delivery", again.ID, own.ID)
	want(x, "jobs of the same delivery", len(made), 0)
	_, _, err = deliver(0, "second", "c")
	x.wantCode(err, domain.CodeStale)
	joined, made, err := deliver(own.ID, "second", "b", "c")
	x.ok(err)
	want(x, "the run that is under way", joined.ID, own.ID)
	want(x, "jobs that were not there", len(made), 1)
	want(x, "priority of a job", made[0].Priority, domain.PriorityHigh)
	want(x, "all jobs", len(x.jobsOf(own.ID)), 3)
	for _, job := range x.jobsOf(own.ID) {
		x.succeed(job.ID)
	}
	stored, err = x.Run(x.Context(), own.ID)
	x.ok(err)
	want(x, "the run without jobs that wait", stored.Status, domain.RunFinalizing)
	_, _, err = deliver(own.ID, "third", "d")
	x.wantCode(err, domain.CodeStale)
	x.complete(own.ID)
	_, _, err = deliver(own.ID, "third", "d")
	x.wantCode(err, domain.CodeStale)
	again, _, err = deliver(0, "second", "c")
	x.wantCode(err, domain.CodeConflict)
	want(x, "the run of a delivery that joined it", again.ID, own.ID)
	for _, nameless := range []string{"d", "e"} {
		run, made, err := deliver(0, "", nameless)
		x.ok(err)
		want(x, "jobs of a delivery without a name", len(made), 1)
		x.succeed(made[0].ID)
		x.complete(run.ID)
	}
	before, err := x.Runs(x.Context(), state.RunQuery{AccountID: a.ID, Except: domain.TriggerWebhook})
	x.ok(err)
	want(x, "runs that no event began", len(before), 0)
	all, err := x.Runs(x.Context(), state.RunQuery{AccountID: a.ID, Except: domain.TriggerManual})
	x.ok(err)
	want(x, "runs that events began", len(all), 3)
}
