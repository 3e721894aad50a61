package mysql

import (
	"context"
	"database/sql"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

const accountColumns = "a.id, a.source, a.login, a.state, a.reason, a.owner, a.created_at, a.updated_at, a.floor, a.hours, a.version"

// scanAccount reads accountColumns, and what follows them into more.
func scanAccount(r *sql.Rows, more ...any) (domain.Account, error) {
	var a domain.Account
	var created, updated int64
	var hours string
	err := r.Scan(append([]any{
		&a.ID, &a.Source, &a.Login, &a.State, &a.Reason, &a.Owner, &created, &updated, &a.Floor, &hours, &a.Version,
	}, more...)...)
	a.CreatedAt, a.UpdatedAt = mysqldb.Time(created), mysqldb.Time(updated)
	// What does not parse was never stored: ReserveForOwner takes parsed hours.
	a.Hours, _ = domain.ParseHours(hours)
	return a, err
}

// identity of an account: logins differ in more than the case of their letters.
func accountIdentity(source, login string) mysqldb.Hash {
	lower := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, login)
	return mysqldb.HashOf(source, lower)
}

// PutAccount implements state.Accounts.
func (s *Store) PutAccount(ctx context.Context, a state.AccountSpec) (out domain.Account, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		owner, credential := a.Name, mysqldb.HashOf(a.Source, a.Name)
		// Locked, so that no outcome teaches them another owner meanwhile.
		var known mysqldb.Statement
		known.Write("SELECT owner FROM account WHERE credential_hash = ").Hash(credential).Write(" FOR UPDATE")
		if err := known.Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&owner) }); err != nil {
			return err
		}
		identity, at := accountIdentity(a.Source, a.Login), s.now()
		var put mysqldb.Statement
		put.Write(`INSERT INTO account (identity, source, login, state, reason, owner, key_id, credential, credential_hash, created_at, updated_at) VALUES (`)
		put.Hash(identity).Write(",").Text(a.Source).Write(",").Text(a.Login).Write(",'active','',").Text(owner)
		put.Write(",").Text(a.Credential.KeyID).Write(",").Blob(a.Credential.Data).Write(",").Hash(credential)
		put.Write(",").Time(at).Write(",").Time(at).Write(`) ON DUPLICATE KEY UPDATE state = 'active', reason = '',
			owner = VALUES(owner), key_id = VALUES(key_id), credential = VALUES(credential),
			credential_hash = VALUES(credential_hash), updated_at = VALUES(updated_at), version = version + 1`)
		if _, err := put.Exec(ctx, tx); err != nil {
			return err
		}
		out, err = accountBy(ctx, tx, identity, a.Login)
		return err
	})
	return out, err
}

func accountBy(ctx context.Context, q mysqldb.Querier, identity mysqldb.Hash, login string) (domain.Account, error) {
	var where mysqldb.Statement
	where.Write("a.identity = ").Hash(identity)
	return findAccount(ctx, q, &where, login)
}

func accountByID(ctx context.Context, q mysqldb.Querier, id int64) (domain.Account, error) {
	var where mysqldb.Statement
	where.Write("a.id = ").Int(id)
	return findAccount(ctx, q, &where, id)
}

func findAccount(ctx context.Context, q mysqldb.Querier, where *mysqldb.Statement, who any) (a domain.Account, err error) {
	var find mysqldb.Statement
	find.Write("SELECT " + accountColumns + " FROM account a WHERE ").Append(where)
	err = find.Query(ctx, q, func(r *sql.Rows) error {
		a, err = scanAccount(r)
		return err
	})
	if err == nil && a.ID == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no such account: %v", who)
	}
	return a, err
}

// Account implements state.Accounts.
func (s *Store) Account(ctx context.Context, id int64) (a domain.Account, err error) {
	err = s.db.Read(ctx, func(q mysqldb.Querier) error {
		a, err = accountByID(ctx, q, id)
		return err
	})
	return a, err
}

// AccountByLogin implements state.Accounts.
func (s *Store) AccountByLogin(ctx context.Context, source, login string) (a domain.Account, err error) {
	err = s.db.Read(ctx, func(q mysqldb.Querier) error {
		a, err = accountBy(ctx, q, accountIdentity(source, login), login)
		return err
	})
	return a, err
}

// Accounts implements state.Accounts.
func (s *Store) Accounts(ctx context.Context) ([]domain.Account, error) {
	var out []domain.Account
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		a, err := scanAccount(r)
		out = append(out, a)
		return err
	}, "SELECT "+accountColumns+" FROM account a ORDER BY a.id")
	return out, err
}

// ReserveForOwner implements state.Accounts.
func (s *Store) ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (a domain.Account, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE account SET floor = ?, hours = ?, updated_at = ?, version = version + 1 WHERE id = ?",
			floor, hours.String(), mysqldb.Micros(s.now()), id)
		if err != nil {
			return err
		}
		a, err = accountByID(ctx, tx, id)
		return err
	})
	return a, err
}

// Credential implements state.Accounts.
func (s *Store) Credential(ctx context.Context, account int64) (state.Sealed, error) {
	var sealed state.Sealed
	found := false
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		found = true
		return r.Scan(&sealed.KeyID, &sealed.Data)
	}, "SELECT key_id, credential FROM account WHERE id = ?", account)
	if err == nil && !found {
		err = domain.Errorf(domain.CodeNotFound, "there is no account %d", account)
	}
	return sealed, err
}

// SetAccountState implements state.Accounts. Who creates jobs looks at the
// account with a shared lock that it keeps until it commits: after the account
// is locked here, either its jobs are there to be moved, or it will find the
// account as it is then.
func (s *Store) SetAccountState(ctx context.Context, id int64, to domain.AccountState, reason string) ([]domain.JobRef, error) {
	become, from := domain.JobStatus(0), []domain.JobStatus(nil)
	switch to {
	case domain.AccountActive:
		become, from = domain.JobReady, []domain.JobStatus{domain.JobPaused}
	case domain.AccountPaused:
		become, from = domain.JobPaused, []domain.JobStatus{domain.JobReady, domain.JobEnqueued}
	}
	var touched []domain.JobRef
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		// Jobs are locked before accounts.
		if _, err := lockMovable(ctx, tx, id, from); err != nil {
			return err
		}
		if err := setAccountState(ctx, tx, id, to, reason, mysqldb.Micros(s.now())); err != nil {
			return err
		}
		var err error
		touched, err = moveJobs(ctx, tx, id, become, from...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return touched, nil
}

func setAccountState(ctx context.Context, tx *sql.Tx, id int64, to domain.AccountState, reason string, at int64) error {
	var set mysqldb.Statement
	set.Write("UPDATE account SET state = ").Text(string(to)).Write(", reason = ").Text(reason)
	set.Write(", updated_at = ").Int(at).Write(", version = version + 1 WHERE id = ").Int(id)
	result, err := set.Exec(ctx, tx)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no account %d", id)
	}
	return err
}

// moveJobs moves all unfinished jobs of an account that are in one of the
// given states.
func moveJobs(ctx context.Context, tx *sql.Tx, account int64, to domain.JobStatus, from ...domain.JobStatus) ([]domain.JobRef, error) {
	for _, status := range from {
		if _, err := domain.MoveJob(status, to); err != nil {
			return nil, err
		}
	}
	moved, err := lockMovable(ctx, tx, account, from)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	return moved, updateJobs(ctx, tx, refIDs(moved), "status = ?", int64(to))
}

// lockMovable locks the jobs of an account's active run that are in one of the
// given states.
func lockMovable(ctx context.Context, tx *sql.Tx, account int64, from []domain.JobStatus) ([]domain.JobRef, error) {
	if len(from) == 0 {
		return nil, nil
	}
	var find mysqldb.Statement
	find.Write("SELECT j.id FROM run r JOIN job j ON j.run_id = r.id WHERE r.active_account = ").Int(account)
	find.Write(" AND j.done = 0 AND j.status IN (").Ints(numbers(from)...).Write(")")
	ids, err := selectIDs(ctx, tx, &find)
	if err != nil {
		return nil, err
	}
	var refs []domain.JobRef
	err = lockJobs(ctx, tx, ids, refColumns, from, func(r *sql.Rows) error {
		ref, err := scanRef(r)
		refs = append(refs, ref)
		return err
	})
	return refs, err
}
