package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

const accountColumns = "a.id, a.source, a.login, a.state, a.reason, a.owner, a.created_at, a.updated_at, a.floor, a.hours, a.version, a.target"

// accountWidth is how many columns those are.
const accountWidth = 12

func scanAccount(r *driver.Stmt) domain.Account {
	// What does not parse was never stored: ReserveForOwner takes parsed hours.
	hours, _ := domain.ParseHours(r.ColumnText(9))
	return domain.Account{
		ID: r.ColumnInt64(0), Source: r.ColumnText(1), Login: r.ColumnText(2),
		State: domain.AccountState(r.ColumnText(3)), Reason: r.ColumnText(4), Owner: r.ColumnText(5),
		CreatedAt: fromMicros(r.ColumnInt64(6)), UpdatedAt: fromMicros(r.ColumnInt64(7)),
		Floor: r.ColumnInt(8), Hours: hours, Version: r.ColumnInt64(10), Target: domain.Target(r.ColumnText(11)),
	}
}

// PutAccount implements state.Accounts.
func (s *accountStore) PutAccount(ctx context.Context, a state.AccountSpec) (domain.Account, error) {
	var out domain.Account
	err := s.db.Write(ctx, func(c *driver.Conn) error {
		at := s.now()
		owner := a.Name
		err := Exec(c, "SELECT owner FROM account WHERE source = ? AND credential_name = ?",
			func(r *driver.Stmt) { owner = r.ColumnText(0) }, a.Source, a.Name)
		if err != nil {
			return err
		}
		err = Exec(c, `INSERT INTO account (source, login, state, owner, key_id, credential, credential_name, created_at, updated_at)
			VALUES (?, ?, 'active', ?, ?, ?, ?, ?, ?) ON CONFLICT (source, login) DO UPDATE SET state = 'active', reason = '',
			owner = excluded.owner, key_id = excluded.key_id, credential = excluded.credential,
			credential_name = excluded.credential_name, updated_at = excluded.updated_at, version = account.version + 1`,
			nil, a.Source, a.Login, owner, a.Credential.KeyID, a.Credential.Data, a.Name, at, at)
		if err != nil {
			return err
		}
		out, err = stateReader{c}.FindAccountByLogin(ctx, a.Source, a.Login)
		return err
	})
	return out, err
}

// Accounts implements state.Accounts.
func (s *accountStore) Accounts(ctx context.Context) ([]domain.Account, error) {
	var out []domain.Account
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+accountColumns+" FROM account a ORDER BY a.id",
			func(r *driver.Stmt) { out = append(out, scanAccount(r)) })
	})
	return out, err
}
