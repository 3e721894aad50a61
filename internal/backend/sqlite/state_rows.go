package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// stateReader implements state.ReadRows on a connection.
type stateReader struct{ conn *driver.Conn }

// stateRows implements state.Rows on the connection of the writer. As there is
// one, nothing has to be locked.
type stateRows struct {
	stateReader
	store *State
}

var _ state.Rows = stateRows{}

// number reads one number, 0 if nothing is found.
func number(c *driver.Conn, query string, args ...any) (n int64, err error) {
	err = Exec(c, query, func(r *driver.Stmt) { n = r.ColumnInt64(0) }, args...)
	return n, err
}

// FindRun implements state.ReadRows.
func (q stateReader) FindRun(_ context.Context, id int64) (run domain.Run, err error) {
	err = Exec(q.conn, "SELECT "+runColumns+runFrom+"WHERE r.id = ?", func(r *driver.Stmt) { run = scanRun(r) }, id)
	return run, err
}

// RunOfJob implements state.ReadRows.
func (q stateReader) RunOfJob(_ context.Context, job int64) (int64, error) {
	return number(q.conn, "SELECT run_id FROM job WHERE id = ?", job)
}

// ChildJobs implements state.ReadRows.
func (q stateReader) ChildJobs(_ context.Context, run, parent int64) ([]domain.JobRef, error) {
	return q.refs("run_id = ? AND done = 0 AND parent_id = ? AND status IN ("+statusList(state.Waiting())+")", run, parent)
}

// refs lists jobs in the order of their ids.
func (q stateReader) refs(where string, args ...any) (out []domain.JobRef, err error) {
	err = Exec(q.conn, "SELECT "+refColumns+" FROM job WHERE "+where+" ORDER BY id", func(r *driver.Stmt) { out = append(out, scanRef(r)) }, args...)
	return out, err
}

// LockRun implements state.RunRows.
func (t stateRows) LockRun(ctx context.Context, id int64) (domain.Run, error) {
	return t.FindRun(ctx, id)
}

// LockActiveRun implements state.RunRows.
func (t stateRows) LockActiveRun(_ context.Context, account int64) (run int64, err error) {
	found := false
	err = Exec(t.conn, "SELECT r.id FROM account a LEFT JOIN run r ON r.account_id = a.id AND r.status <= 4 WHERE a.id = ?",
		func(r *driver.Stmt) { run, found = r.ColumnInt64(0), true }, account)
	if err == nil && !found {
		err = state.NoAccount(account)
	}
	return run, err
}

// FindDelivered implements state.RunRows.
func (t stateRows) FindDelivered(_ context.Context, account int64, delivery string) (int64, error) {
	return number(t.conn, "SELECT run_id FROM run_delivery WHERE account_id = ? AND delivery = ?", account, delivery)
}

// InsertRun implements state.RunRows.
func (t stateRows) InsertRun(ctx context.Context, spec state.RunSpec, at time.Time) (int64, error) {
	id, err := number(t.conn, `INSERT INTO run (id, account_id, trigger_by, priority, status, anchor, created_at)
		VALUES (max(coalesce((SELECT max(id) FROM run), 0), coalesce((SELECT last FROM id_mark WHERE name = 'run'), 0)) + 1, ?, ?, ?, ?, ?, ?) RETURNING id`,
		spec.AccountID, string(spec.Trigger), int64(spec.Priority), int64(domain.RunCreated), spec.Anchor, at)
	if err == nil && spec.Delivery != "" {
		err = t.NoteDelivery(ctx, spec.AccountID, spec.Delivery, id)
	}
	return id, err
}

// NoteDelivery implements state.RunRows.
func (t stateRows) NoteDelivery(_ context.Context, account int64, delivery string, run int64) error {
	return Exec(t.conn, "INSERT INTO run_delivery (account_id, delivery, run_id) VALUES (?, ?, ?)", nil, account, delivery, run)
}

// WriteRun implements state.RunRows.
func (t stateRows) WriteRun(_ context.Context, run *domain.Run) error {
	return Exec(t.conn, `UPDATE run SET status = ?, reason = ?, priority = ?, finished_at = ?, known = ?, pending = ?, failed = ?, canceled = ?
		WHERE id = ?`, nil, int64(run.Status), run.Reason, int64(run.Priority), run.FinishedAt,
		run.Known, run.Pending, run.Failed, run.Canceled, run.ID)
}

// WriteStatistics implements state.RunRows.
func (t stateRows) WriteStatistics(ctx context.Context, run *domain.Run, statistics []byte, at time.Time) error {
	if t.store.docs != nil {
		if err := t.store.docs.Compact(ctx, t.conn, run.AccountID, run.Documents); err != nil {
			return err
		}
	}
	return Exec(t.conn, `INSERT INTO statistics (account_id, run_id, data, computed_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (account_id) DO UPDATE SET run_id = excluded.run_id, data = excluded.data,
		computed_at = excluded.computed_at`, nil, run.AccountID, run.ID, statistics, at)
}
