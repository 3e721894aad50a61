package state

import (
	"time"

	"sluice/internal/domain"
)

// The rules of runs: how they begin, are planned, end, and go on after that.

// MoveRun brings a run into another state, for a reason that people are told.
func MoveRun(run *domain.Run, to domain.RunStatus, reason string, at time.Time) error {
	next, err := domain.MoveRun(run.Status, to)
	if err != nil {
		return err
	}
	run.Status, run.Reason, run.FinishedAt = next, reason, time.Time{}
	if !next.Active() {
		run.FinishedAt = stored(at)
	}
	return nil
}

// stored is an instant as stores keep it.
func stored(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return time.UnixMicro(at.UnixMicro()).UTC()
}

// NewRun says whether a run may begin. It may not if the same delivery has begun
// one for the account before, or if the account has an active one; zero runs are
// none.
func NewRun(delivered, active *domain.Run) error {
	if delivered.ID != 0 {
		return domain.Errorf(domain.CodeConflict, "this delivery has begun run %d of %s before", delivered.ID, delivered.Login)
	}
	if active.ID != 0 {
		return domain.Errorf(domain.CodeConflict, "account %s already has the active run %d", active.Login, active.ID)
	}
	return nil
}

// Plan begins a run with its first jobs, which have no ids yet. Who finds it
// RUNNING has planned it before, and the answer was lost.
func Plan(run *domain.Run, specs []domain.JobSpec, at time.Time) ([]domain.Job, error) {
	if run.Status == domain.RunCreated {
		if err := MoveRun(run, domain.RunPlanning, "", at); err != nil {
			return nil, err
		}
	}
	// A finished run may run again too, but only to retry a job.
	if run.Status != domain.RunPlanning {
		return nil, domain.Errorf(domain.CodeIllegalMove, "run %d is %s; it cannot be planned any more", run.ID, run.Status)
	}
	if err := MoveRun(run, domain.RunRunning, "", at); err != nil {
		return nil, err
	}
	root := domain.Job{RunID: run.ID, AccountID: run.AccountID}
	root.Priority = run.Priority
	return appendPlanned(make([]domain.Job, 0, len(specs)), &root, specs, at), nil
}

// Planned counts the first jobs of a run.
func Planned(run *domain.Run, created []domain.Job) {
	d := RunChange{RunCounts: run.RunCounts}
	for i := range created {
		d.create(&created[i])
	}
	run.RunCounts = d.RunCounts
}

// EndRun ends a run with so many jobs that had not ended and are canceled with it:
// what it knows of is exact then.
func EndRun(run *domain.Run, to domain.RunStatus, reason string, at time.Time, canceled int) error {
	if err := MoveRun(run, to, reason, at); err != nil {
		return err
	}
	run.Canceled, run.Pending = run.Canceled+int64(canceled), 0
	run.Known = run.Done()
	return nil
}

// Reopen makes a run that has ended active again, unless its account has another
// active run by now, 0 if none.
func Reopen(run *domain.Run, to domain.RunStatus, other int64, at time.Time) error {
	if other != 0 {
		return domain.Errorf(domain.CodeConflict, "run %d cannot go on while run %d of the same account is active", run.ID, other)
	}
	return MoveRun(run, to, "", at)
}

// Resume lets a run that has ended go on where it stopped, with those of its
// jobs that it returns; other is the active run of its account, 0 if none. One
// that only lacks its statistics is FINALIZING, and has no job to go on with.
func Resume(run *domain.Run, jobs []domain.Job, kinds []domain.FailureKind, other int64, at time.Time) ([]domain.Job, error) {
	back, err := run.GoesOn(jobs, kinds)
	if err != nil && run.LacksStatistics() {
		return nil, Reopen(run, domain.RunFinalizing, other, at)
	}
	if err != nil {
		return nil, err
	}
	if err := Reopen(run, domain.RunRunning, other, at); err != nil {
		return nil, err
	}
	run.Reopen(back)
	return back, nil
}

// RetryJob brings a failed job back, and its run with it; other is the active run
// of its account, 0 if none.
func RetryJob(job *domain.Job, run *domain.Run, other int64, at time.Time) error {
	if err := Retry(job, run); err != nil {
		return err
	}
	if !run.Status.Active() {
		if err := Reopen(run, domain.RunRunning, other, at); err != nil {
			return err
		}
	}
	run.Reopen([]domain.Job{*job})
	job.Status, job.Failures, job.Lost, job.NotBefore, job.FinishedAt = domain.JobReady, 0, 0, time.Time{}, time.Time{}
	return nil
}

// MayPrioritize says whether a run can be given another priority.
func MayPrioritize(run *domain.Run) error {
	if !run.Status.Active() {
		return domain.Errorf(domain.CodeConflict, "run %d is %s; its priority does not matter any more", run.ID, run.Status)
	}
	return nil
}

// Follow says what the jobs of an account become when its state changes, and in
// which states they are then: nothing follows from deleting it.
func Follow(to domain.AccountState) (become domain.JobStatus, from []domain.JobStatus) {
	switch to {
	case domain.AccountActive:
		return domain.JobReady, []domain.JobStatus{domain.JobPaused}
	case domain.AccountPaused:
		return domain.JobPaused, Waiting()
	}
	return 0, nil
}
