package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/record"
)

// Records implements record.Store.
type Records struct{ db *DB }

var _ record.Store = (*Records)(nil)

// NewRecords returns a store on an open database.
func NewRecords(db *DB) *Records { return &Records{db} }

// Put implements record.Store.
func (s *Records) Put(ctx context.Context, r record.Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "REPLACE INTO named_record (kind, name, value, changed_at, expires_at) VALUES (?, ?, ?, ?, ?)", nil,
			string(r.Kind), r.Name, append([]byte{}, r.Value...), r.Changed, r.Expires)
	})
}

// read reads records; query is what follows the columns.
func (s *Records) read(ctx context.Context, query string, args ...any) (found []record.Record, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT kind, name, value, changed_at, expires_at FROM named_record WHERE kind = ? "+query, func(r *driver.Stmt) {
			one := record.Record{Kind: record.Kind(r.ColumnText(0)), Name: r.ColumnText(1), Value: blobOf(r, 2)}
			one.Changed, one.Expires = fromMicros(r.ColumnInt64(3)), fromMicros(r.ColumnInt64(4))
			found = append(found, one)
		}, args...)
	})
	return found, err
}

// Get implements record.Store.
func (s *Records) Get(ctx context.Context, kind record.Kind, name string) (record.Record, error) {
	return record.Only(s.read(ctx, "AND name = ?", string(kind), name))
}

// List implements record.Store.
func (s *Records) List(ctx context.Context, kind record.Kind) ([]record.Record, error) {
	return s.read(ctx, "ORDER BY name LIMIT ?", string(kind), record.MostListed)
}

// remove removes records; query is what restricts it beside the kind.
func (s *Records) remove(ctx context.Context, query string, args ...any) (removed int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		err := Exec(c, "DELETE FROM named_record WHERE kind = ? AND "+query, nil, args...)
		removed = c.Changes()
		return err
	})
	return removed, err
}

// Remove implements record.Store.
func (s *Records) Remove(ctx context.Context, kind record.Kind, name string) (there bool, err error) {
	n, err := s.remove(ctx, "name = ?", string(kind), name)
	return n > 0, err
}

// RemoveExpired implements record.Store.
func (s *Records) RemoveExpired(ctx context.Context, kind record.Kind, before time.Time) (removed int, err error) {
	return s.remove(ctx, "expires_at > 0 AND expires_at < ?", string(kind), before)
}
