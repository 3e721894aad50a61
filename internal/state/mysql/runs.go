package mysql

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

const runColumns = `r.id, r.account_id, a.source, a.login, r.trigger_by, r.priority, r.status, r.anchor, r.reason,
	r.created_at, r.finished_at, r.known, r.pending, r.succeeded, r.failed, r.canceled, r.calls, r.documents`

const runFrom = " FROM run r JOIN account a ON a.id = r.account_id "

func scanRun(r *sql.Rows) (domain.Run, error) {
	var run domain.Run
	var anchor, created, finished int64
	err := r.Scan(&run.ID, &run.AccountID, &run.Source, &run.Login, &run.Trigger, &run.Priority, &run.Status, &anchor, &run.Reason,
		&created, &finished, &run.Known, &run.Pending, &run.Succeeded, &run.Failed, &run.Canceled, &run.Calls, &run.Documents)
	run.Anchor, run.CreatedAt, run.FinishedAt = mysqldb.Time(anchor), mysqldb.Time(created), mysqldb.Time(finished)
	return run, err
}

func findRun(ctx context.Context, q mysqldb.Querier, id int64) (run domain.Run, err error) {
	err = mysqldb.Query(ctx, q, func(r *sql.Rows) error {
		run, err = scanRun(r)
		return err
	}, "SELECT "+runColumns+runFrom+"WHERE r.id = ?", id)
	if err == nil && run.ID == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no run %d", id)
	}
	return run, err
}

// lockRun locks a run and reads it. The account, which is read with it, must
// not be locked, so that these are two statements.
func lockRun(ctx context.Context, tx *sql.Tx, id int64) (domain.Run, error) {
	var lock mysqldb.Statement
	lock.Write("SELECT id FROM run WHERE id = ").Int(id).Write(" FOR UPDATE")
	if _, err := selectIDs(ctx, tx, &lock); err != nil {
		return domain.Run{}, err
	}
	return findRun(ctx, tx, id)
}

// lockActiveRun locks an account, so that nobody else can make a run of it
// active, and returns its active run, 0 if there is none.
func lockActiveRun(ctx context.Context, tx *sql.Tx, account int64) (int64, error) {
	var lock, find mysqldb.Statement
	lock.Write("SELECT id FROM account WHERE id = ").Int(account).Write(" FOR UPDATE")
	found, err := selectIDs(ctx, tx, &lock)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, domain.Errorf(domain.CodeNotFound, "there is no account %d", account)
	}
	find.Write("SELECT id FROM run WHERE active_account = ").Int(account)
	active, err := selectIDs(ctx, tx, &find)
	if err != nil || len(active) == 0 {
		return 0, err
	}
	return active[0], nil
}

// moveRun is the only place that writes a run's status. The run is locked.
func moveRun(ctx context.Context, tx *sql.Tx, run *domain.Run, to domain.RunStatus, reason string, at int64) error {
	next, err := domain.MoveRun(run.Status, to)
	if err != nil {
		return err
	}
	finished := int64(0)
	if !next.Active() {
		finished = at
	}
	run.Status, run.Reason, run.FinishedAt = next, reason, mysqldb.Time(finished)
	var move mysqldb.Statement
	move.Write("UPDATE run SET status = ").Int(int64(next)).Write(", reason = ").Text(reason)
	move.Write(", finished_at = ").Int(finished).Write(" WHERE id = ").Int(run.ID)
	_, err = move.Exec(ctx, tx)
	return err
}

// CreateRun implements state.Runs.
func (s *Store) CreateRun(ctx context.Context, spec state.RunSpec) (run domain.Run, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		run = domain.Run{}
		active, err := lockActiveRun(ctx, tx, spec.AccountID)
		if err != nil {
			return err
		}
		if active != 0 {
			if run, err = findRun(ctx, tx, active); err != nil {
				return err
			}
			return domain.Errorf(domain.CodeConflict, "account %s already has the active run %d", run.Login, active)
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO run (account_id, trigger_by, priority, status, anchor, reason, created_at)
			VALUES (?, ?, ?, ?, ?, '', ?)`, spec.AccountID, string(spec.Trigger), int64(spec.Priority), int64(domain.RunCreated),
			mysqldb.Micros(spec.Anchor), mysqldb.Micros(s.now()))
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		run, err = findRun(ctx, tx, id)
		return err
	})
	return run, err
}

// PlanRun implements state.Runs.
func (s *Store) PlanRun(ctx context.Context, id int64, specs []domain.JobSpec) (created []domain.JobRef, err error) {
	first, err := s.jobIDs.Take(ctx, len(specs))
	if err != nil {
		return nil, err
	}
	var inserted []domain.Job
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		created, inserted = nil, nil
		run, err := lockRun(ctx, tx, id)
		if err != nil {
			return err
		}
		// Planned before, and the answer was lost.
		if run.Status == domain.RunRunning {
			created, err = children(ctx, tx, id, 0)
			return err
		}
		inserted, err = s.plan(ctx, tx, &run, specs, first)
		return err
	})
	if err == nil {
		s.memory.learnJobs(inserted)
	}
	for i := range inserted {
		created = append(created, refOf(&inserted[i]))
	}
	return created, err
}

func (s *Store) plan(ctx context.Context, tx *sql.Tx, run *domain.Run, specs []domain.JobSpec, first int64) ([]domain.Job, error) {
	at := mysqldb.Micros(s.now())
	if run.Status == domain.RunCreated {
		if err := moveRun(ctx, tx, run, domain.RunPlanning, "", at); err != nil {
			return nil, err
		}
	}
	// A finished run may run again too, but only to retry a job.
	if run.Status != domain.RunPlanning {
		return nil, domain.Errorf(domain.CodeIllegalMove, "run %d is %s; it cannot be planned any more", run.ID, run.Status)
	}
	if err := moveRun(ctx, tx, run, domain.RunRunning, "", at); err != nil {
		return nil, err
	}
	plan := plannedJobs{run: run.ID, account: run.AccountID, priority: run.Priority, at: at, specs: specs}
	inserted, err := insertPlans(ctx, tx, []plannedJobs{plan}, first)
	if err != nil {
		return nil, err
	}
	known := int64(0)
	for i := range inserted {
		known += int64(inserted[i].Expected)
	}
	_, err = tx.ExecContext(ctx, "UPDATE run SET known = known + ?, pending = pending + ? WHERE id = ?", known, len(inserted), run.ID)
	return inserted, err
}

// Run implements state.Runs.
func (s *Store) Run(ctx context.Context, id int64) (run domain.Run, err error) {
	err = s.db.Read(ctx, func(q mysqldb.Querier) error {
		run, err = findRun(ctx, q, id)
		return err
	})
	return run, err
}

// Runs implements state.Runs.
func (s *Store) Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error) {
	var find mysqldb.Statement
	find.Write("SELECT " + runColumns + runFrom + "WHERE 1 = 1")
	if q.AccountID != 0 {
		find.Write(" AND r.account_id = ").Int(q.AccountID)
	}
	if q.ActiveOnly {
		find.Write(" AND r.active_account IS NOT NULL")
	}
	if q.BeforeID != 0 {
		find.Write(" AND r.id < ").Int(q.BeforeID)
	}
	find.Write(" ORDER BY r.id DESC LIMIT ").Int(limitOr(q.Limit))
	var out []domain.Run
	err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
		run, err := scanRun(r)
		out = append(out, run)
		return err
	})
	return out, err
}

func limitOr(n int) int64 {
	if n <= 0 {
		return 100
	}
	return int64(n)
}

// Ledger implements state.Runs. Pages are grouped by what stands for their
// type and resource, as texts of any length would be cut when they are sorted.
func (s *Store) Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	var out []state.LedgerLine
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var line state.LedgerLine
		err := r.Scan(&line.Type, &line.Resource, &line.Announced, &line.Known, &line.Stored, &line.Failed, &line.Items)
		out = append(out, line)
		return err
	}, `SELECT j.type, j.resource, l.announced, l.known, l.stored_pages, l.failed, l.items FROM
		(SELECT MIN(id) AS first_id, MAX(pages) AS announced, SUM(IF(done = 1, 1, expected)) AS known, SUM(status = ?) AS stored_pages,
			SUM(status IN (?, ?)) AS failed, SUM(items) AS items FROM job WHERE run_id = ? GROUP BY ledger_hash) l
		JOIN job j ON j.id = l.first_id ORDER BY j.id`,
		int64(domain.JobSucceeded), int64(domain.JobFailed), int64(domain.JobCanceled), run)
	return out, err
}

// Outlook implements state.Runs.
func (s *Store) Outlook(ctx context.Context, run int64) ([]state.Outlook, error) {
	var out []state.Outlook
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var line state.Outlook
		err := r.Scan(&line.Bucket, &line.Done, &line.Left, &line.Discovering)
		out = append(out, line)
		return err
	}, `SELECT bucket, SUM(done), SUM(IF(done = 1, 0, expected)), SUM(done = 0 AND class <> ?)
		FROM job WHERE run_id = ? GROUP BY bucket ORDER BY bucket`, int64(domain.ClassChild), run)
	return out, err
}
