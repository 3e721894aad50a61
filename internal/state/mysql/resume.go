package mysql

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// ResumeRun implements state.Runs. Of two at the same time the second waits
// for the first and finds the run RUNNING.
func (s *Store) ResumeRun(ctx context.Context, id int64, p domain.Priority, kinds []domain.FailureKind) (refs []domain.JobRef, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		run, jobs, err := lockWithJobs(ctx, tx, id)
		if err != nil {
			return err
		}
		// A run that runs was resumed before, and the answer was lost.
		if run.Status != domain.RunRunning {
			if err := s.resume(ctx, tx, &run, jobs, p, kinds); err != nil {
				return err
			}
		}
		refs, err = waitingOf(ctx, tx, id)
		return err
	})
	return refs, err
}

func (s *Store) resume(ctx context.Context, tx *sql.Tx, run *domain.Run, jobs []domain.Job, p domain.Priority, kinds []domain.FailureKind) error {
	back, err := run.GoesOn(jobs, kinds)
	if err != nil {
		return err
	}
	// This locks the account: nobody pauses it until the jobs are there.
	if err := s.reopenRun(ctx, tx, run); err != nil {
		return err
	}
	account, err := accountByID(ctx, tx, run.AccountID)
	if err != nil {
		return err
	}
	status := domain.JobReady
	if account.State == domain.AccountPaused {
		status = domain.JobPaused
	}
	if err := setPriority(ctx, tx, run, jobs, p); err != nil {
		return err
	}
	err = updateJobs(ctx, tx, jobIDs(back), "status = ?, done = 0, failures = 0, lost = 0, not_before = 0, finished_at = 0", int64(status))
	if err != nil {
		return err
	}
	run.Reopen(back)
	_, err = tx.ExecContext(ctx, "UPDATE run SET known = ?, pending = ?, failed = ?, canceled = ? WHERE id = ?",
		run.Known, run.Pending, run.Failed, run.Canceled, run.ID)
	return err
}

// SetRunPriority implements state.Runs. Whoever creates a job holds the row of
// its parent, which is among those that are locked here: it has seen the old
// priority and its jobs are found here, or it will see the new one.
func (s *Store) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (refs []domain.JobRef, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		run, jobs, err := lockWithJobs(ctx, tx, id)
		if err != nil {
			return err
		}
		if !run.Status.Active() {
			return domain.Errorf(domain.CodeConflict, "run %d is %s; its priority does not matter any more", id, run.Status)
		}
		if err := setPriority(ctx, tx, &run, jobs, p); err != nil {
			return err
		}
		refs, err = waitingOf(ctx, tx, id)
		return err
	})
	return refs, err
}

// setPriority gives a run and its jobs a priority, unless the run has it. Jobs
// that have failed or were canceled are among them: they may come back. All of
// them are locked.
func setPriority(ctx context.Context, tx *sql.Tx, run *domain.Run, jobs []domain.Job, p domain.Priority) error {
	if p == run.Priority {
		return nil
	}
	var ids []int64
	for i := range jobs {
		if jobs[i].Priority != p {
			ids = append(ids, jobs[i].ID)
		}
	}
	if err := updateJobs(ctx, tx, ids, "priority = ?", int64(p)); err != nil {
		return err
	}
	run.Priority = p
	_, err := tx.ExecContext(ctx, "UPDATE run SET priority = ? WHERE id = ?", int64(p), run.ID)
	return err
}

// unsuccessful are the states of jobs that have not brought what they were to.
var unsuccessful = append([]domain.JobStatus{domain.JobFailed, domain.JobCanceled}, unfinished...)

// lockWithJobs locks a run and all of its jobs that have not succeeded, of
// which it returns what decides whether they come back. Jobs are locked before
// runs; those that were created meanwhile are found when the run is locked, as
// nobody can add to it then.
func lockWithJobs(ctx context.Context, tx *sql.Tx, id int64) (run domain.Run, jobs []domain.Job, err error) {
	if _, err = lockUnsuccessful(ctx, tx, id); err != nil {
		return run, nil, err
	}
	if run, err = lockRun(ctx, tx, id); err != nil {
		return run, nil, err
	}
	jobs, err = lockUnsuccessful(ctx, tx, id)
	return run, jobs, err
}

func lockUnsuccessful(ctx context.Context, tx *sql.Tx, run int64) ([]domain.Job, error) {
	var find mysqldb.Statement
	find.Write("SELECT id FROM job WHERE run_id = ").Int(run).Write(" AND status IN (").Ints(numbers(unsuccessful)...).Write(")")
	ids, err := selectIDs(ctx, tx, &find)
	if err != nil {
		return nil, err
	}
	var jobs []domain.Job
	err = lockJobs(ctx, tx, ids, "id, priority, status, error_kind, expected, finished_at", unsuccessful, func(r *sql.Rows) error {
		var j domain.Job
		var finished int64
		err := r.Scan(&j.ID, &j.Priority, &j.Status, &j.ErrorKind, &j.Expected, &finished)
		j.FinishedAt = mysqldb.Time(finished)
		jobs = append(jobs, j)
		return err
	})
	return jobs, err
}

func jobIDs(jobs []domain.Job) []int64 {
	ids := make([]int64, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

// waitingOf lists the jobs of a run that wait for a worker.
func waitingOf(ctx context.Context, q mysqldb.Querier, run int64) ([]domain.JobRef, error) {
	var out []domain.JobRef
	var find mysqldb.Statement
	find.Write("SELECT " + refColumns + " FROM job WHERE run_id = ").Int(run).Write(" AND done = 0 AND status IN (")
	find.Ints(numbers(waiting)...).Write(") ORDER BY id")
	err := find.Query(ctx, q, func(r *sql.Rows) error {
		ref, err := scanRef(r)
		out = append(out, ref)
		return err
	})
	return out, err
}
