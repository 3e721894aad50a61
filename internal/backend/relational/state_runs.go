package relational

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/state"
)

const runColumns = `r.id, r.account_id, a.source, a.login, r.trigger_by, r.priority, r.status, r.anchor, r.reason,
	r.created_at, r.finished_at, r.known, r.pending, r.succeeded, r.failed, r.canceled, r.calls, r.documents,
	r.expected_at, r.expected_calls, r.expected_ends`

const runFrom = " FROM run r JOIN account a ON a.id = r.account_id "

func scanRun(r *sql.Rows) (domain.Run, error) {
	var run domain.Run
	var anchor, created, finished, expected, ends int64
	err := r.Scan(&run.ID, &run.AccountID, &run.Source, &run.Login, &run.Trigger, &run.Priority, &run.Status, &anchor, &run.Reason,
		&created, &finished, &run.Known, &run.Pending, &run.Succeeded, &run.Failed, &run.Canceled, &run.Calls, &run.Documents,
		&expected, &run.Expected.Calls, &ends)
	run.Anchor, run.CreatedAt, run.FinishedAt = Time(anchor), Time(created), Time(finished)
	run.Expected.At, run.Expected.Ends = Time(expected), Time(ends)
	return run, err
}

// PlanRun implements state.Runs.
func (s *State) PlanRun(ctx context.Context, id int64, specs []domain.JobSpec) (waiting []domain.JobRef, err error) {
	first, err := s.jobIDs.Take(ctx, len(specs))
	if err != nil {
		return nil, err
	}
	var inserted []domain.Job
	err = s.db.Tx(ctx, func(tx *Tx) error {
		waiting, inserted, err = state.PlanRun(ctx, s.rows(tx, first), id, specs, s.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	s.memory.learnJobs(inserted)
	return waiting, nil
}

// Deliver implements state.Runs.
func (s *State) Deliver(ctx context.Context, d state.Delivered) (run domain.Run, made []domain.JobRef, err error) {
	first, err := s.jobIDs.Take(ctx, len(d.Jobs))
	if err != nil {
		return run, nil, err
	}
	var inserted []domain.Job
	err = s.db.Tx(ctx, func(tx *Tx) error {
		run, made, inserted, err = state.Deliver(ctx, s.rows(tx, first), d, s.now())
		return err
	})
	if err == nil {
		s.memory.learnJobs(inserted)
	}
	return run, made, err
}

// Runs implements state.Runs.
func (s *State) Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error) {
	var find Statement
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
	if q.Except != "" {
		find.Write(" AND r.trigger_by <> ").Text(string(q.Except))
	}
	find.Write(" ORDER BY r.id DESC LIMIT ").Int(domain.Limit(q.Limit))
	var out []domain.Run
	err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
		run, err := scanRun(r)
		out = append(out, run)
		return err
	})
	return out, err
}

// Ledger implements state.Ledgers. Pages are grouped by what stands for their
// type and resource, as texts of any length would be cut when they are sorted.
func (s *ledgerStore) Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	var out []state.LedgerLine
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var line state.LedgerLine
		var failure, wait string
		err := r.Scan(&line.Type, &line.Resource, &line.Announced, &line.Known, &line.Stored, &line.Failed, &line.Dropped, &line.Items,
			&failure, &wait)
		line.Explain(failure, wait)
		out = append(out, line)
		return err
	}, `SELECT j.type, j.resource, l.announced, l.known, l.stored_pages, l.failed, l.dropped, l.items, l.failure, l.wait FROM
		(SELECT MIN(id) AS first_id, MAX(pages) AS announced, SUM(CASE WHEN done = 1 THEN 1 ELSE expected END) AS known,
			COUNT(CASE WHEN status = ? THEN 1 END) AS stored_pages, COUNT(CASE WHEN status = ? THEN 1 END) AS failed,
			COUNT(CASE WHEN status = ? THEN 1 END) AS dropped, SUM(items) AS items, MAX(CASE WHEN status = ? THEN error ELSE '' END) AS failure,
			MAX(CASE WHEN done = 0 THEN error ELSE '' END) AS wait FROM job WHERE run_id = ? GROUP BY ledger_hash) l
		JOIN job j ON j.id = l.first_id ORDER BY j.id`,
		int64(domain.JobSucceeded), int64(domain.JobFailed), int64(domain.JobCanceled), int64(domain.JobFailed), run)
	return out, err
}

// Outlook implements state.Ledgers.
func (s *ledgerStore) Outlook(ctx context.Context, run int64) ([]state.Outlook, error) {
	var out []state.Outlook
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var line state.Outlook
		err := r.Scan(&line.Bucket, &line.Done, &line.Left, &line.Discovering, &line.Running)
		out = append(out, line)
		return err
	}, `SELECT bucket, SUM(done), SUM(CASE WHEN done = 1 THEN 0 ELSE expected END), COUNT(CASE WHEN done = 0 AND class <> ? THEN 1 END),
		COUNT(CASE WHEN status = ? THEN 1 END)
		FROM job WHERE run_id = ? GROUP BY bucket ORDER BY bucket`, int64(domain.ClassChild), int64(domain.JobRunning), run)
	return out, err
}
