package relational

import (
	"context"
	"database/sql"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/state"
)

const accountColumns = "a.id, a.source, a.login, a.state, a.reason, a.owner, a.created_at, a.updated_at, a.floor, a.hours, a.version, a.target"

// scanAccount reads accountColumns, and what follows them into more.
func scanAccount(r *sql.Rows, more ...any) (domain.Account, error) {
	var a domain.Account
	var created, updated int64
	var hours string
	err := r.Scan(append([]any{
		&a.ID, &a.Source, &a.Login, &a.State, &a.Reason, &a.Owner, &created, &updated, &a.Floor, &hours, &a.Version, &a.Target,
	}, more...)...)
	a.CreatedAt, a.UpdatedAt = Time(created), Time(updated)
	// What does not parse was never stored: ReserveForOwner takes parsed hours.
	a.Hours, _ = domain.ParseHours(hours)
	return a, err
}

// identity of an account: logins differ in more than the case of their letters.
func accountIdentity(source, login string) Hash {
	lower := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, login)
	return HashOf(source, lower)
}

// PutAccount implements state.Accounts.
func (s *accountStore) PutAccount(ctx context.Context, a state.AccountSpec) (out domain.Account, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		owner, credential := a.Name, HashOf(a.Source, a.Name)
		// Locked, so that no outcome teaches them another owner meanwhile.
		var known Statement
		known.Write("SELECT owner FROM account WHERE credential_hash = ").Hash(credential).Write(" FOR UPDATE")
		if err := known.Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&owner) }); err != nil {
			return err
		}
		identity, at := accountIdentity(a.Source, a.Login), s.now()
		var put Statement
		put.Write(`INSERT INTO account (identity, source, login, state, reason, owner, key_id, credential, credential_hash, created_at, updated_at) VALUES (`)
		put.Hash(identity).Write(",").Text(a.Source).Write(",").Text(a.Login).Write(",'active','',").Text(owner)
		put.Write(",").Text(a.Credential.KeyID).Write(",").Blob(a.Credential.Data).Write(",").Hash(credential)
		put.Write(",").Time(at).Write(",").Time(at).Write(") ")
		put.Write(tx.Dialect().Upsert(Upsert{Key: "identity", Set: "state = 'active', reason = '', version = account.version + 1, " +
			Overwrite("owner", "key_id", "credential", "credential_hash", "updated_at")}))
		if _, err := put.Exec(ctx, tx); err != nil {
			return err
		}
		out, err = stateReader{tx}.FindAccountByLogin(ctx, a.Source, a.Login)
		return err
	})
	return out, err
}

// Accounts implements state.Accounts.
func (s *accountStore) Accounts(ctx context.Context) ([]domain.Account, error) {
	var out []domain.Account
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		a, err := scanAccount(r)
		out = append(out, a)
		return err
	}, "SELECT "+accountColumns+" FROM account a ORDER BY a.id")
	return out, err
}
