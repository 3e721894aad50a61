package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// LockJob implements state.JobRows.
func (t stateRows) LockJob(_ context.Context, id int64) (job domain.Job, err error) {
	err = Exec(t.conn, "SELECT "+jobColumns+" FROM job WHERE id = ?", func(r *driver.Stmt) { job = scanJob(r) }, id)
	return job, err
}

// LockUnfinished implements state.JobRows.
func (t stateRows) LockUnfinished(context.Context, int64) error { return nil }

// LockMovable implements state.JobRows.
func (t stateRows) LockMovable(context.Context, int64, []domain.JobStatus) error { return nil }

// LockRunWithJobs implements state.JobRows. It returns no others than those that
// may come back.
func (t stateRows) LockRunWithJobs(ctx context.Context, id int64) (run domain.Run, jobs []domain.Job, err error) {
	if run, err = t.FindRun(ctx, id); err != nil {
		return run, nil, err
	}
	err = Exec(t.conn, "SELECT "+jobColumns+" FROM job WHERE run_id = ? AND status IN (?, ?)",
		func(r *driver.Stmt) { jobs = append(jobs, scanJob(r)) }, id, int64(domain.JobFailed), int64(domain.JobCanceled))
	return run, jobs, err
}

// CancelUnfinished implements state.JobRows.
func (t stateRows) CancelUnfinished(_ context.Context, run int64, at time.Time) (canceled []int64, err error) {
	err = Exec(t.conn, "UPDATE job SET status = ?, done = 1, finished_at = ? WHERE run_id = ? AND done = 0 AND status IN ("+
		statusList(state.Unfinished())+") RETURNING id",
		func(r *driver.Stmt) { canceled = append(canceled, r.ColumnInt64(0)) }, int64(domain.JobCanceled), at, run)
	return canceled, err
}

// BringBack implements state.JobRows.
func (t stateRows) BringBack(_ context.Context, jobs []domain.Job, as domain.JobStatus) error {
	ids := make([]int64, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return Exec(t.conn, `UPDATE job SET status = ?, done = 0, failures = 0, lost = 0, not_before = 0, finished_at = 0
		WHERE id IN (SELECT value FROM json_each(?))`, nil, int64(as), idList(ids))
}

// SetPriority implements state.JobRows.
func (t stateRows) SetPriority(_ context.Context, run int64, _ []domain.Job, p domain.Priority) error {
	return Exec(t.conn, "UPDATE job SET priority = ?1 WHERE run_id = ?2 AND priority <> ?1 AND status <> ?3", nil,
		int64(p), run, int64(domain.JobSucceeded))
}

// WaitingJobs implements state.JobRows.
func (t stateRows) WaitingJobs(_ context.Context, run int64) ([]domain.JobRef, error) {
	return t.refs("run_id = ? AND done = 0 AND status IN ("+statusList(state.Waiting())+")", run)
}

// MoveJobs implements state.JobRows.
func (t stateRows) MoveJobs(_ context.Context, account int64, from []domain.JobStatus, to domain.JobStatus) (moved []domain.JobRef, err error) {
	err = Exec(t.conn, `UPDATE job SET status = ? WHERE done = 0 AND status IN (`+statusList(from)+`) AND
		run_id IN (SELECT id FROM run WHERE account_id = ? AND status <= 4) RETURNING `+refColumns,
		func(r *driver.Stmt) { moved = append(moved, scanRef(r)) }, int64(to), account)
	return moved, err
}

// InsertJobs implements state.JobRows.
func (t stateRows) InsertJobs(_ context.Context, jobs []domain.Job) ([]domain.Job, error) {
	first := t.store.lastJob.Add(int64(len(jobs))) - int64(len(jobs)) + 1
	for i := range jobs {
		jobs[i].ID, jobs[i].CreatedAt = first+int64(i), fromMicros(toMicros(jobs[i].CreatedAt))
	}
	created := jobs[:0]
	err := insertJob.Run(t.conn, len(jobs), func(stmt *driver.Stmt, base, i int) { bindJob(stmt, base, &jobs[i]) }, func(from, to, changed int) error {
		if changed == to-from {
			created = append(created, jobs[from:to]...)
			return nil
		}
		// Some were there already; which of them has to be asked.
		return Exec(t.conn, "SELECT id FROM job WHERE id BETWEEN ? AND ? ORDER BY id", func(r *driver.Stmt) {
			created = append(created, jobs[r.ColumnInt64(0)-first])
		}, first+int64(from), first+int64(to)-1)
	})
	return created, err
}

var insertJob = NewInsert(`INSERT INTO job (id, run_id, account_id, parent_id, type, resource, page_key, bucket, class,
	priority, params, status, created_at, expected)`, "ON CONFLICT DO NOTHING", 14)

func bindJob(stmt *driver.Stmt, base int, j *domain.Job) {
	stmt.BindInt64(base, j.ID)
	stmt.BindInt64(base+1, j.RunID)
	stmt.BindInt64(base+2, j.AccountID)
	stmt.BindInt64(base+3, j.ParentID)
	stmt.BindText(base+4, j.Type)
	stmt.BindText(base+5, j.Resource)
	stmt.BindText(base+6, j.PageKey)
	stmt.BindText(base+7, j.Bucket)
	stmt.BindInt64(base+8, int64(j.Class))
	stmt.BindInt64(base+9, int64(j.Priority))
	bindBlob(stmt, base+10, j.Params)
	stmt.BindInt64(base+11, int64(j.Status))
	stmt.BindInt64(base+12, toMicros(j.CreatedAt))
	stmt.BindInt64(base+13, int64(j.Expected))
}
