package relational

import (
	"context"
	"database/sql"
	"encoding/binary"
	"slices"

	"sluice/internal/domain"
)

const jobColumns = `id, run_id, account_id, parent_id, type, resource, page_key, bucket, class, priority, params, status,
	attempt, failures, lost, not_before, error_kind, error, items, pages, created_at, finished_at, expected, started_at`

func scanJob(r *sql.Rows) (domain.Job, error) {
	var j domain.Job
	var notBefore, created, finished, started int64
	err := r.Scan(&j.ID, &j.RunID, &j.AccountID, &j.ParentID, &j.Type, &j.Resource, &j.PageKey, &j.Bucket, &j.Class, &j.Priority,
		&j.Params, &j.Status, &j.Attempt, &j.Failures, &j.Lost, &notBefore, &j.ErrorKind, &j.Error, &j.Items, &j.Pages,
		&created, &finished, &j.Expected, &started)
	j.NotBefore, j.CreatedAt, j.FinishedAt, j.StartedAt = Time(notBefore), Time(created), Time(finished), Time(started)
	return j, err
}

const refColumns = "id, run_id, account_id, bucket, class, priority, not_before"

// scanRef reads refColumns, and what was selected behind them.
func scanRef(r *sql.Rows, behind ...any) (domain.JobRef, error) {
	var ref domain.JobRef
	var notBefore int64
	err := r.Scan(append([]any{&ref.ID, &ref.RunID, &ref.AccountID, &ref.Bucket, &ref.Class, &ref.Priority, &notBefore}, behind...)...)
	ref.NotBefore = Time(notBefore)
	return ref, err
}

func refIDs(refs []domain.JobRef) []int64 {
	ids := make([]int64, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	return ids
}

func numbers[T ~uint8](values []T) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = int64(v)
	}
	return out
}

// sortKey orders rows as their primary key does.
func sortKey(id int64, hashes ...Hash) string {
	key := binary.BigEndian.AppendUint64(nil, uint64(id))
	for _, h := range hashes {
		key = append(key, h[:]...)
	}
	return string(key)
}

// selectIDs collects the ids that a query finds, in ascending order.
func selectIDs(ctx context.Context, q Querier, find *Statement) ([]int64, error) {
	var ids []int64
	err := find.Query(ctx, q, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	slices.Sort(ids)
	return ids, err
}

// lockJobs locks those of the jobs, given in ascending order, that are in one
// of the states, or all of them if none is given, and calls each for them.
func lockJobs(ctx context.Context, tx *Tx, ids []int64, columns string, in []domain.JobStatus, each func(*sql.Rows) error) error {
	return lockSome(ctx, tx, ids, columns, in, "FOR UPDATE", each)
}

func lockSome(ctx context.Context, tx *Tx, ids []int64, columns string, in []domain.JobStatus, how string, each func(*sql.Rows) error) error {
	for part := range slices.Chunk(ids, maxIDs) {
		var lock Statement
		// The index is named so that no look at a small table locks all of it.
		lock.Write("SELECT ").Write(columns).Write(" FROM job /*! FORCE INDEX (PRIMARY) */ WHERE id IN (").Ints(part...).Write(")")
		if len(in) > 0 {
			lock.Write(" AND status IN (").Ints(numbers(in)...).Write(")")
		}
		lock.Write(" ORDER BY id ").Write(how)
		if err := lock.Query(ctx, tx, each); err != nil {
			return err
		}
	}
	return nil
}

// updateJobs makes the same assignments to many jobs.
func updateJobs(ctx context.Context, tx *Tx, ids []int64, set string, args ...any) error {
	for part := range slices.Chunk(ids, maxIDs) {
		var where Statement
		where.Write("UPDATE job /*! FORCE INDEX (PRIMARY) */ SET ").With(set, args...).Write(" WHERE id IN (").Ints(part...).Write(")")
		if _, err := where.Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
