package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// waiting are the states of a job that waits for a worker.
var waiting = state.Waiting()

// Job implements state.Jobs.
func (s *State) Job(ctx context.Context, id int64) (domain.Job, error) {
	jobs, err := s.Load(ctx, []int64{id})
	if err != nil {
		return domain.Job{}, err
	}
	if len(jobs) == 0 {
		return domain.Job{}, state.NoJob(id)
	}
	return jobs[0], nil
}

// Load implements state.Jobs.
func (s *State) Load(ctx context.Context, ids []int64) ([]domain.Job, error) {
	jobs := make([]domain.Job, 0, len(ids))
	for part := range slices.Chunk(ids, maxIDs) {
		var find Statement
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
func (s *State) Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error) {
	var find Statement
	find.Write("SELECT " + jobColumns + " FROM job")
	if q.RunID != 0 {
		find.Write(" /*! FORCE INDEX (job_run) */ WHERE run_id = ").Int(q.RunID).Write(" AND id > ").Int(q.AfterID)
	} else {
		find.Write(" /*! FORCE INDEX (PRIMARY) */ WHERE id > ").Int(q.AfterID)
	}
	if len(q.Statuses) > 0 {
		find.Write(" AND status IN (").Ints(numbers(q.Statuses)...).Write(")")
	}
	find.Write(" ORDER BY id LIMIT ").Int(domain.Limit(q.Limit))
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
func (s *State) Waiting(ctx context.Context, fn func(domain.JobRef) error) error {
	return s.db.Read(ctx, func(q Querier) error {
		return eachUnfinished(ctx, q, waiting, func(ref domain.JobRef, _ domain.JobStatus) error { return fn(ref) })
	})
}

// Unfinished implements state.Jobs.
func (s *State) Unfinished(ctx context.Context, fn func(ref domain.JobRef, running bool) error) error {
	statuses := append(slices.Clone(waiting), domain.JobRunning)
	return s.db.Snapshot(ctx, func(tx *Tx) error {
		return eachUnfinished(ctx, tx, statuses, func(ref domain.JobRef, status domain.JobStatus) error {
			return fn(ref, status == domain.JobRunning)
		})
	})
}

// eachUnfinished calls fn for the jobs in some of the states of those that have
// not ended. A page is read to its end before fn is called: fn may be slow.
func eachUnfinished(ctx context.Context, q Querier, statuses []domain.JobStatus, fn func(domain.JobRef, domain.JobStatus) error) error {
	type row struct {
		ref    domain.JobRef
		status domain.JobStatus
	}
	page := make([]row, 0, unfinishedPage)
	for after := int64(0); ; after = page[len(page)-1].ref.ID {
		var find Statement
		find.Write("SELECT " + refColumns + ", status FROM job /*! FORCE INDEX (job_unfinished) */ WHERE done = 0 AND id > ").Int(after)
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
