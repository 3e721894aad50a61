package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// stateReader implements state.ReadRows on a database or a transaction.
type stateReader struct{ q Querier }

// stateRows implements state.Rows on a transaction.
type stateRows struct {
	stateReader
	tx    *Tx
	store *State
	// firstID begins the ids, taken before, of jobs that are inserted.
	firstID int64
}

var _ state.Rows = stateRows{}

func (s *State) rows(tx *Tx, firstID int64) stateRows {
	return stateRows{stateReader: stateReader{tx}, tx: tx, store: s, firstID: firstID}
}

// firstID returns the smallest id that a query finds, 0 if there is none.
func firstID(ctx context.Context, q Querier, find *Statement) (int64, error) {
	ids, err := selectIDs(ctx, q, find)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// FindRun implements state.ReadRows.
func (r stateReader) FindRun(ctx context.Context, id int64) (run domain.Run, err error) {
	err = Query(ctx, r.q, func(rows *sql.Rows) error {
		run, err = scanRun(rows)
		return err
	}, "SELECT "+runColumns+runFrom+"WHERE r.id = ?", id)
	return run, err
}

// RunOfJob implements state.ReadRows.
func (r stateReader) RunOfJob(ctx context.Context, job int64) (int64, error) {
	var find Statement
	find.Write("SELECT run_id FROM job WHERE id = ").Int(job)
	return firstID(ctx, r.q, &find)
}

// LockRun implements state.RunRows. The account, which is read with the run, must
// not be locked, so that these are two statements.
func (t stateRows) LockRun(ctx context.Context, id int64) (domain.Run, error) {
	var lock Statement
	lock.Write("SELECT id FROM run WHERE id = ").Int(id).Write(" FOR UPDATE")
	if _, err := selectIDs(ctx, t.tx, &lock); err != nil {
		return domain.Run{}, err
	}
	return t.FindRun(ctx, id)
}

// LockActiveRun implements state.RunRows.
func (t stateRows) LockActiveRun(ctx context.Context, account int64) (int64, error) {
	var lock Statement
	lock.Write("SELECT id FROM account WHERE id = ").Int(account).Write(" FOR UPDATE")
	found, err := selectIDs(ctx, t.tx, &lock)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, state.NoAccount(account)
	}
	return t.activeRun(ctx, account)
}

func (t stateRows) activeRun(ctx context.Context, account int64) (int64, error) {
	var find Statement
	find.Write("SELECT id FROM run WHERE active_account = ").Int(account)
	return firstID(ctx, t.tx, &find)
}

// FindDelivered implements state.RunRows.
func (t stateRows) FindDelivered(ctx context.Context, account int64, delivery string) (int64, error) {
	var find Statement
	find.Write("SELECT run_id FROM run_delivery WHERE account_id = ").Int(account).Write(" AND delivery = ").Hash(HashOf(delivery))
	return firstID(ctx, t.tx, &find)
}

// InsertRun implements state.RunRows. The account is locked, so that its active run
// is the one that was inserted.
func (t stateRows) InsertRun(ctx context.Context, spec state.RunSpec, at time.Time) (int64, error) {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO run (account_id, trigger_by, priority, status, anchor, reason, created_at)
		VALUES (?, ?, ?, ?, ?, '', ?)`, spec.AccountID, string(spec.Trigger), int64(spec.Priority), int64(domain.RunCreated),
		Micros(spec.Anchor), Micros(at))
	if err != nil {
		return 0, err
	}
	id, err := t.activeRun(ctx, spec.AccountID)
	if err != nil || spec.Delivery == "" {
		return id, err
	}
	return id, t.NoteDelivery(ctx, spec.AccountID, spec.Delivery, id)
}

// NoteDelivery implements state.RunRows.
func (t stateRows) NoteDelivery(ctx context.Context, account int64, delivery string, run int64) error {
	var note Statement
	note.Write("INSERT INTO run_delivery (account_id, delivery, run_id) VALUES (").Int(account).Write(",")
	note.Hash(HashOf(delivery)).Write(",").Int(run).Write(")")
	_, err := note.Exec(ctx, t.tx)
	return err
}

// WriteRun implements state.RunRows.
func (t stateRows) WriteRun(ctx context.Context, run *domain.Run) error {
	var write Statement
	write.Write("UPDATE run SET status = ").Int(int64(run.Status)).Write(", reason = ").Text(run.Reason)
	write.Write(", priority = ").Int(int64(run.Priority)).Write(", finished_at = ").Int(Micros(run.FinishedAt))
	write.Write(", known = ").Int(run.Known).Write(", pending = ").Int(run.Pending)
	write.Write(", failed = ").Int(run.Failed).Write(", canceled = ").Int(run.Canceled).Write(" WHERE id = ").Int(run.ID)
	_, err := write.Exec(ctx, t.tx)
	return err
}

// WriteStatistics implements state.RunRows.
func (t stateRows) WriteStatistics(ctx context.Context, run *domain.Run, statistics []byte, at time.Time) error {
	if t.store.docs != nil {
		if err := t.store.docs.Compact(ctx, t.tx, run.AccountID, run.Documents); err != nil {
			return err
		}
	}
	var put Statement
	put.Write("INSERT INTO statistics (account_id, run_id, computed_at, data) VALUES (").Ints(run.AccountID, run.ID, Micros(at))
	put.Write(",").Blob(statistics)
	put.Write(") ").Write(t.tx.Dialect().Upsert(Upsert{Key: "account_id", Set: Overwrite("run_id", "computed_at", "data")}))
	_, err := put.Exec(ctx, t.tx)
	return err
}
