package state

import (
	"slices"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// The rules of the port, which every store goes by: it loads rows, asks here, and
// writes rows. Which states a job may leave for which is domain's to say.

var (
	waiting   = domain.JobsThatMayBecome(domain.JobRunning)
	claimable = append(Waiting(), domain.JobRunning)
)

// Waiting are the states of a job that waits for a worker.
func Waiting() []domain.JobStatus { return slices.Clone(waiting) }

// Claimable are the states in which a job can be claimed: it waits, or the worker
// that has it vanished.
func Claimable() []domain.JobStatus { return slices.Clone(claimable) }

// Unfinished are the states of a job that has not ended: it can be canceled.
func Unfinished() []domain.JobStatus { return domain.JobsThatMayBecome(domain.JobCanceled) }

// Droppable are the states in which a job is canceled whose resource the upstream
// no longer has. One that a worker has finds that out by itself.
func Droppable() []domain.JobStatus {
	return slices.DeleteFunc(Unfinished(), func(s domain.JobStatus) bool { return s == domain.JobRunning })
}

// Held is a job as a store has it: what decides whether a claim or an outcome may
// be applied.
type Held struct {
	Run, Account int64
	Expected     int64
	Priority     domain.Priority
	Status       domain.JobStatus
	Attempt      int64
	// Version is the account's.
	Version int64
}

// Wins reports whether a claim begins an attempt at a job, nil if there is none:
// the job is as it was seen, and so is the account that the claim goes by.
func (c *Claim) Wins(h *Held) bool {
	return h != nil && h.Attempt == c.Attempt && slices.Contains(claimable, h.Status) && (c.Account == 0 || c.Account == h.Version)
}

// Calls is how many upstream calls begin with the claim.
func (c *Claim) Calls() int64 {
	if c.Local {
		return 0
	}
	return 1
}

// HeldOf is what decides about an outcome of a job, by its row.
func HeldOf(j *domain.Job) Held {
	return Held{
		Run: j.RunID, Account: j.AccountID, Expected: int64(j.Expected), Priority: j.Priority, Status: j.Status, Attempt: j.Attempt,
	}
}

// Check refuses an outcome that no store can apply, with code invalid: it must not
// fail others that are applied together with it.
func (o *Outcome) Check() error {
	if _, err := domain.MoveJob(domain.JobRunning, o.To); err != nil || o.To == domain.JobCanceled {
		return domain.Errorf(domain.CodeInvalid, "an attempt at job %d cannot leave it %s", o.Job, o.To)
	}
	return document.CheckAbsences(o.Absences)
}

// Judge says whether an outcome may be applied to a job, nil if there is none. It
// may not if another attempt owns the job or the state machine refuses; repeated
// says that this very outcome was applied before.
func (o *Outcome) Judge(h *Held) (repeated bool, err error) {
	switch {
	case h == nil:
		return false, domain.Errorf(domain.CodeNotFound, "there is no job %d", o.Job)
	case h.Attempt != o.Attempt:
		return false, domain.Errorf(domain.CodeStale, "job %d belongs to attempt %d by now, not to %d", o.Job, h.Attempt, o.Attempt)
	case h.Status == o.To:
		return true, nil
	case h.Status != domain.JobRunning:
		return false, domain.Errorf(domain.CodeStale, "job %d is %s by now", o.Job, h.Status)
	}
	_, err = domain.MoveJob(h.Status, o.To)
	return false, err
}

// Retry says whether a person may bring a job back, in a run as it stands.
func Retry(job *domain.Job, run *domain.Run) error {
	if job.Status != domain.JobFailed {
		return domain.Errorf(domain.CodeIllegalMove, "job %d is %s; only a FAILED job can be retried", job.ID, job.Status)
	}
	if run.Status == domain.RunFinalizing {
		return domain.Errorf(domain.CodeConflict, "the statistics of run %d are being computed; retry when it is COMPLETED", run.ID)
	}
	_, err := domain.MoveJob(job.Status, domain.JobReady)
	return err
}

// Return says what jobs become with which a run goes on: under a paused account
// they wait for that to be resumed.
func Return(jobs []domain.Job, account domain.AccountState) (domain.JobStatus, error) {
	to := domain.JobReady
	if account == domain.AccountPaused {
		to = domain.JobPaused
	}
	for i := range jobs {
		if _, err := domain.MoveJob(jobs[i].Status, to); err != nil {
			return 0, err
		}
	}
	return to, nil
}

// ReportsClosed says whether a finisher whose answer was lost is told that the run
// closed.
func (o *Outcome) ReportsClosed(run *domain.Run) bool {
	return run.Status == domain.RunFinalizing || run.Status == domain.RunFailed && o.FailRun != ""
}
