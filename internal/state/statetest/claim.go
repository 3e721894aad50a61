package statetest

import (
	"sync/atomic"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var claimCases = []testCase{
	{"ClaimTakesAWaitingJob", claimTakes},
	{"ClaimNotWaitingIsStale", claimStale},
	{"ConcurrentClaimsOneWins", concurrentClaims},
	{"ConcurrentClaimsOfManyJobs", claimMany},
	{"ClaimGoesByAnAccountAsItIs", claimAccount},
	{"ClaimStoresTheWindow", claimWindow},
	{"ClaimTakesOverFromALostWorker", claimTakeOver},
}

func claimTakes(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	before := x.job(refs[0].ID)
	j := x.claim(refs[0].ID)
	before.Status, before.Attempt, before.StartedAt = domain.JobRunning, 1, instant(x.tick)
	want(x, "claimed job", j, before)
	want(x, "stored job", x.job(j.ID), j)
	want(x, "waiting", x.waitingIDs(), refIDs(refs[1:]))
	want(x, "counts", x.wantCounts(r.ID).RunCounts, domain.RunCounts{Known: 2, Pending: 2, Calls: 1})
	x.finish(x.outcome(j, domain.JobReady))
	want(x, "second attempt", x.claim(j.ID).Attempt, int64(2))
	want(x, "calls", x.wantCounts(r.ID).Calls, int64(2))
}

func claimStale(x *fixture) {
	r, refs := x.running("octocat", "running", "done", "failed", "paused", "left")
	refuse := func(what string, id int64) {
		x.Helper()
		before, run := x.job(id), x.run(r.ID)
		_, err := x.take(state.Claim{Job: id, Attempt: before.Attempt, At: x.instant()})
		x.wantCode(err, domain.CodeStale)
		want(x, what+" job", x.job(id), before)
		want(x, what+" job's run", x.run(r.ID), run)
	}
	x.claim(refs[0].ID)
	_, err := x.take(state.Claim{Job: refs[0].ID, At: x.instant()})
	x.wantCode(err, domain.CodeStale)
	want(x, "job of another attempt", x.job(refs[0].ID).Attempt, int64(1))
	x.succeed(refs[1].ID)
	refuse("succeeded", refs[1].ID)
	x.fail(refs[2].ID)
	refuse("failed", refs[2].ID)
	x.finish(x.outcome(x.claim(refs[3].ID), domain.JobPaused))
	refuse("paused", refs[3].ID)
	_, err = x.CancelRun(x.Context(), r.ID, "enough")
	x.ok(err)
	refuse("canceled", refs[4].ID)
	_, err = x.take(state.Claim{Job: 1 << 40, At: x.instant()})
	x.wantCode(err, domain.CodeStale)
}

// claimAccount is what keeps a process with an old copy of an account from
// making calls with its old credential, or on an owner's ration that it does
// not draw on.
func claimAccount(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c", "d", "e")
	version := func() int64 {
		a, err := x.Account(x.Context(), r.AccountID)
		x.ok(err)
		return a.Version
	}
	claim := func(ref domain.JobRef, account int64) error {
		_, err := x.take(state.Claim{Job: ref.ID, Account: account, At: x.instant()})
		return err
	}
	first := version()
	x.ok(claim(refs[0], first))
	o := x.outcome(x.job(refs[0].ID), domain.JobSucceeded)
	o.Owner = "somebody else"
	x.finish(o)
	x.wantCode(claim(refs[1], first), domain.CodeStale)
	want(x, "job", x.job(refs[1].ID).Attempt, int64(0))
	learnt := version()
	x.ok(claim(refs[1], learnt))
	_, err := x.ReserveForOwner(x.Context(), r.AccountID, 7, domain.Hours{})
	x.ok(err)
	x.wantCode(claim(refs[2], learnt), domain.CodeStale)
	x.ok(claim(refs[2], 0))
	o = x.outcome(x.job(refs[1].ID), domain.JobSucceeded)
	o.Owner = "somebody else"
	before := version()
	x.finish(o)
	want(x, "version after what was known", version(), before)
}

// claimTakeOver is what a worker does with a job whose lease it got because
// the last holder vanished, or whose own claim was committed without an answer.
func claimTakeOver(x *fixture) {
	r, refs := x.running("octocat", "a")
	first := x.claim(refs[0].ID)
	second := x.claim(refs[0].ID)
	want(x, "attempts", [2]int64{first.Attempt, second.Attempt}, [2]int64{1, 2})
	want(x, "lost workers", second.Lost, 1)
	_, err := x.Finish(x.Context(), x.outcome(first, domain.JobSucceeded))
	x.wantCode(err, domain.CodeStale)
	x.finish(x.outcome(second, domain.JobSucceeded))
	want(x, "calls", x.wantCounts(r.ID).Calls, int64(2))
}

func concurrentClaims(x *fixture) {
	r, refs := x.running("octocat", "a")
	var won atomic.Int64
	errs := make([]error, crowd)
	at := x.instant()
	together(crowd, func(i int) {
		j, err := x.take(state.Claim{Job: refs[0].ID, At: at})
		if err == nil {
			won.Add(1)
			if j.ID != refs[0].ID || j.Attempt != 1 {
				x.Errorf("the winner got %+v", j)
			}
		}
		errs[i] = err
	})
	want(x, "winners", won.Load(), int64(1))
	for _, err := range errs {
		if err != nil {
			x.wantCode(err, domain.CodeStale)
		}
	}
	want(x, "calls", x.wantCounts(r.ID).Calls, int64(1))
}

// claimMany lets two goroutines fight for each of many jobs at once.
func claimMany(x *fixture) {
	r, refs := x.running("octocat", resources(crowd)...)
	var won [crowd]atomic.Int64
	at := x.instant()
	together(2*crowd, func(i int) {
		j, err := x.take(state.Claim{Job: refs[i%crowd].ID, At: at})
		if err != nil {
			if domain.CodeOf(err) != domain.CodeStale {
				x.Errorf("claim: %v", err)
			}
			return
		}
		won[i%crowd].Add(1)
		if j.ID != refs[i%crowd].ID {
			x.Errorf("asked for job %d, got %d", refs[i%crowd].ID, j.ID)
		}
	})
	for i := range won {
		want(x, "winners", won[i].Load(), int64(1))
	}
	want(x, "calls", x.wantCounts(r.ID).Calls, int64(crowd))
}

func claimWindow(x *fixture) {
	_, refs := x.running("octocat", "a", "b")
	w := domain.QuotaWindow{Owner: "o", Bucket: "core", Limit: 5000, Remaining: 4999, Reset: x.instant(), Started: x.instant(), Seq: 1}
	_, err := x.take(state.Claim{Job: refs[0].ID, At: x.instant(), Window: &w})
	x.ok(err)
	want(x, "windows", x.windows(), []domain.QuotaWindow{w})
	later := w
	later.Remaining, later.Seq = 4998, 2
	_, err = x.take(state.Claim{Job: refs[0].ID, At: x.instant(), Window: &later})
	x.wantCode(err, domain.CodeStale)
	want(x, "windows after a stale claim", x.windows(), []domain.QuotaWindow{w})
}
