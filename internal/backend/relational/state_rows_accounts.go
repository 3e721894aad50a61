package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// account reads the account that a condition names.
func (r stateReader) account(ctx context.Context, where *Statement) (a domain.Account, err error) {
	var find Statement
	find.Write("SELECT " + accountColumns + " FROM account a WHERE ").Append(where)
	err = find.Query(ctx, r.q, func(rows *sql.Rows) error {
		a, err = scanAccount(rows)
		return err
	})
	return a, err
}

// FindAccount implements state.ReadRows.
func (r stateReader) FindAccount(ctx context.Context, id int64) (domain.Account, error) {
	var where Statement
	where.Write("a.id = ").Int(id)
	return r.account(ctx, &where)
}

// FindAccountByLogin implements state.ReadRows.
func (r stateReader) FindAccountByLogin(ctx context.Context, source, login string) (domain.Account, error) {
	var where Statement
	where.Write("a.identity = ").Hash(accountIdentity(source, login))
	return r.account(ctx, &where)
}

// FindCredential implements state.ReadRows.
func (r stateReader) FindCredential(ctx context.Context, account int64) (sealed state.Sealed, found bool, err error) {
	err = Query(ctx, r.q, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&sealed.KeyID, &sealed.Data)
	}, "SELECT key_id, credential FROM account WHERE id = ?", account)
	return sealed, found, err
}

// FindSchedule implements state.ReadRows.
func (r stateReader) FindSchedule(ctx context.Context, account int64) (schedule []byte, err error) {
	err = Query(ctx, r.q, func(rows *sql.Rows) error { return rows.Scan(&schedule) },
		"SELECT data FROM harvest_schedule WHERE account_id = ?", account)
	return schedule, err
}

// WriteAccountState implements state.AccountRows.
func (t stateRows) WriteAccountState(ctx context.Context, id int64, to domain.AccountState, reason string, at time.Time) (bool, error) {
	var set Statement
	set.Write("UPDATE account SET state = ").Text(string(to)).Write(", reason = ").Text(reason)
	set.Write(", updated_at = ").Time(at).Write(", version = version + 1 WHERE id = ").Int(id)
	result, err := set.Exec(ctx, t.tx)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// WriteReserve implements state.AccountRows.
func (t stateRows) WriteReserve(ctx context.Context, id int64, floor int, hours domain.Hours, at time.Time) error {
	_, err := t.tx.ExecContext(ctx, "UPDATE account SET floor = ?, hours = ?, updated_at = ?, version = version + 1 WHERE id = ?",
		floor, hours.String(), Micros(at), id)
	return err
}

// PausedAccounts implements state.AccountRows. The rows stay locked, shared with
// others that do the same: whoever pauses one waits until this is committed.
func (t stateRows) PausedAccounts(ctx context.Context, ids []int64) ([]int64, error) {
	var find Statement
	// Rows that a condition leaves out would not stay locked.
	find.Write("SELECT id, state FROM account WHERE id IN (").Ints(ids...).Write(") ORDER BY id ").Write(t.tx.Dialect().ForShare)
	var paused []int64
	err := find.Query(ctx, t.tx, func(r *sql.Rows) error {
		var id int64
		var now domain.AccountState
		err := r.Scan(&id, &now)
		if now == domain.AccountPaused {
			paused = append(paused, id)
		}
		return err
	})
	return paused, err
}

// WriteSchedule implements state.AccountRows.
func (t stateRows) WriteSchedule(ctx context.Context, account int64, schedule []byte) error {
	var set Statement
	if len(schedule) == 0 {
		set.Write("DELETE FROM harvest_schedule WHERE account_id = ").Int(account)
	} else {
		set.Write("INSERT INTO harvest_schedule (account_id, data) VALUES (").Int(account).Write(",").Blob(schedule)
		set.Write(") ").Write(t.tx.Dialect().Upsert(Upsert{Key: "account_id", Set: Overwrite("data")}))
	}
	_, err := set.Exec(ctx, t.tx)
	return err
}

// WriteHarvest implements state.AccountRows.
func (t stateRows) WriteHarvest(ctx context.Context, h domain.Harvest) error {
	var put Statement
	put.Write("INSERT INTO harvest ("+harvestColumns+") VALUES (").Ints(h.AccountID, h.After, Micros(h.At),
		int64(h.Priority), h.Resume, int64(h.Tries))
	put.Write(",").Text(h.Reason).Write(") ")
	put.Write(t.tx.Dialect().Upsert(Upsert{
		Key: "account_id", Set: NewerWins("harvest", "after_run", "at", "priority", "resume_run", "tries", "reason"),
	}))
	_, err := put.Exec(ctx, t.tx)
	return err
}
