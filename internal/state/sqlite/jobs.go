package sqlite

import (
	"cmp"
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
)

const jobColumns = `id, run_id, account_id, parent_id, type, resource, page_key, bucket, class, priority, params, status,
	attempt, failures, lost, not_before, error_kind, error, items, pages, created_at, finished_at, expected`

func scanJob(r *sqlite.Stmt) domain.Job {
	return domain.Job{
		ID: r.ColumnInt64(0), RunID: r.ColumnInt64(1), AccountID: r.ColumnInt64(2), ParentID: r.ColumnInt64(3),
		JobSpec: domain.JobSpec{
			Type: r.ColumnText(4), Resource: r.ColumnText(5), PageKey: r.ColumnText(6), Bucket: r.ColumnText(7),
			Class: domain.Class(r.ColumnInt(8)), Priority: domain.Priority(r.ColumnInt(9)), Params: sqlitedb.Blob(r, 10),
			Expected: r.ColumnInt(22),
		},
		Status:  domain.JobStatus(r.ColumnInt(11)),
		Attempt: r.ColumnInt64(12), Failures: r.ColumnInt(13), Lost: r.ColumnInt(14),
		NotBefore: sqlitedb.Time(r.ColumnInt64(15)), ErrorKind: domain.FailureKind(r.ColumnText(16)), Error: r.ColumnText(17),
		Items: r.ColumnInt(18), Pages: r.ColumnInt(19),
		CreatedAt: sqlitedb.Time(r.ColumnInt64(20)), FinishedAt: sqlitedb.Time(r.ColumnInt64(21)),
	}
}

const (
	refColumns = "id, run_id, account_id, bucket, class, priority, not_before"
	refWidth   = 7
)

func scanRef(r *sqlite.Stmt) domain.JobRef {
	return domain.JobRef{
		ID: r.ColumnInt64(0), RunID: r.ColumnInt64(1), AccountID: r.ColumnInt64(2), Bucket: r.ColumnText(3),
		Class: domain.Class(r.ColumnInt(4)), Priority: domain.Priority(r.ColumnInt(5)),
		NotBefore: sqlitedb.Time(r.ColumnInt64(6)),
	}
}

// plannedJobs are jobs to be inserted that share a run and a parent.
type plannedJobs struct {
	run, account, parent int64
	priority             domain.Priority
	specs                []domain.JobSpec
}

// createdJob is a job that was inserted, not one that was there already.
type createdJob struct{ row domain.Job }

func (j createdJob) ref() domain.JobRef {
	return domain.JobRef{
		ID: j.row.ID, RunID: j.row.RunID, AccountID: j.row.AccountID, Bucket: j.row.Bucket, Class: j.row.Class, Priority: j.row.Priority,
	}
}

// insertPlans inserts jobs unless they exist, and returns those it inserted.
func (s *Store) insertPlans(c *sqlite.Conn, plans []plannedJobs, at int64) ([]createdJob, error) {
	type row struct {
		plan *plannedJobs
		spec *domain.JobSpec
	}
	var rows []row
	for i := range plans {
		for k := range plans[i].specs {
			rows = append(rows, row{&plans[i], &plans[i].specs[k]})
		}
	}
	first := s.lastJob.Add(int64(len(rows))) - int64(len(rows)) + 1
	created := make([]createdJob, 0, len(rows))
	bind := func(stmt *sqlite.Stmt, base, i int) {
		p, spec := rows[i].plan, rows[i].spec
		stmt.BindInt64(base, first+int64(i))
		stmt.BindInt64(base+1, p.run)
		stmt.BindInt64(base+2, p.account)
		stmt.BindInt64(base+3, p.parent)
		stmt.BindText(base+4, spec.Type)
		stmt.BindText(base+5, spec.Resource)
		stmt.BindText(base+6, spec.PageKey)
		stmt.BindText(base+7, spec.Bucket)
		stmt.BindInt64(base+8, int64(spec.Class))
		stmt.BindInt64(base+9, int64(cmp.Or(spec.Priority, p.priority)))
		sqlitedb.BindBlob(stmt, base+10, spec.Params)
		stmt.BindInt64(base+11, int64(domain.JobReady))
		stmt.BindInt64(base+12, at)
		stmt.BindInt64(base+13, int64(spec.Calls()))
	}
	add := func(i int) {
		p, spec := rows[i].plan, *rows[i].spec
		spec.Priority, spec.Expected = cmp.Or(spec.Priority, p.priority), spec.Calls()
		created = append(created, createdJob{domain.Job{
			ID: first + int64(i), RunID: p.run, AccountID: p.account, ParentID: p.parent, JobSpec: spec,
			Status: domain.JobReady, CreatedAt: sqlitedb.Time(at),
		}})
	}
	err := insertJob.Run(c, len(rows), bind, func(from, to, changed int) error {
		if changed == to-from {
			for i := from; i < to; i++ {
				add(i)
			}
			return nil
		}
		// Some were there already; which of them has to be asked.
		return sqlitedb.Exec(c, "SELECT id FROM job WHERE id BETWEEN ? AND ? ORDER BY id", func(r *sqlite.Stmt) {
			add(int(r.ColumnInt64(0) - first))
		}, first+int64(from), first+int64(to)-1)
	})
	return created, err
}

var insertJob = sqlitedb.NewInsert(`INSERT INTO job (id, run_id, account_id, parent_id, type, resource, page_key, bucket, class,
	priority, params, status, created_at, expected)`, "ON CONFLICT DO NOTHING", 14)

// Job implements state.Jobs.
func (s *Store) Job(ctx context.Context, id int64) (job domain.Job, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+jobColumns+" FROM job WHERE id = ?", func(r *sqlite.Stmt) { job = scanJob(r) }, id)
	})
	if err == nil && job.ID == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no job %d", id)
	}
	return job, err
}

// Load implements state.Jobs.
func (s *Store) Load(ctx context.Context, ids []int64) ([]domain.Job, error) {
	jobs := make([]domain.Job, 0, len(ids))
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+jobColumns+" FROM job WHERE id IN (SELECT value FROM json_each(?))",
			func(r *sqlite.Stmt) { jobs = append(jobs, scanJob(r)) }, sqlitedb.IDList(ids))
	})
	return jobs, err
}

// Jobs implements state.Jobs.
func (s *Store) Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error) {
	where, args := []string{"id > ?"}, []any{q.AfterID}
	if q.RunID != 0 {
		where, args = append(where, "run_id = ?"), append(args, q.RunID)
	}
	if len(q.Statuses) > 0 {
		marks := make([]string, len(q.Statuses))
		for i, status := range q.Statuses {
			marks[i], args = "?", append(args, int64(status))
		}
		where = append(where, "status IN ("+strings.Join(marks, ",")+")")
	}
	args = append(args, limitOr(q.Limit))
	var out []domain.Job
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+jobColumns+" FROM job WHERE "+strings.Join(where, " AND ")+" ORDER BY id LIMIT ?",
			func(r *sqlite.Stmt) { out = append(out, scanJob(r)) }, args...)
	})
	return out, err
}

// RetryJob implements state.Jobs.
func (s *Store) RetryJob(ctx context.Context, id int64) (ref domain.JobRef, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		var job domain.Job
		err := sqlitedb.Exec(c, "SELECT "+jobColumns+" FROM job WHERE id = ?", func(r *sqlite.Stmt) { job = scanJob(r) }, id)
		if err != nil {
			return err
		}
		if job.ID == 0 {
			return domain.Errorf(domain.CodeNotFound, "there is no job %d", id)
		}
		if job.Status != domain.JobFailed {
			return domain.Errorf(domain.CodeIllegalMove, "job %d is %s; only a FAILED job can be retried", id, job.Status)
		}
		run, err := findRun(c, job.RunID)
		if err != nil {
			return err
		}
		if run.Status == domain.RunFinalizing {
			return domain.Errorf(domain.CodeConflict, "the statistics of run %d are being computed; retry when it is COMPLETED", run.ID)
		}
		if !run.Status.Active() {
			if err := s.reopenRun(c, &run); err != nil {
				return err
			}
		}
		err = sqlitedb.Exec(c, `UPDATE job SET status = ?, done = 0, failures = 0, lost = 0, not_before = 0, finished_at = 0
			WHERE id = ? RETURNING `+refColumns, func(r *sqlite.Stmt) { ref = scanRef(r) }, int64(domain.JobReady), id)
		if err != nil {
			return err
		}
		return sqlitedb.Exec(c, "UPDATE run SET failed = failed - 1, pending = pending + 1, known = known + ? WHERE id = ?", nil,
			job.Calls()-1, run.ID)
	})
	return ref, err
}

// reopenRun makes a finished run active again, unless its account has another
// active run by now.
func (s *Store) reopenRun(c *sqlite.Conn, run *domain.Run) error {
	other := int64(0)
	err := sqlitedb.Exec(c, "SELECT id FROM run WHERE account_id = ? AND status <= 4",
		func(r *sqlite.Stmt) { other = r.ColumnInt64(0) }, run.AccountID)
	if err != nil {
		return err
	}
	if other != 0 {
		return domain.Errorf(domain.CodeConflict, "run %d cannot go on while run %d of the same account is active", run.ID, other)
	}
	return moveRun(c, run, domain.RunRunning, "", sqlitedb.Micros(s.now()))
}

// Waiting implements state.Jobs.
func (s *Store) Waiting(ctx context.Context, fn func(domain.JobRef) error) error {
	return s.Unfinished(ctx, func(ref domain.JobRef, running bool) error {
		if running {
			return nil
		}
		return fn(ref)
	})
}

// Unfinished implements state.Jobs.
func (s *Store) Unfinished(ctx context.Context, fn func(ref domain.JobRef, running bool) error) error {
	var failed error
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+refColumns+", status FROM job INDEXED BY job_unfinished WHERE done = 0 AND status IN (?, ?, ?) ORDER BY id",
			func(r *sqlite.Stmt) {
				if failed == nil {
					failed = fn(scanRef(r), domain.JobStatus(r.ColumnInt64(refWidth)) == domain.JobRunning)
				}
			}, int64(domain.JobReady), int64(domain.JobEnqueued), int64(domain.JobRunning))
	})
	if err != nil {
		return err
	}
	return failed
}

// Children implements state.Jobs.
func (s *Store) Children(ctx context.Context, parent int64) (out []domain.JobRef, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		run := int64(0)
		err := sqlitedb.Exec(c, "SELECT run_id FROM job WHERE id = ?", func(r *sqlite.Stmt) { run = r.ColumnInt64(0) }, parent)
		if err != nil {
			return err
		}
		out, err = children(c, run, parent)
		return err
	})
	return out, err
}

func children(c *sqlite.Conn, run, parent int64) ([]domain.JobRef, error) {
	var out []domain.JobRef
	err := sqlitedb.Exec(c, "SELECT "+refColumns+` FROM job WHERE run_id = ? AND done = 0 AND parent_id = ?
		AND status IN (?, ?) ORDER BY id`, func(r *sqlite.Stmt) { out = append(out, scanRef(r)) },
		run, parent, int64(domain.JobReady), int64(domain.JobEnqueued))
	return out, err
}

// RecoverRunning implements state.Jobs.
func (s *Store) RecoverRunning(ctx context.Context, maxLost int) (recovered int, ended []domain.Run, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		recovered, ended = 0, nil
		at := sqlitedb.Micros(s.now())
		g := &finishGroup{store: s, conn: c, runs: map[int64]*runDelta{}}
		err := sqlitedb.Exec(c, `UPDATE job SET status = ?, done = 1, finished_at = ?, lost = lost + 1, error_kind = ?, error = ?
			WHERE done = 0 AND status = ? AND lost >= ? RETURNING run_id, expected`,
			func(r *sqlite.Stmt) {
				d := g.delta(&finishItem{outcome: state.Outcome{At: sqlitedb.Time(at)}, fence: fence{run: r.ColumnInt64(0)}})
				d.failed++
				d.pending--
				d.known += 1 - r.ColumnInt64(1)
			},
			int64(domain.JobFailed), at, string(domain.FailureLost), "its worker vanished again and again while it had this job",
			int64(domain.JobRunning), maxLost)
		if err != nil {
			return err
		}
		err = sqlitedb.Exec(c, `UPDATE job SET lost = lost + 1, not_before = 0,
			status = CASE WHEN account_id IN (SELECT id FROM account WHERE state = ?) THEN ? ELSE ? END
			WHERE done = 0 AND status = ? RETURNING id`, func(*sqlite.Stmt) { recovered++ },
			string(domain.AccountPaused), int64(domain.JobPaused), int64(domain.JobReady), int64(domain.JobRunning))
		if err != nil {
			return err
		}
		if err := g.settleRuns(); err != nil {
			return err
		}
		for _, d := range g.runs {
			if d.closer.effect.Closed != nil {
				ended = append(ended, *d.closer.effect.Closed)
			}
		}
		return nil
	})
	return recovered, ended, err
}
