package sqlite

import (
	"context"
	"fmt"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
)

var _ document.Filler = (*Documents)(nil)

// ownValues reads the values of its own of a document.
func (s *Documents) ownValues(_ context.Context, c *driver.Conn, key document.Key, version int64) (own document.Values, content int64, found bool, err error) {
	columns := readColumns{own: s.columns.own.Of(s.kinds, key.Kind)}
	columns.count = 1 + len(columns.own)
	err = Exec(c, "SELECT "+columns.own.After("content", "")+" FROM document WHERE account_id = ? AND kind = ? AND name = ? AND version = ?", func(r *driver.Stmt) {
		var d document.Document
		columns.readOwn(r, &d)
		own, content, found = d.Own, r.ColumnInt64(0), true
	}, key.Account, string(key.Kind), key.Name, version)
	return own, content, found, err
}

// fill names every column of the kind, so that there is one statement for each kind.
func (s *Documents) fill(_ context.Context, c *driver.Conn, d *document.Document, content int64) error {
	columns := s.columns.of(d.Kind)
	set := columns.own.Names()
	for i, name := range set {
		set[i] = name + " = coalesce(" + name + ", ?)"
	}
	query := "UPDATE document SET " + strings.Join(set, ", ") + ", content = ? WHERE account_id = ? AND kind = ? AND name = ? AND version = ?"
	stmt, err := c.Prepare(query)
	if err != nil {
		return fmt.Errorf("prepare %q: %w", query, err)
	}
	columns.bindOwn(stmt, 1, d)
	key := len(set) + 1
	stmt.BindInt64(key, content)
	stmt.BindInt64(key+1, d.Account)
	stmt.BindText(key+2, string(d.Kind))
	stmt.BindText(key+3, d.Name)
	stmt.BindInt64(key+4, toMicros(d.Version))
	return drain(stmt, nil)
}

// Fillings implements document.Fillings.
type Fillings struct{ db *DB }

var _ document.Fillings = (*Fillings)(nil)

// NewFillings returns a store on an open database.
func NewFillings(db *DB) *Fillings { return &Fillings{db} }

// Filling implements document.Fillings.
func (s *Fillings) Filling(ctx context.Context, signature string) (f document.Filling, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT account_id, kind, name, seen, filled, done FROM document_filling WHERE signature = ?", func(r *driver.Stmt) {
			f.After = document.Key{Account: r.ColumnInt64(0), Kind: document.Kind(r.ColumnText(1)), Name: r.ColumnText(2)}
			f.Seen, f.Filled, f.Done = r.ColumnInt64(3), r.ColumnInt64(4), r.ColumnBool(5)
		}, signature)
	})
	return f, err
}

// SaveFilling implements document.Fillings.
func (s *Fillings) SaveFilling(ctx context.Context, signature string, f document.Filling) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, `INSERT INTO document_filling (signature, account_id, kind, name, seen, filled, done) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (signature) DO UPDATE SET account_id = excluded.account_id, kind = excluded.kind, name = excluded.name,
			seen = excluded.seen, filled = excluded.filled, done = excluded.done WHERE document_filling.done = 0`, nil,
			signature, f.After.Account, string(f.After.Kind), f.After.Name, f.Seen, f.Filled, f.Done)
	})
}
