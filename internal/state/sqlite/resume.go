package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
)

// ResumeRun implements state.Runs.
func (s *Store) ResumeRun(ctx context.Context, id int64, p domain.Priority, kinds []domain.FailureKind) (waiting []domain.JobRef, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		run, err := findRun(c, id)
		if err != nil {
			return err
		}
		// A run that runs was resumed before, and the answer was lost.
		if run.Status != domain.RunRunning {
			if err := s.resume(c, &run, p, kinds); err != nil {
				return err
			}
		}
		waiting, err = waitingOf(c, id)
		return err
	})
	return waiting, err
}

func (s *Store) resume(c *sqlite.Conn, run *domain.Run, p domain.Priority, kinds []domain.FailureKind) error {
	var ended []domain.Job
	err := sqlitedb.Exec(c, "SELECT "+jobColumns+" FROM job WHERE run_id = ? AND status IN (?, ?)",
		func(r *sqlite.Stmt) { ended = append(ended, scanJob(r)) }, run.ID, int64(domain.JobFailed), int64(domain.JobCanceled))
	if err != nil {
		return err
	}
	back, err := run.GoesOn(ended, kinds)
	if err != nil {
		return err
	}
	if err := s.reopenRun(c, run); err != nil {
		return err
	}
	if err := setPriority(c, run, p); err != nil {
		return err
	}
	account, err := findAccount(c, "a.id = ?", run.AccountID)
	if err != nil {
		return err
	}
	status := domain.JobReady
	if account.State == domain.AccountPaused {
		status = domain.JobPaused
	}
	ids := make([]int64, len(back))
	for i := range back {
		ids[i] = back[i].ID
	}
	err = sqlitedb.Exec(c, `UPDATE job SET status = ?, done = 0, failures = 0, lost = 0, not_before = 0, finished_at = 0
		WHERE id IN (SELECT value FROM json_each(?))`, nil, int64(status), sqlitedb.IDList(ids))
	if err != nil {
		return err
	}
	run.Reopen(back)
	return sqlitedb.Exec(c, "UPDATE run SET known = ?, pending = ?, failed = ?, canceled = ? WHERE id = ?", nil,
		run.Known, run.Pending, run.Failed, run.Canceled, run.ID)
}

// SetRunPriority implements state.Runs.
func (s *Store) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (waiting []domain.JobRef, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		run, err := findRun(c, id)
		if err != nil {
			return err
		}
		if !run.Status.Active() {
			return domain.Errorf(domain.CodeConflict, "run %d is %s; its priority does not matter any more", id, run.Status)
		}
		if err := setPriority(c, &run, p); err != nil {
			return err
		}
		waiting, err = waitingOf(c, id)
		return err
	})
	return waiting, err
}

// setPriority gives a run and its jobs a priority, unless the run has it. Jobs
// that have failed or were canceled are among them: they may come back.
func setPriority(c *sqlite.Conn, run *domain.Run, p domain.Priority) error {
	if p == run.Priority {
		return nil
	}
	err := sqlitedb.Exec(c, "UPDATE job SET priority = ?1 WHERE run_id = ?2 AND priority <> ?1 AND status <> ?3", nil,
		int64(p), run.ID, int64(domain.JobSucceeded))
	if err != nil {
		return err
	}
	run.Priority = p
	return sqlitedb.Exec(c, "UPDATE run SET priority = ? WHERE id = ?", nil, int64(p), run.ID)
}

// waitingOf lists the jobs of a run that wait for a worker.
func waitingOf(c *sqlite.Conn, run int64) ([]domain.JobRef, error) {
	var out []domain.JobRef
	err := sqlitedb.Exec(c, "SELECT "+refColumns+" FROM job WHERE run_id = ? AND done = 0 AND status IN (?, ?) ORDER BY id",
		func(r *sqlite.Stmt) { out = append(out, scanRef(r)) }, run, int64(domain.JobReady), int64(domain.JobEnqueued))
	return out, err
}
