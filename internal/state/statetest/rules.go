package statetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// ruled is a run to which random things happen, many at once. What comes of them
// is what the rules of the port say: a store that decides in its own language
// decides the same.
type ruled struct {
	x       *fixture
	dice    *rand.Rand
	account domain.Account
	run     domain.Run
	names   int
}

// checkRules compares a store with the rules beside the port.
func checkRules(x *fixture) {
	r := &ruled{x: x, dice: rand.New(rand.NewPCG(testkit.Seed(x.t), 2)), account: x.account("ruled")}
	r.begin()
	steps := []func(){r.claim, r.claim, r.claim, r.finish, r.finish, r.drop, r.pause, r.reserve}
	for range testkit.Effort(40, 400) {
		if r.run.Status != domain.RunRunning {
			_, err := x.CompleteRun(x.Context(), r.run.ID, []byte("{}"))
			x.ok(err)
			r.begin()
		}
		steps[r.dice.IntN(len(steps))]()
		r.run = x.wantCounts(r.run.ID)
		if r.dice.IntN(25) == 0 && r.run.Status == domain.RunRunning {
			r.cancel()
			r.begin()
		}
	}
}

func (r *ruled) begin() {
	_, err := r.x.SetAccountState(r.x.Context(), r.account.ID, domain.AccountActive, "")
	r.x.ok(err)
	run := r.x.created(r.account.ID)
	_, err = r.x.PlanRun(r.x.Context(), run.ID, r.specs(12))
	r.x.ok(err)
	r.run = r.x.run(run.ID)
}

// specs are pages of a few resources.
func (r *ruled) specs(n int) []domain.JobSpec {
	var out []domain.JobSpec
	for range n {
		r.names++
		s := page(r.resource(), fmt.Sprint("page ", r.names))
		s.Expected = r.dice.IntN(4)
		out = append(out, s)
	}
	return out
}

func (r *ruled) resource() string { return fmt.Sprint("resource ", r.dice.IntN(4)) }

// some are a few jobs of the run, and the account as it is.
func (r *ruled) some() []domain.Job {
	var err error
	r.account, err = r.x.Account(r.x.Context(), r.account.ID)
	r.x.ok(err)
	jobs := r.x.jobsOf(r.run.ID)
	r.dice.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	return jobs[:min(len(jobs), 1+r.dice.IntN(8))]
}

func (r *ruled) held(j *domain.Job) *state.Held {
	h := state.HeldOf(j)
	h.Version = r.account.Version
	return &h
}

// claim claims jobs in any state, at once.
func (r *ruled) claim() {
	jobs := r.some()
	claims, errs := make([]state.Claim, len(jobs)), make([]error, len(jobs))
	for i := range jobs {
		claims[i] = state.Claim{Job: jobs[i].ID, Attempt: jobs[i].Attempt, At: r.x.instant()}
		if r.dice.IntN(4) == 0 {
			claims[i].Attempt += r.dice.Int64N(3) - 1
		}
		if r.dice.IntN(2) == 0 {
			claims[i].Account = r.account.Version - r.dice.Int64N(2)
		}
	}
	together(len(jobs), func(i int) { errs[i] = r.x.Claim(r.x.Context(), claims[i]) })
	for i := range jobs {
		wins, now := claims[i].Wins(r.held(&jobs[i])), r.x.job(jobs[i].ID)
		if (errs[i] == nil) != wins || !wins && domain.CodeOf(errs[i]) != domain.CodeStale {
			r.x.Fatalf("claim %+v of %+v (account %+v): %v, by the rule it wins: %t", claims[i], jobs[i], r.account, errs[i], wins)
		}
		if wins {
			if jobs[i].Status == domain.JobRunning {
				jobs[i].Lost++
			}
			jobs[i].Attempt++
			jobs[i].Status = domain.JobRunning
			// Claims that are made together may have one instant.
			jobs[i].StartedAt = now.StartedAt
		}
		want(r.x, "job after a claim", now, jobs[i])
	}
}

// finish ends attempts at jobs in any state, at once.
func (r *ruled) finish() {
	jobs := r.some()
	outcomes, errs := make([]state.Outcome, len(jobs)), make([]error, len(jobs))
	effects := make([]state.Effect, len(jobs))
	left := r.run.Pending
	for i := range jobs {
		to := []domain.JobStatus{domain.JobSucceeded, domain.JobSucceeded, domain.JobFailed, domain.JobReady}[r.dice.IntN(4)]
		o := state.Outcome{Job: jobs[i].ID, Attempt: jobs[i].Attempt, At: r.x.instant(), To: to}
		if r.dice.IntN(4) == 0 {
			o.Attempt += r.dice.Int64N(3) - 1
		}
		if to == domain.JobSucceeded && r.dice.IntN(2) == 0 {
			o.Items, o.Next = r.dice.IntN(5), r.specs(r.dice.IntN(3))
		}
		outcomes[i] = o
	}
	together(len(jobs), func(i int) { effects[i], errs[i] = r.x.Finish(r.x.Context(), outcomes[i]) })
	commit, closed := state.NewCommit(nil), 0
	for i := range jobs {
		a := &state.Attempt{Outcome: outcomes[i]}
		fresh, status := commit.Admit(a, r.held(&jobs[i])), jobs[i].Status
		if domain.CodeOf(errs[i]) != domain.CodeOf(a.Err) || (errs[i] == nil) != (a.Err == nil) {
			r.x.Fatalf("%+v of %+v: %v, by the rule: %v", outcomes[i], jobs[i], errs[i], a.Err)
		}
		if fresh {
			status = outcomes[i].To
			commit.Run(r.run.ID).Pending += int64(len(outcomes[i].Next))
		}
		if _, from := state.Follow(r.account.State); r.account.State == domain.AccountPaused && slices.Contains(from, status) {
			status = domain.JobPaused
		}
		want(r.x, "status after an outcome", r.x.job(jobs[i].ID).Status, status)
		if effects[i].Closed != nil && fresh {
			closed++
		}
	}
	after := domain.Run{Status: domain.RunRunning, RunCounts: domain.RunCounts{Pending: left + commit.Run(r.run.ID).Pending}}
	closes := commit.Run(r.run.ID).Closes(&after)
	want(r.x, "run closed", closed == 1, closes)
	want(r.x, "run is FINALIZING", r.x.run(r.run.ID).Status == domain.RunFinalizing, closes)
}

// drop ends a job with which the upstream was found to have lost a resource.
func (r *ruled) drop() {
	jobs := r.x.jobsOf(r.run.ID)
	i := slices.IndexFunc(jobs, func(j domain.Job) bool { return j.Status == domain.JobRunning })
	if i < 0 {
		return
	}
	o := r.x.outcome(jobs[i], domain.JobSucceeded)
	o.DropResource = r.resource()
	e := r.x.finish(o)
	canceled := []int64{}
	for _, j := range jobs {
		if j.ID != o.Job && j.Resource == o.DropResource && slices.Contains(state.Droppable(), j.Status) {
			canceled = append(canceled, j.ID)
		}
	}
	slices.Sort(e.Canceled)
	want(r.x, "dropped", append([]int64{}, e.Canceled...), canceled)
}

// pause pauses the account, or resumes it.
func (r *ruled) pause() {
	to := domain.AccountPaused
	if r.account.State == domain.AccountPaused {
		to = domain.AccountActive
	}
	jobs := r.x.jobsOf(r.run.ID)
	_, err := r.x.SetAccountState(r.x.Context(), r.account.ID, to, "a test")
	r.x.ok(err)
	r.account, err = r.x.Account(r.x.Context(), r.account.ID)
	r.x.ok(err)
	become, from := state.Follow(to)
	for _, j := range jobs {
		if slices.Contains(from, j.Status) {
			j.Status = become
		}
		want(r.x, "status under the account", r.x.job(j.ID).Status, j.Status)
	}
}

// reserve gives the account another version.
func (r *ruled) reserve() {
	_, err := r.x.ReserveForOwner(r.x.Context(), r.account.ID, r.dice.IntN(100), domain.Hours{})
	r.x.ok(err)
}

// cancel ends the run.
func (r *ruled) cancel() {
	jobs := r.x.jobsOf(r.run.ID)
	_, err := r.x.CancelRun(r.x.Context(), r.run.ID, "enough")
	r.x.ok(err)
	for _, j := range jobs {
		if slices.Contains(state.Unfinished(), j.Status) {
			j.Status = domain.JobCanceled
		}
		want(r.x, "status after the run was canceled", r.x.job(j.ID).Status, j.Status)
	}
	r.x.wantCounts(r.run.ID)
}
