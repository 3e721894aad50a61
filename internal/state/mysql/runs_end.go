package mysql

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// FailRun implements state.Runs.
func (s *Store) FailRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	return s.endRun(ctx, id, domain.RunFailed, reason)
}

// CancelRun implements state.Runs.
func (s *Store) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	return s.endRun(ctx, id, domain.RunCanceled, reason)
}

func (s *Store) endRun(ctx context.Context, id int64, to domain.RunStatus, reason string) (run domain.Run, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		// Jobs are locked before runs. What is created meanwhile is found when
		// the run is locked, as nobody can add to it then.
		if _, err := lockUnfinished(ctx, tx, id); err != nil {
			return err
		}
		// A repeated call finds the run as it left it.
		if run, err = lockRun(ctx, tx, id); err != nil || run.Status == to {
			return err
		}
		at := mysqldb.Micros(s.now())
		if err := moveRun(ctx, tx, &run, to, reason, at); err != nil {
			return err
		}
		_, err := cancelUnfinished(ctx, tx, &run, at)
		return err
	})
	return run, err
}

// unfinished are the states of jobs that have not ended.
var unfinished = []domain.JobStatus{domain.JobReady, domain.JobEnqueued, domain.JobRunning, domain.JobPaused}

// lockUnfinished locks everything of a run that has not ended, and returns it.
func lockUnfinished(ctx context.Context, tx *sql.Tx, run int64) ([]int64, error) {
	var find mysqldb.Statement
	find.Write("SELECT id FROM job WHERE run_id = ").Int(run).Write(" AND done = 0")
	ids, err := selectIDs(ctx, tx, &find)
	if err != nil {
		return nil, err
	}
	var locked []int64
	err = lockJobs(ctx, tx, ids, "id", unfinished, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		locked = append(locked, id)
		return err
	})
	return locked, err
}

// cancelUnfinished cancels everything of a run that has not ended, and returns
// what. A worker that still has one of the jobs finds its claim void. The run
// is locked.
func cancelUnfinished(ctx context.Context, tx *sql.Tx, run *domain.Run, at int64) ([]int64, error) {
	canceled, err := lockUnfinished(ctx, tx, run.ID)
	if err != nil {
		return nil, err
	}
	err = updateJobs(ctx, tx, canceled, "status = ?, done = 1, finished_at = ?", int64(domain.JobCanceled), at)
	if err != nil {
		return nil, err
	}
	run.Canceled, run.Pending = run.Canceled+int64(len(canceled)), 0
	run.Known = run.Done()
	_, err = tx.ExecContext(ctx, "UPDATE run SET canceled = ?, pending = 0, known = ? WHERE id = ?", run.Canceled, run.Known, run.ID)
	return canceled, err
}

// CompleteRun implements state.Runs.
func (s *Store) CompleteRun(ctx context.Context, id int64, statistics []byte) (run domain.Run, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		if run, err = lockRun(ctx, tx, id); err != nil || run.Status == domain.RunCompleted {
			return err
		}
		at := mysqldb.Micros(s.now())
		if err := moveRun(ctx, tx, &run, domain.RunCompleted, run.Reason, at); err != nil {
			return err
		}
		if s.docs != nil {
			if err := s.docs.Compact(ctx, tx, run.AccountID, run.Documents); err != nil {
				return err
			}
		}
		var put mysqldb.Statement
		put.Write("INSERT INTO statistics (account_id, run_id, computed_at, data) VALUES (").Ints(run.AccountID, id, at)
		put.Write(",").Blob(statistics)
		put.Write(") ON DUPLICATE KEY UPDATE run_id = VALUES(run_id), computed_at = VALUES(computed_at), data = VALUES(data)")
		_, err := put.Exec(ctx, tx)
		return err
	})
	return run, err
}
