package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

const runColumns = `r.id, r.account_id, a.source, a.login, r.trigger_by, r.priority, r.status, r.anchor, r.reason,
	r.created_at, r.finished_at, r.known, r.pending, r.succeeded, r.failed, r.canceled, r.calls, r.documents,
	r.expected_at, r.expected_calls, r.expected_ends`

const runFrom = " FROM run r JOIN account a ON a.id = r.account_id "

func scanRun(r *driver.Stmt) domain.Run {
	return domain.Run{
		ID: r.ColumnInt64(0), AccountID: r.ColumnInt64(1), Source: r.ColumnText(2), Login: r.ColumnText(3),
		Trigger: domain.Trigger(r.ColumnText(4)), Priority: domain.Priority(r.ColumnInt(5)),
		Status: domain.RunStatus(r.ColumnInt(6)), Anchor: fromMicros(r.ColumnInt64(7)), Reason: r.ColumnText(8),
		CreatedAt: fromMicros(r.ColumnInt64(9)), FinishedAt: fromMicros(r.ColumnInt64(10)),
		RunCounts: domain.RunCounts{
			Known: r.ColumnInt64(11), Pending: r.ColumnInt64(12), Succeeded: r.ColumnInt64(13),
			Failed: r.ColumnInt64(14), Canceled: r.ColumnInt64(15), Calls: r.ColumnInt64(16), Documents: r.ColumnInt64(17),
		},
		Expected: domain.Expectation{At: fromMicros(r.ColumnInt64(18)), Calls: r.ColumnInt64(19), Ends: fromMicros(r.ColumnInt64(20))},
	}
}

// PlanRun implements state.Runs.
func (s *State) PlanRun(ctx context.Context, id int64, specs []domain.JobSpec) (waiting []domain.JobRef, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		waiting, _, err = state.PlanRun(ctx, stateRows{stateReader{c}, s}, id, specs, s.now())
		return err
	})
	return waiting, err
}

// Deliver implements state.Runs.
func (s *State) Deliver(ctx context.Context, d state.Delivered) (run domain.Run, made []domain.JobRef, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		run, made, _, err = state.Deliver(ctx, stateRows{stateReader{c}, s}, d, s.now())
		return err
	})
	return run, made, err
}

// Runs implements state.Runs.
func (s *State) Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error) {
	where, args := "WHERE 1", []any{}
	if q.AccountID != 0 {
		where, args = where+" AND r.account_id = ?", append(args, q.AccountID)
	}
	from := runFrom
	if q.ActiveOnly {
		where += " AND r.status <= 4"
		from = " FROM run r INDEXED BY run_active CROSS JOIN account a ON a.id = r.account_id "
	}
	if q.BeforeID != 0 {
		where, args = where+" AND r.id < ?", append(args, q.BeforeID)
	}
	if q.Except != "" {
		where, args = where+" AND r.trigger_by <> ?", append(args, string(q.Except))
	}
	args = append(args, domain.Limit(q.Limit))
	var out []domain.Run
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+runColumns+from+where+" ORDER BY r.id DESC LIMIT ?",
			func(r *driver.Stmt) { out = append(out, scanRun(r)) }, args...)
	})
	return out, err
}

// Ledger implements state.Ledgers.
func (s *ledgerStore) Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	var out []state.LedgerLine
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, `SELECT type, resource, max(pages), sum(CASE WHEN done THEN 1 ELSE expected END), sum(status = ?1),
			sum(status = ?2), sum(status = ?3), sum(items), max(CASE WHEN status = ?2 THEN error ELSE '' END),
			max(CASE WHEN done = 0 THEN error ELSE '' END) FROM job WHERE run_id = ?4 GROUP BY type, resource ORDER BY min(id)`,
			func(r *driver.Stmt) {
				line := state.LedgerLine{
					Type: r.ColumnText(0), Resource: r.ColumnText(1), Announced: r.ColumnInt(2), Known: r.ColumnInt(3),
					Stored: r.ColumnInt(4), Failed: r.ColumnInt(5), Dropped: r.ColumnInt(6), Items: r.ColumnInt(7),
				}
				line.Explain(r.ColumnText(8), r.ColumnText(9))
				out = append(out, line)
			}, int64(domain.JobSucceeded), int64(domain.JobFailed), int64(domain.JobCanceled), run)
	})
	return out, err
}

// Outlook implements state.Ledgers.
func (s *ledgerStore) Outlook(ctx context.Context, run int64) ([]state.Outlook, error) {
	var out []state.Outlook
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, `SELECT bucket, sum(done), sum(CASE WHEN done THEN 0 ELSE expected END),
			sum(done = 0 AND class <> ?), sum(status = ?) FROM job WHERE run_id = ? GROUP BY bucket ORDER BY bucket`,
			func(r *driver.Stmt) {
				out = append(out, state.Outlook{
					Bucket: r.ColumnText(0), Done: r.ColumnInt64(1), Left: r.ColumnInt64(2), Discovering: r.ColumnInt64(3),
					Running: r.ColumnInt64(4),
				})
			}, int64(domain.ClassChild), int64(domain.JobRunning), run)
	})
	return out, err
}
