package mysql

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

// waiting are the states of a job that waits for a worker.
var waiting = []domain.JobStatus{domain.JobReady, domain.JobEnqueued}

// Job implements state.Jobs.
func (s *Store) Job(ctx context.Context, id int64) (domain.Job, error) {
	jobs, err := s.Load(ctx, []int64{id})
	if err != nil {
		return domain.Job{}, err
	}
	if len(jobs) == 0 {
		return domain.Job{}, domain.Errorf(domain.CodeNotFound, "there is no job %d", id)
	}
	return jobs[0], nil
}

// Load implements state.Jobs.
func (s *Store) Load(ctx context.Context, ids []int64) ([]domain.Job, error) {
	jobs := make([]domain.Job, 0, len(ids))
	for part := range slices.Chunk(ids, maxIDs) {
		var find mysqldb.Statement
		find.Write("SELECT " + jobColumns + " FROM job WHERE id IN (").Ints(part...).Write(")")
		err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
			j, err := scanJob(r)
			jobs = append(jobs, j)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	s.memory.learnJobs(jobs)
	return jobs, nil
}

// Jobs implements state.Jobs.
func (s *Store) Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error) {
	var find mysqldb.Statement
	find.Write("SELECT " + jobColumns + " FROM job")
	if q.RunID != 0 {
		find.Write(" FORCE INDEX (job_run) WHERE run_id = ").Int(q.RunID).Write(" AND id > ").Int(q.AfterID)
	} else {
		find.Write(" FORCE INDEX (PRIMARY) WHERE id > ").Int(q.AfterID)
	}
	if len(q.Statuses) > 0 {
		find.Write(" AND status IN (").Ints(numbers(q.Statuses)...).Write(")")
	}
	find.Write(" ORDER BY id LIMIT ").Int(limitOr(q.Limit))
	var out []domain.Job
	err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
		j, err := scanJob(r)
		out = append(out, j)
		return err
	})
	if err == nil {
		s.memory.learnJobs(out)
	}
	return out, err
}

// unfinishedPage is how many jobs are read at a time.
const unfinishedPage = 5000

// Waiting implements state.Jobs.
func (s *Store) Waiting(ctx context.Context, fn func(domain.JobRef) error) error {
	return s.db.Read(ctx, func(q mysqldb.Querier) error {
		return eachUnfinished(ctx, q, waiting, func(ref domain.JobRef, _ domain.JobStatus) error { return fn(ref) })
	})
}

// Unfinished implements state.Jobs.
func (s *Store) Unfinished(ctx context.Context, fn func(ref domain.JobRef, running bool) error) error {
	statuses := append(slices.Clone(waiting), domain.JobRunning)
	return s.db.Snapshot(ctx, func(tx *sql.Tx) error {
		return eachUnfinished(ctx, tx, statuses, func(ref domain.JobRef, status domain.JobStatus) error {
			return fn(ref, status == domain.JobRunning)
		})
	})
}

// eachUnfinished calls fn for the jobs in some of the states of those that have
// not ended. A page is read to its end before fn is called: fn may be slow.
func eachUnfinished(ctx context.Context, q mysqldb.Querier, statuses []domain.JobStatus, fn func(domain.JobRef, domain.JobStatus) error) error {
	type row struct {
		ref    domain.JobRef
		status domain.JobStatus
	}
	page := make([]row, 0, unfinishedPage)
	for after := int64(0); ; after = page[len(page)-1].ref.ID {
		var find mysqldb.Statement
		find.Write("SELECT " + refColumns + ", status FROM job FORCE INDEX (job_unfinished) WHERE done = 0 AND id > ").Int(after)
		find.Write(" AND status IN (").Ints(numbers(statuses)...).Write(") ORDER BY id LIMIT ").Int(unfinishedPage)
		page = page[:0]
		err := find.Query(ctx, q, func(r *sql.Rows) (err error) {
			var one row
			one.ref, err = scanRef(r, &one.status)
			page = append(page, one)
			return err
		})
		if err != nil {
			return err
		}
		for _, one := range page {
			if err := fn(one.ref, one.status); err != nil {
				return err
			}
		}
		if len(page) < unfinishedPage {
			return nil
		}
	}
}

// Children implements state.Jobs.
func (s *Store) Children(ctx context.Context, parent int64) (out []domain.JobRef, err error) {
	err = s.db.Read(ctx, func(q mysqldb.Querier) error {
		var find mysqldb.Statement
		find.Write("SELECT run_id FROM job WHERE id = ").Int(parent)
		runs, err := selectIDs(ctx, q, &find)
		if err != nil || len(runs) == 0 {
			return err
		}
		out, err = children(ctx, q, runs[0], parent)
		return err
	})
	return out, err
}

func children(ctx context.Context, q mysqldb.Querier, run, parent int64) ([]domain.JobRef, error) {
	var out []domain.JobRef
	var find mysqldb.Statement
	find.Write("SELECT " + refColumns + " FROM job WHERE run_id = ").Int(run).Write(" AND done = 0 AND parent_id = ").Int(parent)
	find.Write(" AND status IN (").Ints(numbers(waiting)...).Write(") ORDER BY id")
	err := find.Query(ctx, q, func(r *sql.Rows) error {
		ref, err := scanRef(r)
		out = append(out, ref)
		return err
	})
	return out, err
}

// RetryJob implements state.Jobs.
func (s *Store) RetryJob(ctx context.Context, id int64) (ref domain.JobRef, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		var job domain.Job
		err := lockJobs(ctx, tx, []int64{id}, jobColumns, nil, func(r *sql.Rows) error {
			job, err = scanJob(r)
			return err
		})
		if err != nil {
			return err
		}
		if job.ID == 0 {
			return domain.Errorf(domain.CodeNotFound, "there is no job %d", id)
		}
		if job.Status != domain.JobFailed {
			return domain.Errorf(domain.CodeIllegalMove, "job %d is %s; only a FAILED job can be retried", id, job.Status)
		}
		run, err := lockRun(ctx, tx, job.RunID)
		if err != nil {
			return err
		}
		if run.Status == domain.RunFinalizing {
			return domain.Errorf(domain.CodeConflict, "the statistics of run %d are being computed; retry when it is COMPLETED", run.ID)
		}
		if !run.Status.Active() {
			if err := s.reopenRun(ctx, tx, &run); err != nil {
				return err
			}
		}
		err = updateJobs(ctx, tx, []int64{id}, "status = ?, done = 0, failures = 0, lost = 0, not_before = 0, finished_at = 0", int64(domain.JobReady))
		if err != nil {
			return err
		}
		ref = refOf(&job)
		_, err = tx.ExecContext(ctx, "UPDATE run SET failed = failed - 1, pending = pending + 1, known = known + ? WHERE id = ?",
			job.Calls()-1, run.ID)
		return err
	})
	return ref, err
}

// reopenRun makes a finished run active again, unless its account has another
// active run by now.
func (s *Store) reopenRun(ctx context.Context, tx *sql.Tx, run *domain.Run) error {
	other, err := lockActiveRun(ctx, tx, run.AccountID)
	if err != nil {
		return err
	}
	if other != 0 {
		return domain.Errorf(domain.CodeConflict, "run %d cannot go on while run %d of the same account is active", run.ID, other)
	}
	return moveRun(ctx, tx, run, domain.RunRunning, "", mysqldb.Micros(s.now()))
}
