package relational

import (
	"context"
	"database/sql"
	"time"

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
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO named_record (kind, name, value, changed_at, expires_at) VALUES (?, ?, ?, ?, ?) "+
			tx.Dialect().Upsert(Upsert{Key: "kind, name", Set: "value = excluded.value, changed_at = excluded.changed_at, expires_at = excluded.expires_at"}),
			string(r.Kind), r.Name, append([]byte{}, r.Value...), Micros(r.Changed), Micros(r.Expires))
		return err
	})
}

// read reads records; query is what follows the columns.
func (s *Records) read(ctx context.Context, query string, args ...any) (found []record.Record, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var one record.Record
		var changed, expires int64
		if err := r.Scan(&one.Kind, &one.Name, &one.Value, &changed, &expires); err != nil {
			return err
		}
		one.Changed, one.Expires = Time(changed), Time(expires)
		found = append(found, one)
		return nil
	}, "SELECT kind, name, value, changed_at, expires_at FROM named_record WHERE kind = ? "+query, args...)
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

// Remove implements record.Store.
func (s *Records) Remove(ctx context.Context, kind record.Kind, name string) (there bool, err error) {
	n, err := changed(s.db.Exec(ctx, "DELETE FROM named_record WHERE kind = ? AND name = ?", string(kind), name))
	return n > 0, err
}

// RemoveExpired implements record.Store.
func (s *Records) RemoveExpired(ctx context.Context, kind record.Kind, before time.Time) (removed int, err error) {
	return changed(s.db.Exec(ctx, "DELETE FROM named_record WHERE kind = ? AND expires_at > 0 AND expires_at < ?", string(kind), Micros(before)))
}

// changed is how many rows a statement has changed.
func changed(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
