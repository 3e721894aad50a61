package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/idempotency"
	"sluice/internal/state"
)

// Idempotency implements idempotency.Store.
type Idempotency struct{ db *DB }

var _ idempotency.Store = (*Idempotency)(nil)

// NewIdempotency returns a store on an open database.
func NewIdempotency(db *DB) *Idempotency { return &Idempotency{db} }

// Claim implements idempotency.Store. The insertion comes first: it locks the row,
// or waits for whoever does, also where there is none yet.
func (s *Idempotency) Claim(ctx context.Context, r idempotency.Record, now time.Time) (standing idempotency.Record, claimed bool, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		result, err := tx.ExecContext(ctx,
			"INSERT INTO idempotency (id, fingerprint, holder, until, expires, answered, key_id, answer) VALUES (?, ?, ?, ?, ?, 0, '', ?) "+
				tx.Dialect().Upsert(Upsert{Key: "id"}),
			r.ID[:], r.Fingerprint[:], r.Holder, r.Until.UnixMicro(), r.Expires.UnixMicro(), []byte{})
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			claimed = true
			return err
		}
		var found bool
		if standing, found, err = readIdempotency(ctx, tx, r.ID); err != nil {
			return err
		}
		if !found {
			// It was forgotten in this moment.
			return errAgain
		}
		if claimed = standing.Yields(r, now); !claimed {
			return nil
		}
		_, err = tx.ExecContext(ctx, "UPDATE idempotency SET fingerprint = ?, holder = ?, until = ?, expires = ?, answered = 0, key_id = '', answer = ? WHERE id = ?",
			r.Fingerprint[:], r.Holder, r.Until.UnixMicro(), r.Expires.UnixMicro(), []byte{}, r.ID[:])
		return err
	})
	return standing, claimed && err == nil, err
}

func readIdempotency(ctx context.Context, tx *Tx, id idempotency.ID) (r idempotency.Record, found bool, err error) {
	err = Query(ctx, tx, func(row *sql.Rows) (err error) {
		found = true
		r, err = scanIdempotency(row)
		return err
	}, "SELECT "+idempotencyColumns+" FROM idempotency WHERE id = ? FOR UPDATE", id[:])
	return r, found, err
}

const idempotencyColumns = "id, fingerprint, holder, until, expires, answered, key_id, answer"

func scanIdempotency(row *sql.Rows) (r idempotency.Record, err error) {
	var id, fingerprint []byte
	var until, expires, answered int64
	if err := row.Scan(&id, &fingerprint, &r.Holder, &until, &expires, &answered, &r.Answer.KeyID, &r.Answer.Data); err != nil {
		return r, err
	}
	copy(r.ID[:], id)
	copy(r.Fingerprint[:], fingerprint)
	r.Until, r.Expires, r.Answered = time.UnixMicro(until), time.UnixMicro(expires), answered != 0
	return r, nil
}

// SealedOtherwise implements idempotency.Store.
func (s *Idempotency) SealedOtherwise(ctx context.Context, key string, above idempotency.ID, limit int) (found []idempotency.Record, err error) {
	err = s.db.Query(ctx, func(row *sql.Rows) error {
		r, err := scanIdempotency(row)
		found = append(found, r)
		return err
	}, "SELECT "+idempotencyColumns+" FROM idempotency WHERE id > ? AND answered = 1 AND key_id <> ? ORDER BY id LIMIT ?", above[:], key, limit)
	return found, err
}

// Reseal implements idempotency.Store.
func (s *Idempotency) Reseal(ctx context.Context, id idempotency.ID, old, renewed state.Sealed) (bool, error) {
	result, err := s.db.Exec(ctx, "UPDATE idempotency SET key_id = ?, answer = ? WHERE id = ? AND answered = 1 AND key_id = ? AND answer = ?",
		renewed.KeyID, renewed.Data, id[:], old.KeyID, old.Data)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// Finish implements idempotency.Store.
func (s *Idempotency) Finish(ctx context.Context, id idempotency.ID, holder int64, answer state.Sealed, expires time.Time) (bool, error) {
	result, err := s.db.Exec(ctx, "UPDATE idempotency SET answered = 1, key_id = ?, answer = ?, expires = ? WHERE id = ? AND holder = ? AND answered = 0",
		answer.KeyID, answer.Data, expires.UnixMicro(), id[:], holder)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// Release implements idempotency.Store.
func (s *Idempotency) Release(ctx context.Context, id idempotency.ID, holder int64) error {
	_, err := s.db.Exec(ctx, "DELETE FROM idempotency WHERE id = ? AND holder = ? AND answered = 0", id[:], holder)
	return err
}

// Prune implements idempotency.Store. In one statement MariaDB would read the table
// through.
func (s *Idempotency) Prune(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	var old [][]byte
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var id []byte
		err := r.Scan(&id)
		old = append(old, id)
		return err
	}, "SELECT id FROM idempotency WHERE expires <= ? ORDER BY expires LIMIT ?", now.UnixMicro(), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range old {
		// Whoever has taken it again since keeps it.
		result, err := s.db.Exec(ctx, "DELETE FROM idempotency WHERE id = ? AND expires <= ?", id, now.UnixMicro())
		if err != nil {
			return removed, err
		}
		n, err := result.RowsAffected()
		if removed += int(n); err != nil {
			return removed, err
		}
	}
	return removed, nil
}
