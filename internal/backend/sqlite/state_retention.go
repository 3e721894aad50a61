package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// PruneRuns implements state.Ledgers. A run is summarised with the first of its
// jobs that are deleted.
func (s *ledgerStore) PruneRuns(ctx context.Context, account int64, before time.Time, jobs int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		removed = 0
		run := int64(0)
		err := Exec(c, `SELECT id FROM run WHERE account_id = ?1 AND status > ?2 AND finished_at > 0 AND finished_at < ?3
			AND id < (SELECT MAX(id) FROM run WHERE account_id = ?1)
			AND EXISTS (SELECT 1 FROM job WHERE job.run_id = run.id) ORDER BY id LIMIT 1`,
			func(r *driver.Stmt) { run = r.ColumnInt64(0) }, account, int64(domain.RunFinalizing), before)
		if err != nil || run == 0 {
			return err
		}
		err = Exec(c, `INSERT OR IGNORE INTO run_summary (run_id, type, known, stored, failed, items)
			SELECT run_id, type, COUNT(*), SUM(status = ?), SUM(status = ?), SUM(items) FROM job WHERE run_id = ? GROUP BY type`, nil,
			int64(domain.JobSucceeded), int64(domain.JobFailed), run)
		if err != nil {
			return err
		}
		if err := Exec(c, "DELETE FROM run_delivery WHERE run_id = ?", nil, run); err != nil {
			return err
		}
		return Exec(c, `DELETE FROM job WHERE id IN (SELECT id FROM job WHERE run_id = ? ORDER BY id LIMIT ?) RETURNING id`,
			func(*driver.Stmt) { removed++ }, run, jobs)
	})
	return removed, err
}

// Summary implements state.Ledgers.
func (s *ledgerStore) Summary(ctx context.Context, run int64) (out []state.LedgerLine, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT type, known, stored, failed, items FROM run_summary WHERE run_id = ? ORDER BY type",
			func(r *driver.Stmt) {
				out = append(out, state.LedgerLine{
					Type: r.ColumnText(0), Known: r.ColumnInt(1), Stored: r.ColumnInt(2), Failed: r.ColumnInt(3), Items: r.ColumnInt(4),
				})
			}, run)
	})
	return out, err
}

// Expect implements state.Ledgers.
func (s *ledgerStore) Expect(ctx context.Context, run int64, e domain.Expectation) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "UPDATE run SET expected_at = ?, expected_calls = ?, expected_ends = ? WHERE id = ? AND expected_at = 0", nil, e.At, e.Calls, e.Ends, run)
	})
}
