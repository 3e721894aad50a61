package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/idempotency"
	"sluice/internal/state"
)

// Idempotency implements idempotency.Store.
type Idempotency struct{ db *DB }

var _ idempotency.Store = (*Idempotency)(nil)

// NewIdempotency returns a store on an open database.
func NewIdempotency(db *DB) *Idempotency { return &Idempotency{db} }

// Claim implements idempotency.Store. Nobody else writes meanwhile.
func (s *Idempotency) Claim(ctx context.Context, r idempotency.Record, now time.Time) (standing idempotency.Record, claimed bool, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		found := false
		standing, claimed = idempotency.Record{}, false
		err := Exec(c, "SELECT fingerprint, holder, until, expires, answered, key_id, answer FROM idempotency WHERE id = ?", func(row *driver.Stmt) {
			found = true
			standing = scanIdempotency(r.ID, row)
		}, r.ID[:])
		if err != nil || found && !standing.Yields(r, now) {
			return err
		}
		claimed = true
		return Exec(c, `INSERT OR REPLACE INTO idempotency (id, fingerprint, holder, until, expires, answered, key_id, answer) VALUES (?, ?, ?, ?, ?, 0, '', x'')`,
			nil, r.ID[:], r.Fingerprint[:], r.Holder, r.Until.UnixMicro(), r.Expires.UnixMicro())
	})
	return standing, claimed && err == nil, err
}

func scanIdempotency(id idempotency.ID, row *driver.Stmt) idempotency.Record {
	r := idempotency.Record{
		ID: id, Holder: row.ColumnInt64(1), Until: time.UnixMicro(row.ColumnInt64(2)), Expires: time.UnixMicro(row.ColumnInt64(3)),
		Answered: row.ColumnInt64(4) != 0, Answer: state.Sealed{KeyID: row.ColumnText(5), Data: readBlob(row, 6)},
	}
	copy(r.Fingerprint[:], readBlob(row, 0))
	return r
}

// Finish implements idempotency.Store.
func (s *Idempotency) Finish(ctx context.Context, id idempotency.ID, holder int64, answer state.Sealed, expires time.Time) (kept bool, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		err := Exec(c, "UPDATE idempotency SET answered = 1, key_id = ?, answer = ?, expires = ? WHERE id = ? AND holder = ? AND answered = 0",
			nil, answer.KeyID, answer.Data, expires.UnixMicro(), id[:], holder)
		kept = c.Changes() == 1
		return err
	})
	return kept && err == nil, err
}

// Release implements idempotency.Store.
func (s *Idempotency) Release(ctx context.Context, id idempotency.ID, holder int64) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "DELETE FROM idempotency WHERE id = ? AND holder = ? AND answered = 0", nil, id[:], holder)
	})
}

// SealedOtherwise implements idempotency.Store.
func (s *Idempotency) SealedOtherwise(ctx context.Context, key string, above idempotency.ID, limit int) (found []idempotency.Record, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT fingerprint, holder, until, expires, answered, key_id, answer, id FROM idempotency WHERE id > ? AND answered = 1 AND key_id <> ? ORDER BY id LIMIT ?",
			func(row *driver.Stmt) { found = append(found, scanIdempotency(idempotency.ID(readBlob(row, 7)), row)) }, above[:], key, limit)
	})
	return found, err
}

// Reseal implements idempotency.Store.
func (s *Idempotency) Reseal(ctx context.Context, id idempotency.ID, old, renewed state.Sealed) (replaced bool, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		err := Exec(c, "UPDATE idempotency SET key_id = ?, answer = ? WHERE id = ? AND answered = 1 AND key_id = ? AND answer = ?",
			nil, renewed.KeyID, renewed.Data, id[:], old.KeyID, old.Data)
		replaced = c.Changes() == 1
		return err
	})
	return replaced && err == nil, err
}

// Prune implements idempotency.Store.
func (s *Idempotency) Prune(ctx context.Context, now time.Time, limit int) (n int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		err := Exec(c, "DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency WHERE expires <= ? ORDER BY expires LIMIT ?)", nil, now.UnixMicro(), limit)
		n = c.Changes()
		return err
	})
	return n, err
}
