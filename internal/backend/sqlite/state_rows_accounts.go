package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// account reads the account that a condition names.
func (q stateReader) account(where string, args ...any) (a domain.Account, err error) {
	err = Exec(q.conn, "SELECT "+accountColumns+" FROM account a WHERE "+where, func(r *driver.Stmt) { a = scanAccount(r) }, args...)
	return a, err
}

// FindAccount implements state.ReadRows.
func (q stateReader) FindAccount(_ context.Context, id int64) (domain.Account, error) {
	return q.account("a.id = ?", id)
}

// FindAccountByLogin implements state.ReadRows.
func (q stateReader) FindAccountByLogin(_ context.Context, source, login string) (domain.Account, error) {
	return q.account("a.source = ? AND a.login = ?", source, login)
}

// FindCredential implements state.ReadRows.
func (q stateReader) FindCredential(_ context.Context, account int64) (sealed state.Sealed, found bool, err error) {
	err = Exec(q.conn, "SELECT key_id, credential FROM account WHERE id = ?", func(r *driver.Stmt) {
		sealed, found = state.Sealed{KeyID: r.ColumnText(0), Data: readBlob(r, 1)}, true
	}, account)
	return sealed, found, err
}

// FindSchedule implements state.ReadRows.
func (q stateReader) FindSchedule(_ context.Context, account int64) (schedule []byte, err error) {
	err = Exec(q.conn, "SELECT data FROM harvest_schedule WHERE account_id = ?", func(r *driver.Stmt) { schedule = readBlob(r, 0) }, account)
	return schedule, err
}

// WriteAccountState implements state.AccountRows.
func (t stateRows) WriteAccountState(_ context.Context, id int64, to domain.AccountState, reason string, at time.Time) (found bool, err error) {
	err = Exec(t.conn, "UPDATE account SET state = ?, reason = ?, updated_at = ?, version = version + 1 WHERE id = ? RETURNING id",
		func(*driver.Stmt) { found = true }, string(to), reason, at, id)
	return found, err
}

// WriteReserve implements state.AccountRows.
func (t stateRows) WriteReserve(_ context.Context, id int64, floor int, hours domain.Hours, at time.Time) error {
	return Exec(t.conn, "UPDATE account SET floor = ?, hours = ?, updated_at = ?, version = version + 1 WHERE id = ?", nil,
		floor, hours.String(), at, id)
}

// PausedAccounts implements state.AccountRows.
func (t stateRows) PausedAccounts(_ context.Context, ids []int64) (paused []int64, err error) {
	err = Exec(t.conn, "SELECT id FROM account WHERE id IN (SELECT value FROM json_each(?)) AND state = ?",
		func(r *driver.Stmt) { paused = append(paused, r.ColumnInt64(0)) }, idList(ids), string(domain.AccountPaused))
	return paused, err
}

// WriteSchedule implements state.AccountRows.
func (t stateRows) WriteSchedule(_ context.Context, account int64, schedule []byte) error {
	if len(schedule) == 0 {
		return Exec(t.conn, "DELETE FROM harvest_schedule WHERE account_id = ?", nil, account)
	}
	return Exec(t.conn, `INSERT INTO harvest_schedule (account_id, data) VALUES (?, ?)
		ON CONFLICT (account_id) DO UPDATE SET data = excluded.data`, nil, account, schedule)
}

// WriteHarvest implements state.AccountRows.
func (t stateRows) WriteHarvest(_ context.Context, h domain.Harvest) error {
	return Exec(t.conn, "INSERT INTO harvest ("+harvestColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id) DO UPDATE SET after_run = excluded.after_run, at = excluded.at, priority = excluded.priority,
		resume_run = excluded.resume_run, tries = excluded.tries, reason = excluded.reason
		WHERE excluded.after_run >= harvest.after_run`, nil,
		h.AccountID, h.After, h.At, int64(h.Priority), h.Resume, h.Tries, h.Reason)
}
