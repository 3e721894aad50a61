package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
)

const runColumns = `r.id, r.account_id, a.source, a.login, r.trigger_by, r.priority, r.status, r.anchor, r.reason,
	r.created_at, r.finished_at, r.known, r.pending, r.succeeded, r.failed, r.canceled, r.calls, r.documents`

const runFrom = " FROM run r JOIN account a ON a.id = r.account_id "

func scanRun(r *sqlite.Stmt) domain.Run {
	return domain.Run{
		ID: r.ColumnInt64(0), AccountID: r.ColumnInt64(1), Source: r.ColumnText(2), Login: r.ColumnText(3),
		Trigger: domain.Trigger(r.ColumnText(4)), Priority: domain.Priority(r.ColumnInt(5)),
		Status: domain.RunStatus(r.ColumnInt(6)), Anchor: sqlitedb.Time(r.ColumnInt64(7)), Reason: r.ColumnText(8),
		CreatedAt: sqlitedb.Time(r.ColumnInt64(9)), FinishedAt: sqlitedb.Time(r.ColumnInt64(10)),
		RunCounts: domain.RunCounts{
			Known: r.ColumnInt64(11), Pending: r.ColumnInt64(12), Succeeded: r.ColumnInt64(13),
			Failed: r.ColumnInt64(14), Canceled: r.ColumnInt64(15), Calls: r.ColumnInt64(16), Documents: r.ColumnInt64(17),
		},
	}
}

func findRun(c *sqlite.Conn, id int64) (domain.Run, error) {
	var run domain.Run
	err := sqlitedb.Exec(c, "SELECT "+runColumns+runFrom+"WHERE r.id = ?", func(r *sqlite.Stmt) { run = scanRun(r) }, id)
	if err == nil && run.ID == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no run %d", id)
	}
	return run, err
}

// moveRun is the only place that writes a run's status.
func moveRun(c *sqlite.Conn, run *domain.Run, to domain.RunStatus, reason string, at int64) error {
	next, err := domain.MoveRun(run.Status, to)
	if err != nil {
		return err
	}
	finished := int64(0)
	if !next.Active() {
		finished = at
	}
	run.Status, run.Reason, run.FinishedAt = next, reason, sqlitedb.Time(finished)
	return sqlitedb.Exec(c, "UPDATE run SET status = ?, reason = ?, finished_at = ? WHERE id = ?", nil,
		int64(next), reason, finished, run.ID)
}

// CreateRun implements state.Runs.
func (s *Store) CreateRun(ctx context.Context, spec state.RunSpec) (run domain.Run, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		active := int64(0)
		err := sqlitedb.Exec(c, "SELECT id FROM run WHERE account_id = ? AND status <= 4",
			func(r *sqlite.Stmt) { active = r.ColumnInt64(0) }, spec.AccountID)
		if err != nil {
			return err
		}
		if active != 0 {
			if run, err = findRun(c, active); err != nil {
				return err
			}
			return domain.Errorf(domain.CodeConflict, "account %s already has the active run %d", run.Login, active)
		}
		if _, err := findAccount(c, "a.id = ?", spec.AccountID); err != nil {
			return err
		}
		id := int64(0)
		err = sqlitedb.Exec(c, `INSERT INTO run (account_id, trigger_by, priority, status, anchor, created_at)
			VALUES (?, ?, ?, ?, ?, ?) RETURNING id`, func(r *sqlite.Stmt) { id = r.ColumnInt64(0) },
			spec.AccountID, string(spec.Trigger), int64(spec.Priority), int64(domain.RunCreated), spec.Anchor, s.now())
		if err != nil {
			return err
		}
		run, err = findRun(c, id)
		return err
	})
	return run, err
}

// PlanRun implements state.Runs.
func (s *Store) PlanRun(ctx context.Context, id int64, specs []domain.JobSpec) (created []domain.JobRef, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		run, err := findRun(c, id)
		if err != nil {
			return err
		}
		// Planned before, and the answer was lost.
		if run.Status == domain.RunRunning {
			created, err = children(c, id, 0)
			return err
		}
		at := sqlitedb.Micros(s.now())
		if run.Status == domain.RunCreated {
			if err := moveRun(c, &run, domain.RunPlanning, "", at); err != nil {
				return err
			}
		}
		// A finished run may run again too, but only to retry a job.
		if run.Status != domain.RunPlanning {
			return domain.Errorf(domain.CodeIllegalMove, "run %d is %s; it cannot be planned any more", id, run.Status)
		}
		if err := moveRun(c, &run, domain.RunRunning, "", at); err != nil {
			return err
		}
		plan := plannedJobs{run: run.ID, account: run.AccountID, priority: run.Priority, specs: specs}
		inserted, err := s.insertPlans(c, []plannedJobs{plan}, at)
		if err != nil {
			return err
		}
		created = make([]domain.JobRef, len(inserted))
		known := int64(0)
		for i, job := range inserted {
			created[i] = job.ref()
			known += int64(job.row.Expected)
		}
		return sqlitedb.Exec(c, "UPDATE run SET known = known + ?, pending = pending + ? WHERE id = ?", nil, known, len(created), id)
	})
	return created, err
}

// Run implements state.Runs.
func (s *Store) Run(ctx context.Context, id int64) (run domain.Run, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		run, err = findRun(c, id)
		return err
	})
	return run, err
}

// Runs implements state.Runs.
func (s *Store) Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error) {
	where, args := "WHERE 1", []any{}
	if q.AccountID != 0 {
		where, args = where+" AND r.account_id = ?", append(args, q.AccountID)
	}
	if q.ActiveOnly {
		where += " AND r.status <= 4"
	}
	if q.BeforeID != 0 {
		where, args = where+" AND r.id < ?", append(args, q.BeforeID)
	}
	args = append(args, limitOr(q.Limit))
	var out []domain.Run
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+runColumns+runFrom+where+" ORDER BY r.id DESC LIMIT ?",
			func(r *sqlite.Stmt) { out = append(out, scanRun(r)) }, args...)
	})
	return out, err
}

func limitOr(n int) int64 {
	if n <= 0 {
		return 100
	}
	return int64(n)
}

// FailRun implements state.Runs.
func (s *Store) FailRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	return s.endRun(ctx, id, domain.RunFailed, reason)
}

// CancelRun implements state.Runs.
func (s *Store) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	return s.endRun(ctx, id, domain.RunCanceled, reason)
}

func (s *Store) endRun(ctx context.Context, id int64, to domain.RunStatus, reason string) (run domain.Run, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		// A repeated call finds the run as it left it.
		if run, err = findRun(c, id); err != nil || run.Status == to {
			return err
		}
		at := sqlitedb.Micros(s.now())
		if err := moveRun(c, &run, to, reason, at); err != nil {
			return err
		}
		_, err := cancelUnfinished(c, &run, at)
		return err
	})
	return run, err
}

// cancelUnfinished cancels everything of a run that has not ended, and returns
// what. A worker that still has one of the jobs finds its claim void.
func cancelUnfinished(c *sqlite.Conn, run *domain.Run, at int64) ([]int64, error) {
	var canceled []int64
	err := sqlitedb.Exec(c, "UPDATE job SET status = ?, done = 1, finished_at = ? WHERE run_id = ? AND done = 0 RETURNING id",
		func(r *sqlite.Stmt) { canceled = append(canceled, r.ColumnInt64(0)) }, int64(domain.JobCanceled), at, run.ID)
	if err != nil {
		return nil, err
	}
	run.Canceled, run.Pending = run.Canceled+int64(len(canceled)), 0
	run.Known = run.Done()
	return canceled, sqlitedb.Exec(c, "UPDATE run SET canceled = ?, pending = 0, known = ? WHERE id = ?", nil,
		run.Canceled, run.Known, run.ID)
}

// CompleteRun implements state.Runs.
func (s *Store) CompleteRun(ctx context.Context, id int64, statistics []byte) (run domain.Run, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		if run, err = findRun(c, id); err != nil || run.Status == domain.RunCompleted {
			return err
		}
		at := sqlitedb.Micros(s.now())
		if err := moveRun(c, &run, domain.RunCompleted, run.Reason, at); err != nil {
			return err
		}
		if s.docs != nil {
			if err := s.docs.Compact(c, run.AccountID, run.Documents); err != nil {
				return err
			}
		}
		return sqlitedb.Exec(c, `INSERT INTO statistics (account_id, run_id, data, computed_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (account_id) DO UPDATE SET run_id = excluded.run_id, data = excluded.data,
			computed_at = excluded.computed_at`, nil, run.AccountID, id, statistics, at)
	})
	return run, err
}

// Ledger implements state.Runs.
func (s *Store) Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	var out []state.LedgerLine
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, `SELECT type, resource, max(pages), sum(CASE WHEN done THEN 1 ELSE expected END), sum(status = ?), sum(status IN (?, ?)), sum(items)
			FROM job WHERE run_id = ? GROUP BY type, resource ORDER BY min(id)`,
			func(r *sqlite.Stmt) {
				out = append(out, state.LedgerLine{
					Type: r.ColumnText(0), Resource: r.ColumnText(1), Announced: r.ColumnInt(2),
					Known: r.ColumnInt(3), Stored: r.ColumnInt(4), Failed: r.ColumnInt(5), Items: r.ColumnInt(6),
				})
			}, int64(domain.JobSucceeded), int64(domain.JobFailed), int64(domain.JobCanceled), run)
	})
	return out, err
}

// Outlook implements state.Runs.
func (s *Store) Outlook(ctx context.Context, run int64) ([]state.Outlook, error) {
	var out []state.Outlook
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, `SELECT bucket, sum(done), sum(CASE WHEN done THEN 0 ELSE expected END),
			sum(done = 0 AND class <> ?) FROM job WHERE run_id = ? GROUP BY bucket ORDER BY bucket`,
			func(r *sqlite.Stmt) {
				out = append(out, state.Outlook{
					Bucket: r.ColumnText(0), Done: r.ColumnInt64(1), Left: r.ColumnInt64(2), Discovering: r.ColumnInt64(3),
				})
			}, int64(domain.ClassChild), run)
	})
	return out, err
}
