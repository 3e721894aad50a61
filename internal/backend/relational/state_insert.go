package relational

import (
	"context"

	"sluice/internal/domain"
)

// insertJob leaves a job that is there already as it is; any other reason not
// to insert one is an error.
var insertJob = &Insert{
	Head: `INSERT INTO job (id, run_id, account_id, parent_id, class, priority, expected, status, created_at,
		ledger_hash, page_hash, type, resource, page_key, bucket, params, error)`,
	Upsert: Upsert{Key: "run_id, ledger_hash, page_hash"},
}

// What a job's row usually takes.
const jobRowBytes, jobRowTexts = 192, 5

func jobRow(j *domain.Job) Row {
	var row Row
	ledger, page := HashOf(j.Type, j.Resource), HashOf(j.PageKey)
	row.Grow(jobRowBytes, jobRowTexts)
	row.Write("(").Ints(j.ID, j.RunID, j.AccountID, j.ParentID, int64(j.Class), int64(j.Priority), int64(j.Expected),
		int64(j.Status), Micros(j.CreatedAt))
	row.Write(",").Hash(ledger).Write(",").Hash(page).Write(",").Text(j.Type).Write(",").Text(j.Resource)
	row.Write(",").Text(j.PageKey).Write(",").Text(j.Bucket).Write(",").Blob(j.Params).Write(",'')")
	row.Key = sortKey(j.RunID, ledger, page)
	return row
}

// insertJobs inserts jobs unless they exist, and returns those it inserted.
// Their ids, taken before, begin with first.
func insertJobs(ctx context.Context, tx *Tx, jobs []domain.Job, first int64) ([]domain.Job, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows := make([]Row, len(jobs))
	for i := range jobs {
		jobs[i].ID, jobs[i].CreatedAt = first+int64(i), Time(Micros(jobs[i].CreatedAt))
		rows[i] = jobRow(&jobs[i])
	}
	changed, err := insertJob.Run(ctx, tx, rows)
	if err != nil || changed == int64(len(jobs)) {
		return jobs, err
	}
	// Some were there already; which of them has to be asked.
	created := make([]domain.Job, 0, changed)
	var find Statement
	find.Write("SELECT id FROM job WHERE id BETWEEN ").Int(first).Write(" AND ").Int(first + int64(len(jobs)) - 1)
	ids, err := selectIDs(ctx, tx, &find)
	for _, id := range ids {
		created = append(created, jobs[id-first])
	}
	return created, err
}
