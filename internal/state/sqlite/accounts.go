package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
)

const accountColumns = "a.id, a.source, a.login, a.state, a.reason, a.owner, a.created_at, a.updated_at, a.floor, a.hours, a.version"

// accountWidth is how many columns those are.
const accountWidth = 11

func scanAccount(r *sqlite.Stmt) domain.Account {
	// What does not parse was never stored: ReserveForOwner takes parsed hours.
	hours, _ := domain.ParseHours(r.ColumnText(9))
	return domain.Account{
		ID: r.ColumnInt64(0), Source: r.ColumnText(1), Login: r.ColumnText(2),
		State: domain.AccountState(r.ColumnText(3)), Reason: r.ColumnText(4), Owner: r.ColumnText(5),
		CreatedAt: sqlitedb.Time(r.ColumnInt64(6)), UpdatedAt: sqlitedb.Time(r.ColumnInt64(7)),
		Floor: r.ColumnInt(8), Hours: hours, Version: r.ColumnInt64(10),
	}
}

// PutAccount implements state.Accounts.
func (s *Store) PutAccount(ctx context.Context, a state.AccountSpec) (domain.Account, error) {
	var out domain.Account
	err := s.db.Write(ctx, func(c *sqlite.Conn) error {
		at := s.now()
		owner := a.Name
		err := sqlitedb.Exec(c, "SELECT owner FROM account WHERE source = ? AND credential_name = ?",
			func(r *sqlite.Stmt) { owner = r.ColumnText(0) }, a.Source, a.Name)
		if err != nil {
			return err
		}
		err = sqlitedb.Exec(c, `INSERT INTO account (source, login, state, owner, key_id, credential, credential_name, created_at, updated_at)
			VALUES (?, ?, 'active', ?, ?, ?, ?, ?, ?) ON CONFLICT (source, login) DO UPDATE SET state = 'active', reason = '',
			owner = excluded.owner, key_id = excluded.key_id, credential = excluded.credential,
			credential_name = excluded.credential_name, updated_at = excluded.updated_at, version = account.version + 1`,
			nil, a.Source, a.Login, owner, a.Credential.KeyID, a.Credential.Data, a.Name, at, at)
		if err != nil {
			return err
		}
		out, err = findAccount(c, "a.source = ? AND a.login = ?", a.Source, a.Login)
		return err
	})
	return out, err
}

func findAccount(c *sqlite.Conn, where string, args ...any) (domain.Account, error) {
	var a domain.Account
	err := sqlitedb.Exec(c, "SELECT "+accountColumns+" FROM account a WHERE "+where,
		func(r *sqlite.Stmt) { a = scanAccount(r) }, args...)
	if err == nil && a.ID == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no such account: %v", args)
	}
	return a, err
}

// Account implements state.Accounts.
func (s *Store) Account(ctx context.Context, id int64) (a domain.Account, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		a, err = findAccount(c, "a.id = ?", id)
		return err
	})
	return a, err
}

// AccountByLogin implements state.Accounts.
func (s *Store) AccountByLogin(ctx context.Context, source, login string) (a domain.Account, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		a, err = findAccount(c, "a.source = ? AND a.login = ?", source, login)
		return err
	})
	return a, err
}

// Accounts implements state.Accounts.
func (s *Store) Accounts(ctx context.Context) ([]domain.Account, error) {
	var out []domain.Account
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+accountColumns+" FROM account a ORDER BY a.id",
			func(r *sqlite.Stmt) { out = append(out, scanAccount(r)) })
	})
	return out, err
}

// ReserveForOwner implements state.Accounts.
func (s *Store) ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (a domain.Account, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		err := sqlitedb.Exec(c, "UPDATE account SET floor = ?, hours = ?, updated_at = ?, version = version + 1 WHERE id = ?", nil,
			floor, hours.String(), s.now(), id)
		if err != nil {
			return err
		}
		a, err = findAccount(c, "a.id = ?", id)
		return err
	})
	return a, err
}

// Credential implements state.Accounts.
func (s *Store) Credential(ctx context.Context, account int64) (state.Sealed, error) {
	var sealed state.Sealed
	found := false
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT key_id, credential FROM account WHERE id = ?", func(r *sqlite.Stmt) {
			sealed, found = state.Sealed{KeyID: r.ColumnText(0), Data: sqlitedb.Blob(r, 1)}, true
		}, account)
	})
	if err == nil && !found {
		err = domain.Errorf(domain.CodeNotFound, "there is no account %d", account)
	}
	return sealed, err
}

// SetAccountState implements state.Accounts.
func (s *Store) SetAccountState(ctx context.Context, id int64, to domain.AccountState, reason string) ([]domain.JobRef, error) {
	var touched []domain.JobRef
	err := s.db.Write(ctx, func(c *sqlite.Conn) error {
		touched = nil
		if err := setAccountState(c, id, to, reason, sqlitedb.Micros(s.now())); err != nil {
			return err
		}
		var err error
		switch to {
		case domain.AccountActive:
			touched, err = moveJobs(c, id, domain.JobReady, domain.JobPaused)
		case domain.AccountPaused:
			touched, err = moveJobs(c, id, domain.JobPaused, domain.JobReady, domain.JobEnqueued)
		}
		return err
	})
	return touched, err
}

func setAccountState(c *sqlite.Conn, id int64, to domain.AccountState, reason string, at int64) error {
	found := false
	err := sqlitedb.Exec(c, "UPDATE account SET state = ?, reason = ?, updated_at = ?, version = version + 1 WHERE id = ? RETURNING id",
		func(*sqlite.Stmt) { found = true }, string(to), reason, at, id)
	if err == nil && !found {
		err = domain.Errorf(domain.CodeNotFound, "there is no account %d", id)
	}
	return err
}

// moveJobs moves all unfinished jobs of an account that are in one of the
// given states.
func moveJobs(c *sqlite.Conn, account int64, to domain.JobStatus, from ...domain.JobStatus) ([]domain.JobRef, error) {
	var moved []domain.JobRef
	for _, status := range from {
		if _, err := domain.MoveJob(status, to); err != nil {
			return nil, err
		}
		err := sqlitedb.Exec(c, `UPDATE job SET status = ? WHERE done = 0 AND status = ? AND
			run_id IN (SELECT id FROM run WHERE account_id = ? AND status <= 4) RETURNING `+refColumns,
			func(r *sqlite.Stmt) { moved = append(moved, scanRef(r)) }, int64(to), int64(status), account)
		if err != nil {
			return nil, err
		}
	}
	return moved, nil
}
