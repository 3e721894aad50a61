package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/access"
	"sluice/internal/domain"
)

// Access keeps tokens of the API and the audit log.
type Access struct{ db *DB }

var (
	_ access.TokenStore = (*Access)(nil)
	_ access.AuditStore = (*Access)(nil)
)

// NewAccess returns a store on an open database.
func NewAccess(db *DB) *Access { return &Access{db} }

// AddToken implements access.TokenStore.
func (s *Access) AddToken(ctx context.Context, t access.StoredToken, guarded bool) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		there, err := readTokens(c)
		if err == nil {
			err = access.MayAdd(there, t.Token, guarded)
		}
		if err != nil {
			return err
		}
		return Exec(c, "INSERT INTO api_token (name, role, prefix, digest, created_at, last_used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			nil, t.Name, string(t.Role), t.Prefix, t.Digest[:], t.Created, t.LastUsed, t.Expires)
	})
}

func readTokens(c *driver.Conn) (tokens []access.StoredToken, err error) {
	err = Exec(c, "SELECT name, role, prefix, digest, created_at, last_used_at, expires_at FROM api_token ORDER BY name", func(r *driver.Stmt) {
		t := access.StoredToken{Token: access.Token{
			Name: r.ColumnText(0), Role: access.Role(r.ColumnText(1)), Prefix: r.ColumnText(2),
			Created: fromMicros(r.ColumnInt64(4)), LastUsed: fromMicros(r.ColumnInt64(5)), Expires: fromMicros(r.ColumnInt64(6)),
		}}
		r.ColumnBytes(3, t.Digest[:])
		tokens = append(tokens, t)
	})
	return tokens, err
}

// Tokens implements access.TokenStore.
func (s *Access) Tokens(ctx context.Context) (tokens []access.StoredToken, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		tokens, err = readTokens(c)
		return err
	})
	return tokens, err
}

// RemoveToken implements access.TokenStore.
func (s *Access) RemoveToken(ctx context.Context, name string, now time.Time, guarded bool) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		there, err := readTokens(c)
		if err == nil {
			err = access.MayRemove(there, name, now, guarded)
		}
		if err != nil {
			return err
		}
		return Exec(c, "DELETE FROM api_token WHERE name = ?", nil, name)
	})
}

// TouchToken implements access.TokenStore.
func (s *Access) TouchToken(ctx context.Context, name string, at time.Time) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "UPDATE api_token SET last_used_at = ? WHERE name = ? AND last_used_at < ?", nil, at, name, at)
	})
}

// Record implements access.AuditStore.
func (s *Access) Record(ctx context.Context, entries ...access.Entry) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for _, e := range entries {
			if err := recordEntry(c, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordEntry stores an entry of the audit log, or the status of one that is
// there.
func recordEntry(c *driver.Conn, e access.Entry) error {
	return Exec(c, `INSERT INTO audit_entry (id, at, actor, role, address, action, target, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status WHERE audit_entry.status = 0`, nil,
		e.ID, e.At, e.Actor, string(e.Role), e.Address, e.Action, e.Target, e.Status)
}

// Entries implements access.AuditStore.
func (s *Access) Entries(ctx context.Context, q access.Query) (entries []access.Entry, err error) {
	query, args := "SELECT id, at, actor, role, address, action, target, status FROM audit_entry WHERE id >= ?", []any{q.From}
	for _, bound := range []struct{ condition, value string }{{"id < ?", q.Before}, {"actor = ?", q.Actor}, {"action = ?", q.Action}} {
		if bound.value != "" {
			query, args = query+" AND "+bound.condition, append(args, bound.value)
		}
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, query+" ORDER BY id DESC LIMIT ?", func(r *driver.Stmt) {
			status := r.ColumnInt(7)
			entries = append(entries, access.Entry{
				ID: r.ColumnText(0), At: fromMicros(r.ColumnInt64(1)), Actor: r.ColumnText(2), Role: access.Role(r.ColumnText(3)),
				Address: r.ColumnText(4), Action: r.ColumnText(5), Target: r.ColumnText(6), Status: status, Outcome: access.OutcomeOf(status),
			})
		}, append(args, domain.Limit(q.Limit))...)
	})
	return entries, err
}

// RemoveEntries implements access.AuditStore.
func (s *Access) RemoveEntries(ctx context.Context, before string, most int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		if err := Exec(c, "DELETE FROM audit_entry WHERE id IN (SELECT id FROM audit_entry WHERE id < ? ORDER BY id LIMIT ?)", nil, before, most); err != nil {
			return err
		}
		removed = c.Changes()
		return nil
	})
	return removed, err
}

// withTrail adds to a write the entry of the request that it is part of, if that
// is not in the audit log yet. What it returns is called when the write is done.
func withTrail(ctx context.Context, fn func(*driver.Conn) error) (func(*driver.Conn) error, func(error)) {
	trail := access.TrailOf(ctx)
	entry, due := trail.Due()
	if !due {
		return fn, func(error) {}
	}
	both := func(c *driver.Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return recordEntry(c, entry)
	}
	return both, func(err error) {
		if err == nil {
			trail.Stored()
		}
	}
}
