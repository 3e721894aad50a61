package state

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Changes carries out what people and the engine ask of runs and accounts, on
// every store alike: it locks rows, asks the rules, and writes rows. It implements
// parts of Accounts, Runs, Jobs and Harvests.
type Changes struct {
	transact func(ctx context.Context, fn func(Rows) error) error
	now      func() time.Time
}

// NewChanges returns changes to a store that writes in transactions T, whose rows
// it lends. It may do what it is given again if it has to give a transaction up.
func NewChanges[T any](write func(context.Context, func(T) error) error, rows func(T) Rows, now func() time.Time) Changes {
	return Changes{func(ctx context.Context, fn func(Rows) error) error {
		return write(ctx, func(t T) error { return fn(rows(t)) })
	}, now}
}

// CreateRun implements Runs.
func (c Changes) CreateRun(ctx context.Context, spec RunSpec) (run domain.Run, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		active, err := rows.LockActiveRun(ctx, spec.AccountID)
		if err != nil {
			return err
		}
		if run, err = conflictingRun(ctx, rows, spec, active); err != nil {
			return err
		}
		id, err := rows.InsertRun(ctx, spec, c.now())
		if err != nil {
			return err
		}
		run, err = rows.FindRun(ctx, id)
		return err
	})
	return run, err
}

// conflictingRun returns the run that keeps another from beginning, with an error
// that says why; active is the account's, 0 if it has none.
func conflictingRun(ctx context.Context, rows Rows, spec RunSpec, active int64) (run domain.Run, err error) {
	delivered := int64(0)
	if spec.Delivery != "" {
		if delivered, err = rows.FindDelivered(ctx, spec.AccountID, spec.Delivery); err != nil {
			return run, err
		}
	}
	switch {
	case delivered != 0:
		if run, err = rows.FindRun(ctx, delivered); err == nil {
			err = NewRun(&run, &domain.Run{})
		}
	case active != 0:
		if run, err = rows.FindRun(ctx, active); err == nil {
			err = NewRun(&domain.Run{}, &run)
		}
	}
	return run, err
}

// FailRun implements Runs.
func (c Changes) FailRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	return c.endRun(ctx, id, domain.RunFailed, reason)
}

// CancelRun implements Runs.
func (c Changes) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	return c.endRun(ctx, id, domain.RunCanceled, reason)
}

func (c Changes) endRun(ctx context.Context, id int64, to domain.RunStatus, reason string) (run domain.Run, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		// What is created meanwhile is found when the run is locked, as nobody
		// can add to it then.
		if err := rows.LockUnfinished(ctx, id); err != nil {
			return err
		}
		// A repeated call finds the run as it left it.
		if run, err = lockRun(ctx, rows, id); err != nil || run.Status == to {
			return err
		}
		at := c.now()
		canceled, err := rows.CancelUnfinished(ctx, id, at)
		if err != nil {
			return err
		}
		if err := EndRun(&run, to, reason, at, len(canceled)); err != nil {
			return err
		}
		return rows.WriteRun(ctx, &run)
	})
	return run, err
}

func lockRun(ctx context.Context, rows Rows, id int64) (domain.Run, error) {
	run, err := rows.LockRun(ctx, id)
	return checked(run, err, id)
}

// CompleteRun implements Runs.
func (c Changes) CompleteRun(ctx context.Context, id int64, statistics []byte) (run domain.Run, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		if run, err = lockRun(ctx, rows, id); err != nil || run.Status == domain.RunCompleted {
			return err
		}
		at := c.now()
		if err := MoveRun(&run, domain.RunCompleted, run.Reason, at); err != nil {
			return err
		}
		if err := rows.WriteRun(ctx, &run); err != nil {
			return err
		}
		return rows.WriteStatistics(ctx, &run, statistics, at)
	})
	return run, err
}

// ResumeRun implements Runs. Of two at the same time the second waits for the
// first and finds the run RUNNING.
func (c Changes) ResumeRun(ctx context.Context, id int64, p domain.Priority, kinds []domain.FailureKind) (waiting []domain.JobRef, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		run, jobs, err := lockRunWithJobs(ctx, rows, id)
		if err != nil {
			return err
		}
		// A run that runs was resumed before, and the answer was lost.
		if run.Status != domain.RunRunning {
			if err := c.resume(ctx, rows, &run, jobs, p, kinds); err != nil {
				return err
			}
		}
		waiting, err = rows.WaitingJobs(ctx, id)
		return err
	})
	return waiting, err
}

func lockRunWithJobs(ctx context.Context, rows Rows, id int64) (domain.Run, []domain.Job, error) {
	run, jobs, err := rows.LockRunWithJobs(ctx, id)
	run, err = checked(run, err, id)
	return run, jobs, err
}

func (c Changes) resume(ctx context.Context, rows Rows, run *domain.Run, jobs []domain.Job, p domain.Priority, kinds []domain.FailureKind) error {
	// This locks the account: nobody pauses it until the jobs are there.
	other, err := rows.LockActiveRun(ctx, run.AccountID)
	if err != nil {
		return err
	}
	back, err := Resume(run, jobs, kinds, other, c.now())
	if err != nil {
		return err
	}
	if len(back) > 0 {
		account, err := findAccount(ctx, rows, run.AccountID)
		if err != nil {
			return err
		}
		status, err := Return(back, account.State)
		if err != nil {
			return err
		}
		if err := prioritize(ctx, rows, run, jobs, p); err != nil {
			return err
		}
		if err := rows.BringBack(ctx, back, status); err != nil {
			return err
		}
	}
	return rows.WriteRun(ctx, run)
}

// prioritize gives a run and its jobs a priority, unless the run has it. Jobs that
// have failed or were canceled are among them: they may come back. The run is the
// caller's to write.
func prioritize(ctx context.Context, rows Rows, run *domain.Run, jobs []domain.Job, p domain.Priority) error {
	if p == run.Priority {
		return nil
	}
	run.Priority = p
	return rows.SetPriority(ctx, run.ID, jobs, p)
}

// SetRunPriority implements Runs. Whoever creates a job holds the row of its
// parent, which is among those that are locked here: it has seen the old priority
// and its jobs are found here, or it will see the new one.
func (c Changes) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (waiting []domain.JobRef, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		run, jobs, err := lockRunWithJobs(ctx, rows, id)
		if err != nil {
			return err
		}
		if err := MayPrioritize(&run); err != nil {
			return err
		}
		if err := prioritize(ctx, rows, &run, jobs, p); err != nil {
			return err
		}
		if err := rows.WriteRun(ctx, &run); err != nil {
			return err
		}
		waiting, err = rows.WaitingJobs(ctx, id)
		return err
	})
	return waiting, err
}

// RetryJob implements Jobs.
func (c Changes) RetryJob(ctx context.Context, id int64) (ref domain.JobRef, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		job, err := rows.LockJob(ctx, id)
		if err != nil {
			return err
		}
		if job.ID == 0 {
			return NoJob(id)
		}
		run, err := lockRun(ctx, rows, job.RunID)
		if err != nil {
			return err
		}
		other := int64(0)
		if !run.Status.Active() {
			if other, err = rows.LockActiveRun(ctx, run.AccountID); err != nil {
				return err
			}
		}
		if err := RetryJob(&job, &run, other, c.now()); err != nil {
			return err
		}
		ref = Ref(&job)
		if err := rows.BringBack(ctx, []domain.Job{job}, job.Status); err != nil {
			return err
		}
		return rows.WriteRun(ctx, &run)
	})
	return ref, err
}

// PlanRun is Runs.PlanRun within a transaction: it returns the jobs that wait, and
// of these in full the ones that it inserted.
func PlanRun(ctx context.Context, rows Rows, id int64, specs []domain.JobSpec, now time.Time) (waiting []domain.JobRef, inserted []domain.Job, err error) {
	run, err := lockRun(ctx, rows, id)
	if err != nil {
		return nil, nil, err
	}
	// Planned before, and the answer was lost.
	if run.Status == domain.RunRunning {
		waiting, err = rows.ChildJobs(ctx, id, 0)
		return waiting, nil, err
	}
	planned, err := Plan(&run, specs, now)
	if err != nil {
		return nil, nil, err
	}
	if inserted, err = rows.InsertJobs(ctx, planned); err != nil {
		return nil, nil, err
	}
	waiting = make([]domain.JobRef, len(inserted))
	for i := range inserted {
		waiting[i] = Ref(&inserted[i])
	}
	Planned(&run, inserted)
	return waiting, inserted, rows.WriteRun(ctx, &run)
}
