package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var (
	// unfinished are the states of jobs that have not ended.
	unfinished = state.Unfinished()
	// unsuccessful are the states of jobs that have not brought what they were to.
	unsuccessful = append([]domain.JobStatus{domain.JobFailed, domain.JobCanceled}, unfinished...)
)

// ChildJobs implements state.ReadRows.
func (r stateReader) ChildJobs(ctx context.Context, run, parent int64) ([]domain.JobRef, error) {
	var find Statement
	find.Write("run_id = ").Int(run).Write(" AND done = 0 AND parent_id = ").Int(parent)
	return r.waitingRefs(ctx, &find)
}

// waitingRefs lists those of the jobs that wait for a worker.
func (r stateReader) waitingRefs(ctx context.Context, where *Statement) (out []domain.JobRef, err error) {
	var find Statement
	find.Write("SELECT " + refColumns + " FROM job WHERE ").Append(where)
	find.Write(" AND status IN (").Ints(numbers(waiting)...).Write(") ORDER BY id")
	err = find.Query(ctx, r.q, func(rows *sql.Rows) error {
		ref, err := scanRef(rows)
		out = append(out, ref)
		return err
	})
	return out, err
}

// WaitingJobs implements state.JobRows.
func (t stateRows) WaitingJobs(ctx context.Context, run int64) ([]domain.JobRef, error) {
	var find Statement
	find.Write("run_id = ").Int(run).Write(" AND done = 0")
	return t.waitingRefs(ctx, &find)
}

// LockJob implements state.JobRows.
func (t stateRows) LockJob(ctx context.Context, id int64) (job domain.Job, err error) {
	err = lockJobs(ctx, t.tx, []int64{id}, jobColumns, nil, func(r *sql.Rows) error {
		job, err = scanJob(r)
		return err
	})
	return job, err
}

// LockUnfinished implements state.JobRows.
func (t stateRows) LockUnfinished(ctx context.Context, run int64) error {
	_, err := lockUnfinished(ctx, t.tx, run)
	return err
}

// lockUnfinished locks everything of a run that has not ended, and returns it.
func lockUnfinished(ctx context.Context, tx *Tx, run int64) ([]int64, error) {
	var find Statement
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

// CancelUnfinished implements state.JobRows.
func (t stateRows) CancelUnfinished(ctx context.Context, run int64, at time.Time) ([]int64, error) {
	canceled, err := lockUnfinished(ctx, t.tx, run)
	if err != nil {
		return nil, err
	}
	return canceled, updateJobs(ctx, t.tx, canceled, "status = ?, done = 1, finished_at = ?", int64(domain.JobCanceled), Micros(at))
}

// BringBack implements state.JobRows.
func (t stateRows) BringBack(ctx context.Context, jobs []domain.Job, as domain.JobStatus) error {
	return updateJobs(ctx, t.tx, jobIDs(jobs), "status = ?, done = 0, failures = 0, lost = 0, not_before = 0, finished_at = 0", int64(as))
}

func jobIDs(jobs []domain.Job) []int64 {
	ids := make([]int64, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

// SetPriority implements state.JobRows.
func (t stateRows) SetPriority(ctx context.Context, _ int64, jobs []domain.Job, p domain.Priority) error {
	var ids []int64
	for i := range jobs {
		if jobs[i].Priority != p {
			ids = append(ids, jobs[i].ID)
		}
	}
	return updateJobs(ctx, t.tx, ids, "priority = ?", int64(p))
}

// LockRunWithJobs implements state.JobRows. Jobs are locked before runs; those that
// were created meanwhile are found when the run is locked, as nobody can add to it
// then.
func (t stateRows) LockRunWithJobs(ctx context.Context, id int64) (run domain.Run, jobs []domain.Job, err error) {
	if _, err = t.lockUnsuccessful(ctx, id); err != nil {
		return run, nil, err
	}
	if run, err = t.LockRun(ctx, id); err != nil {
		return run, nil, err
	}
	jobs, err = t.lockUnsuccessful(ctx, id)
	return run, jobs, err
}

func (t stateRows) lockUnsuccessful(ctx context.Context, run int64) ([]domain.Job, error) {
	var find Statement
	find.Write("SELECT id FROM job WHERE run_id = ").Int(run).Write(" AND status IN (").Ints(numbers(unsuccessful)...).Write(")")
	ids, err := selectIDs(ctx, t.tx, &find)
	if err != nil {
		return nil, err
	}
	var jobs []domain.Job
	err = lockJobs(ctx, t.tx, ids, "id, priority, status, error_kind, expected, finished_at", unsuccessful, func(r *sql.Rows) error {
		var j domain.Job
		var finished int64
		err := r.Scan(&j.ID, &j.Priority, &j.Status, &j.ErrorKind, &j.Expected, &finished)
		j.FinishedAt = Time(finished)
		jobs = append(jobs, j)
		return err
	})
	return jobs, err
}

// InsertJobs implements state.JobRows.
func (t stateRows) InsertJobs(ctx context.Context, jobs []domain.Job) ([]domain.Job, error) {
	return insertJobs(ctx, t.tx, jobs, t.firstID)
}

// LockMovable implements state.JobRows.
func (t stateRows) LockMovable(ctx context.Context, account int64, from []domain.JobStatus) error {
	_, err := t.lockMovable(ctx, account, from)
	return err
}

// MoveJobs implements state.JobRows.
func (t stateRows) MoveJobs(ctx context.Context, account int64, from []domain.JobStatus, to domain.JobStatus) ([]domain.JobRef, error) {
	moved, err := t.lockMovable(ctx, account, from)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	return moved, updateJobs(ctx, t.tx, refIDs(moved), "status = ?", int64(to))
}

func (t stateRows) lockMovable(ctx context.Context, account int64, from []domain.JobStatus) ([]domain.JobRef, error) {
	if len(from) == 0 {
		return nil, nil
	}
	var find Statement
	find.Write("SELECT j.id FROM run r JOIN job j ON j.run_id = r.id WHERE r.active_account = ").Int(account)
	find.Write(" AND j.done = 0 AND j.status IN (").Ints(numbers(from)...).Write(")")
	ids, err := selectIDs(ctx, t.tx, &find)
	if err != nil {
		return nil, err
	}
	var refs []domain.JobRef
	err = lockJobs(ctx, t.tx, ids, refColumns, from, func(r *sql.Rows) error {
		ref, err := scanRef(r)
		refs = append(refs, ref)
		return err
	})
	return refs, err
}
