package sqlite

import (
	"context"
	"strconv"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

const jobColumns = `id, run_id, account_id, parent_id, type, resource, page_key, bucket, class, priority, params, status,
	attempt, failures, lost, not_before, error_kind, error, items, pages, created_at, finished_at, expected, started_at`

func scanJob(r *driver.Stmt) domain.Job {
	return domain.Job{
		ID: r.ColumnInt64(0), RunID: r.ColumnInt64(1), AccountID: r.ColumnInt64(2), ParentID: r.ColumnInt64(3),
		JobSpec: domain.JobSpec{
			Type: r.ColumnText(4), Resource: r.ColumnText(5), PageKey: r.ColumnText(6), Bucket: r.ColumnText(7),
			Class: domain.Class(r.ColumnInt(8)), Priority: domain.Priority(r.ColumnInt(9)), Params: readBlob(r, 10),
			Expected: r.ColumnInt(22),
		},
		Status:  domain.JobStatus(r.ColumnInt(11)),
		Attempt: r.ColumnInt64(12), Failures: r.ColumnInt(13), Lost: r.ColumnInt(14),
		NotBefore: fromMicros(r.ColumnInt64(15)), ErrorKind: domain.FailureKind(r.ColumnText(16)), Error: r.ColumnText(17),
		Items: r.ColumnInt(18), Pages: r.ColumnInt(19),
		CreatedAt: fromMicros(r.ColumnInt64(20)), FinishedAt: fromMicros(r.ColumnInt64(21)),
		StartedAt: fromMicros(r.ColumnInt64(23)),
	}
}

const (
	refColumns = "id, run_id, account_id, bucket, class, priority, not_before"
	refWidth   = 7
)

func scanRef(r *driver.Stmt) domain.JobRef {
	return domain.JobRef{
		ID: r.ColumnInt64(0), RunID: r.ColumnInt64(1), AccountID: r.ColumnInt64(2), Bucket: r.ColumnText(3),
		Class: domain.Class(r.ColumnInt(4)), Priority: domain.Priority(r.ColumnInt(5)),
		NotBefore: fromMicros(r.ColumnInt64(6)),
	}
}

// statusList writes states for SQL.
func statusList(statuses []domain.JobStatus) string {
	list := make([]string, len(statuses))
	for i, status := range statuses {
		list[i] = strconv.Itoa(int(status))
	}
	return strings.Join(list, ", ")
}

// Job implements state.Jobs.
func (s *State) Job(ctx context.Context, id int64) (job domain.Job, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+jobColumns+" FROM job WHERE id = ?", func(r *driver.Stmt) { job = scanJob(r) }, id)
	})
	if err == nil && job.ID == 0 {
		err = state.NoJob(id)
	}
	return job, err
}

// Load implements state.Jobs.
func (s *State) Load(ctx context.Context, ids []int64) ([]domain.Job, error) {
	jobs := make([]domain.Job, 0, len(ids))
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+jobColumns+" FROM job WHERE id IN (SELECT value FROM json_each(?))",
			func(r *driver.Stmt) { jobs = append(jobs, scanJob(r)) }, idList(ids))
	})
	return jobs, err
}

// Jobs implements state.Jobs.
func (s *State) Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error) {
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
	args = append(args, domain.Limit(q.Limit))
	var out []domain.Job
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+jobColumns+" FROM job WHERE "+strings.Join(where, " AND ")+" ORDER BY id LIMIT ?",
			func(r *driver.Stmt) { out = append(out, scanJob(r)) }, args...)
	})
	return out, err
}

// Waiting implements state.Jobs.
func (s *State) Waiting(ctx context.Context, fn func(domain.JobRef) error) error {
	return s.Unfinished(ctx, func(ref domain.JobRef, running bool) error {
		if running {
			return nil
		}
		return fn(ref)
	})
}

// Unfinished implements state.Jobs.
func (s *State) Unfinished(ctx context.Context, fn func(ref domain.JobRef, running bool) error) error {
	var failed error
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+refColumns+", status FROM job INDEXED BY job_unfinished WHERE done = 0 AND status IN ("+statusList(state.Claimable())+") ORDER BY id",
			func(r *driver.Stmt) {
				if failed == nil {
					failed = fn(scanRef(r), domain.JobStatus(r.ColumnInt64(refWidth)) == domain.JobRunning)
				}
			})
	})
	if err != nil {
		return err
	}
	return failed
}

// RecoverRunning implements state.Jobs.
func (s *State) RecoverRunning(ctx context.Context, maxLost int) (recovered int, ended []domain.Run, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		recovered, ended = 0, nil
		var lost []domain.Job
		err := Exec(c, "SELECT "+jobColumns+" FROM job WHERE done = 0 AND status = ?",
			func(r *driver.Stmt) { lost = append(lost, scanJob(r)) }, int64(domain.JobRunning))
		if err != nil {
			return err
		}
		g := &finishGroup{Commit: state.NewCommit(stateRows{stateReader{c}, s}), store: s, conn: c}
		at := s.now()
		for i := range lost {
			item := &finishItem{Attempt: state.Lost(&lost[i], maxLost, at)}
			held := state.HeldOf(&lost[i])
			if !g.Admit(item.Attempt, &held) {
				return item.Err
			}
			if item.Outcome.To == domain.JobReady {
				recovered++
			}
			g.items = append(g.items, item)
		}
		if err := g.Take(ctx, g.moveLost, g.HoldPaused, g.settleRuns); err != nil {
			return err
		}
		ended = g.Closed()
		return nil
	})
	return recovered, ended, err
}

// moveLost moves jobs whose workers vanished.
func (g *finishGroup) moveLost(context.Context) error {
	for _, item := range g.items {
		o := &item.Outcome
		var err error
		if o.To == domain.JobFailed {
			err = Exec(g.conn, `UPDATE job SET status = ?, done = 1, finished_at = ?, lost = lost + 1, error_kind = ?, error = ?
				WHERE id = ?`, nil, int64(o.To), o.At, string(o.Failure.Kind), o.Failure.Message, o.Job)
		} else {
			err = Exec(g.conn, "UPDATE job SET status = ?, lost = lost + 1, not_before = 0 WHERE id = ?", nil, int64(o.To), o.Job)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
