package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/access"
)

// Access keeps tokens of the API and the audit log.
type Access struct{ db *DB }

var (
	_ access.TokenStore = (*Access)(nil)
	_ access.AuditStore = (*Access)(nil)
)

// NewAccess returns a store on an open database.
func NewAccess(db *DB) *Access { return &Access{db} }

// insertToken leaves a token that is there as it is: another process may have
// been quicker.
var insertToken = &Insert{
	Head:   "INSERT INTO api_token (name, role, prefix, digest, created_at, last_used_at, expires_at)",
	Upsert: Upsert{Key: "name"},
}

// AddToken implements access.TokenStore.
func (s *Access) AddToken(ctx context.Context, t access.StoredToken, guarded bool) error {
	return s.db.Tx(ctx, func(tx *Tx) error {
		read := readTokens
		if !guarded && t.Role != access.Admin {
			// It needs an admin, who must not go meanwhile.
			read = lockTokens
		}
		there, err := read(ctx, tx)
		if err == nil {
			err = access.MayAdd(there, t.Token, guarded)
		}
		if err != nil {
			return err
		}
		row := Row{Key: t.Name}
		row.Write("(").Text(t.Name).Write(",").Text(string(t.Role)).Write(",").Text(t.Prefix).Write(",").Blob(t.Digest[:]).Write(",").
			Time(t.Created).Write(",").Time(t.LastUsed).Write(",").Time(t.Expires).Write(")")
		added, err := insertToken.Run(ctx, tx, []Row{row})
		if err == nil && added == 0 {
			return access.MayAdd([]access.StoredToken{t}, t.Token, guarded)
		}
		return err
	})
}

// lockTokens reads tokens and keeps them as they are until the transaction ends:
// who adds or removes one meanwhile waits, and decides by what is there then. They
// are read after the lock was had, as what others did before would be missing
// otherwise.
func lockTokens(ctx context.Context, tx Querier) ([]access.StoredToken, error) {
	if err := Query(ctx, tx, func(*sql.Rows) error { return nil }, "SELECT name FROM api_token ORDER BY name FOR UPDATE"); err != nil {
		return nil, err
	}
	return readTokens(ctx, tx)
}

func readTokens(ctx context.Context, q Querier) (tokens []access.StoredToken, err error) {
	err = Query(ctx, q, func(r *sql.Rows) error {
		var t access.StoredToken
		var digest []byte
		var created, used, expires int64
		if err := r.Scan(&t.Name, &t.Role, &t.Prefix, &digest, &created, &used, &expires); err != nil {
			return err
		}
		copy(t.Digest[:], digest)
		t.Created, t.LastUsed, t.Expires = Time(created), Time(used), Time(expires)
		tokens = append(tokens, t)
		return nil
	}, "SELECT name, role, prefix, digest, created_at, last_used_at, expires_at FROM api_token ORDER BY name")
	return tokens, err
}

// Tokens implements access.TokenStore.
func (s *Access) Tokens(ctx context.Context) (tokens []access.StoredToken, err error) {
	err = s.db.Read(ctx, func(q Querier) error {
		tokens, err = readTokens(ctx, q)
		return err
	})
	return tokens, err
}

// RemoveToken implements access.TokenStore.
func (s *Access) RemoveToken(ctx context.Context, name string, now time.Time, guarded bool) error {
	return s.db.Tx(ctx, func(tx *Tx) error {
		there, err := lockTokens(ctx, tx)
		if err == nil {
			err = access.MayRemove(there, name, now, guarded)
		}
		if err != nil {
			return err
		}
		var statement Statement
		_, err = statement.Write("DELETE FROM api_token WHERE name = ").Text(name).Exec(ctx, tx)
		return err
	})
}

// TouchToken implements access.TokenStore.
func (s *Access) TouchToken(ctx context.Context, name string, at time.Time) error {
	_, err := s.db.Exec(ctx, "UPDATE api_token SET last_used_at = ? WHERE name = ? AND last_used_at < ?", Micros(at), name, Micros(at))
	return err
}

// insertEntry gives an entry that is there its status, unless it has one.
var insertEntry = &Insert{
	Head:   "INSERT INTO audit_entry (id, at, actor, role, address, action, target, status)",
	Upsert: Upsert{Key: "id", Set: "status = CASE WHEN audit_entry.status = 0 THEN excluded.status ELSE audit_entry.status END"},
}

func entryRows(entries []access.Entry) []Row {
	rows := make([]Row, len(entries))
	for i, e := range entries {
		row := &rows[i]
		row.Key = e.ID
		row.Write("(").Text(e.ID).Write(",").Time(e.At).Write(",").Text(e.Actor).Write(",").Text(string(e.Role)).Write(",").
			Text(e.Address).Write(",").Text(e.Action).Write(",").Text(e.Target).Write(",").Int(int64(e.Status)).Write(")")
	}
	return rows
}

// Record implements access.AuditStore.
func (s *Access) Record(ctx context.Context, entries ...access.Entry) error {
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := insertEntry.Run(ctx, tx, entryRows(entries))
		return err
	})
}

// recordTrail stores the entry of the request that a transaction is part of, if
// that is not in the audit log yet. It goes first, as the transaction's own last
// statement may commit it. It returns what is to be told of the commit, nil if
// there is nothing.
func recordTrail(ctx context.Context, options *sql.TxOptions, tx *Tx) (*access.Trail, error) {
	trail := access.TrailOf(ctx)
	entry, due := trail.Due()
	if !due || options != nil && options.ReadOnly {
		return nil, nil
	}
	_, err := insertEntry.Run(ctx, tx, entryRows([]access.Entry{entry}))
	return trail, err
}

// Entries implements access.AuditStore.
func (s *Access) Entries(ctx context.Context, q access.Query) (entries []access.Entry, err error) {
	var statement Statement
	statement.Write("SELECT id, at, actor, role, address, action, target, status FROM audit_entry WHERE id >= ").Text(q.From)
	for _, bound := range []struct{ condition, value string }{{"id < ", q.Before}, {"actor = ", q.Actor}, {"action = ", q.Action}} {
		if bound.value != "" {
			statement.Write(" AND " + bound.condition).Text(bound.value)
		}
	}
	statement.Write(" ORDER BY id DESC LIMIT ").Int(int64(max(q.Limit, 1)))
	err = s.db.Run(ctx, &statement, func(r *sql.Rows) error {
		var e access.Entry
		var at int64
		if err := r.Scan(&e.ID, &at, &e.Actor, &e.Role, &e.Address, &e.Action, &e.Target, &e.Status); err != nil {
			return err
		}
		e.At, e.Outcome = Time(at), access.OutcomeOf(e.Status)
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// RemoveEntries implements access.AuditStore.
func (s *Access) RemoveEntries(ctx context.Context, before string, most int) (removed int, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		var first Statement
		first.Write("SELECT id FROM audit_entry WHERE id < ").Text(before).Write(" ORDER BY id LIMIT 1 OFFSET ").Int(int64(most))
		bound := before
		if err := first.Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&bound) }); err != nil {
			return err
		}
		var remove Statement
		result, err := remove.Write("DELETE FROM audit_entry WHERE id < ").Text(bound).Exec(ctx, tx)
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		removed = int(changed)
		return err
	})
	return removed, err
}

// recordTrails stores the entries of all requests that set timers together.
func recordTrails(ctx context.Context, tx *Tx, items []*putItem) error {
	var entries []access.Entry
	for _, item := range items {
		if entry, due := item.trail.Due(); due {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := insertEntry.Run(ctx, tx, entryRows(entries))
	return err
}
