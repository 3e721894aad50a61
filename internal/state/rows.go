package state

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Rows are what a store lends the flows of this package (Lookups, Changes, Commit)
// within one transaction: they read and write rows and decide nothing. What is not
// there is found as zero, with an id of 0, and refused by the flow.
//
// A method that locks keeps what it returns from being changed by others until the
// transaction ends; a store with a single writer need not do anything for that.
// Jobs are locked before runs, runs before accounts.
type Rows interface {
	ReadRows
	RunRows
	JobRows
	AccountRows
	PurgeRows
	ShareRows
}

// ReadRows are what Lookups needs, which writes nothing.
type ReadRows interface {
	FindRun(ctx context.Context, id int64) (domain.Run, error)
	FindAccount(ctx context.Context, id int64) (domain.Account, error)
	FindAccountByLogin(ctx context.Context, source, login string) (domain.Account, error)
	// FindCredential reports false if there is no such account.
	FindCredential(ctx context.Context, account int64) (Sealed, bool, error)
	FindSchedule(ctx context.Context, account int64) ([]byte, error)
	// RunOfJob is 0 if there is no such job.
	RunOfJob(ctx context.Context, job int64) (int64, error)
	// ChildJobs are those of a run that wait and that another job led to; 0 for
	// the first of a run.
	ChildJobs(ctx context.Context, run, parent int64) ([]domain.JobRef, error)
}

// RunRows are the rows of runs.
type RunRows interface {
	LockRun(ctx context.Context, id int64) (domain.Run, error)
	// LockActiveRun locks an account, so that nobody else can make a run of it
	// active, and returns its active run, 0 if there is none. Without the account
	// it fails as NoAccount says.
	LockActiveRun(ctx context.Context, account int64) (run int64, err error)
	// FindDelivered returns the run that a delivery has begun, 0 if none.
	FindDelivered(ctx context.Context, account int64, delivery string) (run int64, err error)
	InsertRun(ctx context.Context, spec RunSpec, at time.Time) (id int64, err error)
	// NoteDelivery keeps which run a delivery went into.
	NoteDelivery(ctx context.Context, account int64, delivery string, run int64) error
	// WriteRun stores what became of a run, which is locked. Nothing else writes
	// a run's status, which MoveRun has moved.
	WriteRun(ctx context.Context, run *domain.Run) error
	// WriteStatistics stores those of a run that completes, and lets go of
	// payloads that newer copies have replaced.
	WriteStatistics(ctx context.Context, run *domain.Run, statistics []byte, at time.Time) error
}

// JobRows are the rows of jobs.
type JobRows interface {
	LockJob(ctx context.Context, id int64) (domain.Job, error)
	// LockUnfinished locks everything of a run that has not ended.
	LockUnfinished(ctx context.Context, run int64) error
	// LockRunWithJobs locks a run and all of its jobs that have not succeeded. It
	// returns those that have failed or were canceled, at least, with what
	// decides whether they come back.
	LockRunWithJobs(ctx context.Context, id int64) (domain.Run, []domain.Job, error)
	// CancelUnfinished cancels everything of a run that has not ended, and
	// returns what. The run is locked. A worker that still has one of the jobs
	// finds its claim void.
	CancelUnfinished(ctx context.Context, run int64, at time.Time) ([]int64, error)
	// BringBack makes jobs that had ended wait again.
	BringBack(ctx context.Context, jobs []domain.Job, as domain.JobStatus) error
	// SetPriority gives the jobs of a run, which LockRunWithJobs returned and
	// locked, a priority.
	SetPriority(ctx context.Context, run int64, jobs []domain.Job, p domain.Priority) error
	// WaitingJobs lists the jobs of a run that wait for a worker.
	WaitingJobs(ctx context.Context, run int64) ([]domain.JobRef, error)
	// InsertJobs inserts jobs unless they exist, and returns those it inserted.
	InsertJobs(ctx context.Context, jobs []domain.Job) ([]domain.Job, error)
	// LockMovable locks the jobs of an account's active run that are in one of
	// the states, and MoveJobs moves them and returns them.
	LockMovable(ctx context.Context, account int64, from []domain.JobStatus) error
	MoveJobs(ctx context.Context, account int64, from []domain.JobStatus, to domain.JobStatus) ([]domain.JobRef, error)
}

// AccountRows are the rows of accounts and of how they are collected again.
type AccountRows interface {
	// WriteAccountState reports false if there is no such account.
	WriteAccountState(ctx context.Context, id int64, to domain.AccountState, reason string, at time.Time) (bool, error)
	WriteReserve(ctx context.Context, id int64, floor int, hours domain.Hours, at time.Time) error
	// PausedAccounts returns those of the accounts that are paused. Whoever
	// pauses one of the others waits until the transaction ends.
	PausedAccounts(ctx context.Context, ids []int64) ([]int64, error)
	// WriteSchedule removes an empty one.
	WriteSchedule(ctx context.Context, account int64, schedule []byte) error
	// WriteHarvest changes nothing if the stored one follows a later run.
	WriteHarvest(ctx context.Context, h domain.Harvest) error
}

// NoAccount says that there is no such account.
func NoAccount(id int64) error {
	return domain.Errorf(domain.CodeNotFound, "there is no account %d", id)
}

func noRun(id int64) error { return domain.Errorf(domain.CodeNotFound, "there is no run %d", id) }

// NoJob says that there is no such job.
func NoJob(id int64) error { return domain.Errorf(domain.CodeNotFound, "there is no job %d", id) }

// checked turns a run that was not found into an error.
func checked(run domain.Run, err error, id int64) (domain.Run, error) {
	if err == nil && run.ID == 0 {
		err = noRun(id)
	}
	return run, err
}

func checkAccount(a domain.Account, err error, id int64) (domain.Account, error) {
	if err == nil && a.ID == 0 {
		err = NoAccount(id)
	}
	return a, err
}
