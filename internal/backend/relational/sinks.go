package relational

import (
	"context"
	"database/sql"

	"sluice/internal/sink/hook"
)

// Sinks implements hook.Store.
type Sinks struct{ db *DB }

var _ hook.Store = (*Sinks)(nil)

// NewSinks returns a store on an open database.
func NewSinks(db *DB) *Sinks { return &Sinks{db} }

// Standing implements hook.Store.
func (s *Sinks) Standing(ctx context.Context, sink string) (standing []byte, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&standing) }, "SELECT standing FROM sink_standing WHERE sink = ?", sink)
	return standing, err
}

// Stand implements hook.Store.
func (s *Sinks) Stand(ctx context.Context, sink string, standing []byte, letter *hook.Stored) error {
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO sink_standing (sink, standing) VALUES (?, ?) "+
			tx.Dialect().Upsert(Upsert{Key: "sink", Set: "standing = excluded.standing"}), sink, standing)
		if err != nil || letter == nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO sink_letter (id, sink, at, status, reason, body) VALUES (?, ?, ?, ?, ?, ?) "+
			tx.Dialect().Upsert(Upsert{Key: "id", Set: "sink = excluded.sink, at = excluded.at, status = excluded.status, reason = excluded.reason, body = excluded.body"}),
			letter.ID, letter.Sink, letter.At.UnixMicro(), letter.Status, letter.Reason, letter.Body)
		return err
	})
}

// letters reads letters; query is what follows the columns.
func (s *Sinks) letters(ctx context.Context, query string, args ...any) (found []hook.Stored, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var l hook.Stored
		var at int64
		err := r.Scan(&l.ID, &l.Sink, &at, &l.Status, &l.Reason, &l.Body)
		l.At = Time(at)
		found = append(found, l)
		return err
	}, "SELECT id, sink, at, status, reason, body FROM sink_letter "+query, args...)
	return found, err
}

// Letters implements hook.Store.
func (s *Sinks) Letters(ctx context.Context, sink string, limit int) ([]hook.Stored, error) {
	return s.letters(ctx, "WHERE sink = ? ORDER BY at, id LIMIT ?", sink, limit)
}

// CountLetters implements hook.Store.
func (s *Sinks) CountLetters(ctx context.Context, sink string) (n int64, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT count(*) FROM sink_letter WHERE sink = ?", sink)
	return n, err
}

// Letter implements hook.Store.
func (s *Sinks) Letter(ctx context.Context, id string) (hook.Stored, error) {
	found, err := s.letters(ctx, "WHERE id = ?", id)
	return hook.Only(found, err, id)
}

// Rewrite implements hook.Store.
func (s *Sinks) Rewrite(ctx context.Context, id string, body []byte) error {
	_, err := s.db.Exec(ctx, "UPDATE sink_letter SET body = ? WHERE id = ?", body, id)
	return err
}

// Discard implements hook.Store.
func (s *Sinks) Discard(ctx context.Context, id string) (bool, error) {
	result, err := s.db.Exec(ctx, "DELETE FROM sink_letter WHERE id = ?", id)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}
