package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sluice/internal/domain"
)

// The rules of COMMIT: what outcomes that are applied together change beside
// their own jobs. A store loads the jobs and asks Admit; it writes what became of
// them, creates what Next lists, looks for what is dropped or held, adds what
// Runs has to the counters, and closes the runs that Closes says.

// Attempt is one outcome on its way through a store.
type Attempt struct {
	Outcome Outcome
	// Held is the job as it stood before.
	Held Held
	// Effect and Err are the answer.
	Effect Effect
	Err    error
}

// Commit is a group of claims and outcomes that a store applies in one
// transaction.
type Commit struct {
	rows Rows
	// Attempts are the outcomes that may be applied.
	Attempts []*Attempt
	// Repeated are those that were committed before and want their answer.
	Repeated []*Attempt
	// Runs is what changes in runs, by their ids.
	Runs map[int64]*RunChange
}

// RunChange is what a commit changes in one run.
type RunChange struct {
	// RunCounts is what is added to the run's counters.
	domain.RunCounts
	// FailReason, if set, ends the run.
	FailReason string
	// Closer is told if the run closes: the last of the group to finish.
	Closer *Attempt
}

// NewCommit returns an empty one on the rows of a transaction, which are asked for
// by the steps alone that say so.
func NewCommit(rows Rows) *Commit { return &Commit{rows: rows, Runs: map[int64]*RunChange{}} }

// Run returns what changes in a run.
func (c *Commit) Run(id int64) *RunChange {
	d := c.Runs[id]
	if d == nil {
		d = &RunChange{}
		c.Runs[id] = d
	}
	return d
}

// RunIDs lists the runs that change, in ascending order.
func (c *Commit) RunIDs() []int64 { return slices.Sorted(maps.Keys(c.Runs)) }

// Begin counts a claim that won.
func (c *Commit) Begin(run int64, claim *Claim) { c.Run(run).Calls += claim.Calls() }

// Admit judges an attempt by its job, nil if there is none. If it may be applied
// it is counted, and the job is what the outcome makes of it.
func (c *Commit) Admit(a *Attempt, h *Held) bool {
	a.Effect, a.Held = Effect{}, Held{}
	if h != nil {
		a.Held = *h
	}
	repeated, err := a.Outcome.Judge(h)
	if a.Err = err; err != nil {
		return false
	}
	if repeated {
		c.Repeated = append(c.Repeated, a)
		return false
	}
	o := &a.Outcome
	h.Status = o.To
	c.Attempts = append(c.Attempts, a)
	d := c.Run(h.Run)
	d.Closer = a
	if o.To.Ended() {
		d.end(o.To, h.Expected)
	}
	if o.To == domain.JobSucceeded {
		d.Documents += int64(o.Items)
	} else if o.FailRun != "" {
		d.FailReason = o.FailRun
	}
	return true
}

// end counts a job that has ended: it took one call, whatever it was expected
// to lead to.
func (d *RunChange) end(as domain.JobStatus, expected int64) {
	d.Pending--
	d.Known += 1 - expected
	switch as {
	case domain.JobSucceeded:
		d.Succeeded++
	case domain.JobFailed:
		d.Failed++
	case domain.JobCanceled:
		d.Canceled++
	}
}

// Next lists the jobs that the outcomes lead to. They have no ids yet.
func (c *Commit) Next() []domain.Job {
	n := 0
	for _, a := range c.Attempts {
		n += len(a.Outcome.Next)
	}
	if n == 0 {
		return nil
	}
	jobs := make([]domain.Job, 0, n)
	for _, a := range c.Attempts {
		parent := domain.Job{ID: a.Outcome.Job, RunID: a.Held.Run, AccountID: a.Held.Account}
		parent.Priority = a.Held.Priority
		jobs = appendPlanned(jobs, &parent, a.Outcome.Next, a.Outcome.At)
	}
	return jobs
}

// appendPlanned adds jobs as they are created: they have the priority of what
// leads to them unless their spec has one.
func appendPlanned(jobs []domain.Job, parent *domain.Job, specs []domain.JobSpec, at time.Time) []domain.Job {
	for _, spec := range specs {
		spec.Priority, spec.Expected = cmp.Or(spec.Priority, parent.Priority), spec.Calls()
		if spec.Params == nil {
			spec.Params = []byte{}
		}
		jobs = append(jobs, domain.Job{
			RunID: parent.RunID, AccountID: parent.AccountID, ParentID: parent.ID, JobSpec: spec, Status: domain.JobReady, CreatedAt: at,
		})
	}
	return jobs
}

// Created tells the finishers of the jobs that were created: those of Next that
// were not there already.
func (c *Commit) Created(jobs []domain.Job) {
	if len(jobs) == 0 {
		return
	}
	parents := make(map[int64]*Attempt, len(c.Attempts))
	for _, a := range c.Attempts {
		parents[a.Outcome.Job] = a
	}
	for i := range jobs {
		a := parents[jobs[i].ParentID]
		a.Effect.Created = append(a.Effect.Created, Ref(&jobs[i]))
		a.Effect.Rows = append(a.Effect.Rows, jobs[i])
		c.Run(a.Held.Run).create(&jobs[i])
	}
}

func (d *RunChange) create(j *domain.Job) {
	d.Pending++
	d.Known += int64(j.Expected)
}

// Ref is what dispatch is told of a job that waits.
func Ref(j *domain.Job) domain.JobRef {
	return domain.JobRef{
		ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, Bucket: j.Bucket, Class: j.Class, Priority: j.Priority, NotBefore: j.NotBefore,
	}
}

// Dropped counts jobs, of which ID and Expected are looked at, that are canceled
// because the upstream no longer has their resource.
func (c *Commit) Dropped(a *Attempt, jobs []domain.Job) {
	ids := make([]int64, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
		c.Run(a.Held.Run).end(domain.JobCanceled, int64(jobs[i].Expected))
	}
	a.Effect.Canceled = append(a.Effect.Canceled, ids...)
	c.retract(a.Held.Run, ids)
}

// retract takes back what this very commit created and then canceled.
func (c *Commit) retract(run int64, canceled []int64) {
	for _, a := range c.Attempts {
		if a.Held.Run != run || len(canceled) == 0 || len(a.Effect.Created) == 0 {
			continue
		}
		left := slices.DeleteFunc(a.Effect.Created, func(ref domain.JobRef) bool { return slices.Contains(canceled, ref.ID) })
		a.Effect.Created = left[:len(left):len(left)]
	}
}

// Leaving lists the accounts, in ascending order, for which the commit leaves jobs
// waiting or that it pauses: if one is paused, its jobs are held. An outcome that
// leaves nothing waiting need not look.
func (c *Commit) Leaving() []int64 {
	look := map[int64]bool{}
	for _, a := range c.Attempts {
		if slices.Contains(waiting, a.Outcome.To) || a.Outcome.PauseAccount != "" || len(a.Effect.Created) > 0 {
			look[a.Held.Account] = true
		}
	}
	return slices.Sorted(maps.Keys(look))
}

// Hold keeps the jobs of a paused account from waiting for a worker: those that
// waited when the account was paused, and those that a job which was under way
// then has created or left since.
func (c *Commit) Hold(account int64, held []int64) {
	var last *Attempt
	for _, a := range c.Attempts {
		if a.Held.Account == account {
			a.Effect.Created = nil
			last = a
		}
	}
	if last != nil {
		last.Effect.Canceled = append(last.Effect.Canceled, held...)
	}
}

// Closes says whether a run, with the counters that it has after the commit,
// closes with it: its last job has ended, or an outcome fails it.
func (d *RunChange) Closes(run *domain.Run) bool {
	return d.Closer != nil && run.Status == domain.RunRunning && (d.FailReason != "" || run.Pending <= 0)
}

// Close moves a run that closes. Nothing is left of it, or nothing is to be left:
// canceled are the jobs that had not ended.
func (c *Commit) Close(run *domain.Run, canceled []int64) error {
	d := c.Run(run.ID)
	to := domain.RunFinalizing
	if d.FailReason != "" {
		to = domain.RunFailed
	}
	if err := EndRun(run, to, d.FailReason, d.Closer.Outcome.At, len(canceled)); err != nil {
		return err
	}
	c.retract(run.ID, canceled)
	d.Closer.Effect.Canceled = append(d.Closer.Effect.Canceled, canceled...)
	closed := *run
	d.Closer.Effect.Closed = &closed
	return nil
}

// Closed lists the runs that the commit has closed, by their ids.
func (c *Commit) Closed() []domain.Run {
	var closed []domain.Run
	for _, id := range c.RunIDs() {
		if a := c.Runs[id].Closer; a != nil && a.Effect.Closed != nil {
			closed = append(closed, *a.Effect.Closed)
		}
	}
	return closed
}

// Answer tells the finisher of an outcome that was committed before, and whose
// first answer was lost, what it brought about as far as it still matters: the
// jobs it created that wait, and that its run closed.
func (a *Attempt) Answer(children []domain.JobRef, run *domain.Run) {
	a.Effect.Created = children
	if a.Outcome.ReportsClosed(run) {
		closed := *run
		a.Effect.Closed = &closed
	}
}

// lostMessage says what happened to a job that is given up.
const lostMessage = "its worker vanished again and again while it had this job"

// Lost is what becomes of a job whose worker vanished, as if that had told it: it
// waits again, or fails if it was lost too often.
func Lost(job *domain.Job, maxLost int, at time.Time) *Attempt {
	o := Outcome{Job: job.ID, Attempt: job.Attempt, At: at, To: domain.JobReady}
	if job.Lost >= maxLost {
		o.To, o.Failure = domain.JobFailed, &domain.Failure{Kind: domain.FailureLost, Message: lostMessage}
	}
	return &Attempt{Outcome: o}
}

// NewestWindows keeps the last snapshot of each quota window that came with claims
// and outcomes: a commit is one transaction, so that the others would be
// overwritten anyway.
type NewestWindows map[[2]string]domain.QuotaWindow

// Add adds a window, nil if there is none.
func (n NewestWindows) Add(w *domain.QuotaWindow) {
	if w == nil {
		return
	}
	key := [2]string{w.Owner, w.Bucket}
	if old, ok := n[key]; !ok || w.Seq > old.Seq {
		n[key] = *w
	}
}
