package mysql

import (
	"cmp"
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// plannedJobs are jobs to be inserted that share a run and a parent.
type plannedJobs struct {
	run, account, parent int64
	priority             domain.Priority
	at                   int64
	specs                []domain.JobSpec
}

func refOf(j *domain.Job) domain.JobRef {
	return domain.JobRef{ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, Bucket: j.Bucket, Class: j.Class, Priority: j.Priority}
}

// insertJob leaves a job that is there already as it is; any other reason not
// to insert one is an error.
var insertJob = &mysqldb.Insert{
	Head: `INSERT INTO job (id, run_id, account_id, parent_id, class, priority, expected, status, created_at,
		ledger_hash, page_hash, type, resource, page_key, bucket, params, error)`,
	Tail: "ON DUPLICATE KEY UPDATE id = id",
}

// What a job's row usually takes.
const rowBytes, rowTexts = 192, 5

func jobRow(j *domain.Job) mysqldb.Row {
	var row mysqldb.Row
	ledger, page := mysqldb.HashOf(j.Type, j.Resource), mysqldb.HashOf(j.PageKey)
	row.Grow(rowBytes, rowTexts)
	row.Write("(").Ints(j.ID, j.RunID, j.AccountID, j.ParentID, int64(j.Class), int64(j.Priority), int64(j.Expected),
		int64(j.Status), mysqldb.Micros(j.CreatedAt))
	row.Write(",").Hash(ledger).Write(",").Hash(page).Write(",").Text(j.Type).Write(",").Text(j.Resource)
	row.Write(",").Text(j.PageKey).Write(",").Text(j.Bucket).Write(",").Blob(j.Params).Write(",'')")
	row.Key = sortKey(j.RunID, ledger, page)
	return row
}

// insertPlans inserts jobs unless they exist, and returns those it inserted.
// Their ids, taken before, begin with first.
func insertPlans(ctx context.Context, tx *sql.Tx, plans []plannedJobs, first int64) ([]domain.Job, error) {
	n := 0
	for i := range plans {
		n += len(plans[i].specs)
	}
	jobs, rows := make([]domain.Job, 0, n), make([]mysqldb.Row, 0, n)
	for i := range plans {
		p := &plans[i]
		for _, spec := range p.specs {
			spec.Priority, spec.Expected = cmp.Or(spec.Priority, p.priority), spec.Calls()
			if spec.Params == nil {
				spec.Params = []byte{}
			}
			job := domain.Job{
				ID: first + int64(len(jobs)), RunID: p.run, AccountID: p.account, ParentID: p.parent, JobSpec: spec,
				Status: domain.JobReady, CreatedAt: mysqldb.Time(p.at),
			}
			jobs, rows = append(jobs, job), append(rows, jobRow(&job))
		}
	}
	changed, err := insertJob.Run(ctx, tx, rows)
	if err != nil || changed == int64(len(jobs)) {
		return jobs, err
	}
	// Some were there already; which of them has to be asked.
	created := make([]domain.Job, 0, changed)
	var find mysqldb.Statement
	find.Write("SELECT id FROM job WHERE id BETWEEN ").Int(first).Write(" AND ").Int(first + int64(len(jobs)) - 1)
	ids, err := selectIDs(ctx, tx, &find)
	for _, id := range ids {
		created = append(created, jobs[id-first])
	}
	return created, err
}
