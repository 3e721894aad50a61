package relational

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// PruneRuns implements state.Ledgers. A run is summarised with the first of its
// jobs that are deleted.
func (s *ledgerStore) PruneRuns(ctx context.Context, account int64, before time.Time, jobs int) (removed int, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		removed = 0
		var find Statement
		find.Write("SELECT id FROM run WHERE account_id = ").Int(account).Write(" AND status > ").Int(int64(domain.RunFinalizing))
		find.Write(" AND finished_at > 0 AND finished_at < ").Time(before)
		find.Write(" AND id < (SELECT MAX(id) FROM run newest WHERE newest.account_id = ").Int(account)
		find.Write(") AND EXISTS (SELECT 1 FROM job WHERE job.run_id = run.id) ORDER BY id LIMIT 1")
		runs, err := selectIDs(ctx, tx, &find)
		if err != nil || len(runs) == 0 {
			return err
		}
		// It may have been resumed in this moment.
		if run, err := (stateRows{stateReader: stateReader{tx}, tx: tx}).LockRun(ctx, runs[0]); err != nil || run.Status.Active() {
			return err
		}
		return s.pruneRun(ctx, tx, runs[0], jobs, &removed)
	})
	return removed, err
}

func (s *ledgerStore) pruneRun(ctx context.Context, tx *Tx, run int64, jobs int, removed *int) error {
	var sum, find Statement
	sum.Write("INSERT INTO run_summary (run_id, type, known, stored, failed, items) SELECT run_id, type, COUNT(*), COUNT(CASE WHEN status = ")
	sum.Int(int64(domain.JobSucceeded)).Write(" THEN 1 END), COUNT(CASE WHEN status = ").Int(int64(domain.JobFailed))
	sum.Write(" THEN 1 END), SUM(items) FROM job WHERE run_id = ").Int(run).Write(" GROUP BY run_id, type ")
	sum.Write(tx.Dialect().Upsert(Upsert{Key: "run_id, type", Set: "known = run_summary.known"}))
	if _, err := sum.Exec(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM run_delivery WHERE run_id = ?", run); err != nil {
		return err
	}
	// The run is locked, and its jobs have ended: nobody else touches them.
	find.Write("SELECT id FROM job WHERE run_id = ").Int(run).Write(" ORDER BY id LIMIT ").Int(int64(jobs))
	ids, err := selectIDs(ctx, tx, &find)
	if err != nil {
		return err
	}
	*removed = len(ids)
	for part := range slices.Chunk(ids, maxIDs) {
		if ids = ids[len(part):]; len(ids) == 0 {
			ctx = Final(ctx)
		}
		var drop Statement
		drop.Write("DELETE FROM job WHERE id IN (").Ints(part...).Write(")")
		if _, err := drop.Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Summary implements state.Ledgers.
func (s *ledgerStore) Summary(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	var out []state.LedgerLine
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var l state.LedgerLine
		err := r.Scan(&l.Type, &l.Known, &l.Stored, &l.Failed, &l.Items)
		out = append(out, l)
		return err
	}, "SELECT type, known, stored, failed, items FROM run_summary WHERE run_id = ? ORDER BY type", run)
	return out, err
}

// Expect implements state.Ledgers.
func (s *ledgerStore) Expect(ctx context.Context, run int64, e domain.Expectation) error {
	return s.db.Tx(ctx, func(tx *Tx) error {
		var set Statement
		set.Write("UPDATE run SET expected_at = ").Time(e.At).Write(", expected_calls = ").Int(e.Calls).Write(", expected_ends = ").Time(e.Ends)
		set.Write(" WHERE expected_at = 0 AND id = ").Int(run)
		_, err := set.Exec(ctx, tx)
		return err
	})
}
