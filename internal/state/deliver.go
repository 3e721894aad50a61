package state

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Deliver is Runs.Deliver within a transaction: it returns the jobs that it
// inserted, and these in full. The run is locked before its account, as everywhere.
func Deliver(ctx context.Context, rows Rows, d Delivered, now time.Time) (run domain.Run, made []domain.JobRef, inserted []domain.Job, err error) {
	if d.Into != 0 {
		if run, err = lockRun(ctx, rows, d.Into); err != nil {
			return run, nil, nil, err
		}
	}
	active, err := rows.LockActiveRun(ctx, d.AccountID)
	if err != nil {
		return run, nil, nil, err
	}
	if before, err := deliveredBefore(ctx, rows, d.RunSpec); err != nil {
		return before, nil, nil, err
	}
	if err := mayTake(&run, d.AccountID, active); err != nil {
		return run, nil, nil, err
	}
	if run, inserted, err = takeJobs(ctx, rows, d, run, now); err != nil {
		return run, nil, nil, err
	}
	made = make([]domain.JobRef, len(inserted))
	for i := range inserted {
		made[i] = Ref(&inserted[i])
	}
	Planned(&run, inserted)
	return run, made, inserted, rows.WriteRun(ctx, &run)
}

// deliveredBefore finds the run that a delivery went into; that is an error.
func deliveredBefore(ctx context.Context, rows Rows, spec RunSpec) (domain.Run, error) {
	if spec.Delivery == "" {
		return domain.Run{}, nil
	}
	id, err := rows.FindDelivered(ctx, spec.AccountID, spec.Delivery)
	if err != nil || id == 0 {
		return domain.Run{}, err
	}
	run, err := rows.FindRun(ctx, id)
	if err == nil {
		err = NewRun(&run, &domain.Run{})
	}
	return run, err
}

// mayTake says whether jobs may be added to a run, or a new one begun if it is none;
// active is the account's active run.
func mayTake(run *domain.Run, account, active int64) error {
	switch {
	case active != run.ID, run.ID != 0 && run.AccountID != account:
		return domain.Errorf(domain.CodeStale, "account %d has another active run than was expected", account)
	case run.ID != 0 && run.Status != domain.RunRunning:
		return domain.Errorf(domain.CodeStale, "run %d is %s: it takes no more jobs", run.ID, run.Status)
	}
	return nil
}

// takeJobs inserts jobs into a run that runs, or into a new one.
func takeJobs(ctx context.Context, rows Rows, d Delivered, run domain.Run, now time.Time) (domain.Run, []domain.Job, error) {
	var jobs []domain.Job
	if run.ID == 0 {
		id, err := rows.InsertRun(ctx, d.RunSpec, now)
		if err != nil {
			return run, nil, err
		}
		if run, err = rows.FindRun(ctx, id); err != nil {
			return run, nil, err
		}
		if jobs, err = Plan(&run, d.Jobs, now); err != nil {
			return run, nil, err
		}
	} else {
		root := domain.Job{RunID: run.ID, AccountID: run.AccountID}
		root.Priority = d.Priority
		jobs = appendPlanned(nil, &root, d.Jobs, now)
		if d.Delivery != "" {
			if err := rows.NoteDelivery(ctx, d.AccountID, d.Delivery, run.ID); err != nil {
				return run, nil, err
			}
		}
	}
	inserted, err := rows.InsertJobs(ctx, jobs)
	return run, inserted, err
}
