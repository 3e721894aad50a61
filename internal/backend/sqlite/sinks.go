package sqlite

import (
	"context"
	"io"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/sink/hook"
)

// Sinks implements hook.Store.
type Sinks struct{ db *DB }

var _ hook.Store = (*Sinks)(nil)

// NewSinks returns a store on an open database.
func NewSinks(db *DB) *Sinks { return &Sinks{db} }

// Standing implements hook.Store.
func (s *Sinks) Standing(ctx context.Context, sink string) (standing []byte, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT standing FROM sink_standing WHERE sink = ?", func(r *driver.Stmt) { standing = blobOf(r, 0) }, sink)
	})
	return standing, err
}

// blobOf copies a column. A reader of memory does not fail.
func blobOf(r *driver.Stmt, column int) []byte {
	data, _ := io.ReadAll(r.ColumnReader(column))
	return data
}

// Stand implements hook.Store.
func (s *Sinks) Stand(ctx context.Context, sink string, standing []byte, letter *hook.Stored) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		if err := Exec(c, "REPLACE INTO sink_standing (sink, standing) VALUES (?, ?)", nil, sink, standing); err != nil || letter == nil {
			return err
		}
		return Exec(c, "REPLACE INTO sink_letter (id, sink, at, status, reason, body) VALUES (?, ?, ?, ?, ?, ?)", nil,
			letter.ID, letter.Sink, letter.At, letter.Status, letter.Reason, letter.Body)
	})
}

// read reads letters; query is what follows the columns.
func (s *Sinks) read(ctx context.Context, query string, args ...any) (found []hook.Stored, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT id, sink, at, status, reason, body FROM sink_letter "+query, func(r *driver.Stmt) {
			found = append(found, hook.Stored{ID: r.ColumnText(0), Sink: r.ColumnText(1), At: fromMicros(r.ColumnInt64(2)),
				Status: r.ColumnInt(3), Reason: r.ColumnText(4), Body: blobOf(r, 5)})
		}, args...)
	})
	return found, err
}

// Letters implements hook.Store.
func (s *Sinks) Letters(ctx context.Context, sink string, limit int) ([]hook.Stored, error) {
	return s.read(ctx, "WHERE sink = ? ORDER BY at, id LIMIT ?", sink, limit)
}

// CountLetters implements hook.Store.
func (s *Sinks) CountLetters(ctx context.Context, sink string) (n int64, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT count(*) FROM sink_letter WHERE sink = ?", func(r *driver.Stmt) { n = r.ColumnInt64(0) }, sink)
	})
	return n, err
}

// Letter implements hook.Store.
func (s *Sinks) Letter(ctx context.Context, id string) (hook.Stored, error) {
	found, err := s.read(ctx, "WHERE id = ?", id)
	return hook.Only(found, err, id)
}

// Rewrite implements hook.Store.
func (s *Sinks) Rewrite(ctx context.Context, id string, body []byte) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "UPDATE sink_letter SET body = ? WHERE id = ?", nil, body, id)
	})
}

// Discard implements hook.Store.
func (s *Sinks) Discard(ctx context.Context, id string) (there bool, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		err := Exec(c, "DELETE FROM sink_letter WHERE id = ?", nil, id)
		there = c.Changes() > 0
		return err
	})
	return there, err
}
