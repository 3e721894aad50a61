package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/sqlitedb"
)

// cursor is a place in a listing of the history, which goes by the instant at
// which values were stored. A listing is about what was there when it began:
// what is stored later, for whatever instant, is neither listed nor forgotten
// with its cursors.
type cursor struct {
	at, seq int64
	// upTo is the last seq that there was when the listing began.
	upTo int64
}

func (c cursor) String() string { return fmt.Sprintf("%d.%d.%d", c.at, c.seq, c.upTo) }

func parseCursor(text string) (c cursor, err error) {
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &c.at, &c.seq, &c.upTo); err != nil || c.String() != text {
		return c, domain.Errorf(domain.CodeInvalid, "%q is no cursor of a history", text)
	}
	return c, nil
}

const valuesSQL = `SELECT seq, stored_at, source, key, version, hash, body FROM snapshot_value
	WHERE listed = 1 AND (stored_at, seq) > (?1, ?2) AND stored_at < ?4 AND seq <= ?3 ORDER BY stored_at, seq LIMIT ?5`

// Values implements refresh.History. The present values are among them. A
// listing that begins with "" is about what was stored by then: what is stored
// meanwhile is found by the next.
func (s *Store) Values(ctx context.Context, before time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	var from cursor
	if after != "" {
		if from, err = parseCursor(after); err != nil {
			return nil, "", err
		}
	}
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		if after == "" {
			from.at = -1 << 62
			if err := sqlitedb.Exec(c, "SELECT coalesce(max(seq), 0) FROM snapshot_value", func(r *sqlite.Stmt) { from.upTo = r.ColumnInt64(0) }); err != nil {
				return err
			}
		}
		return sqlitedb.Exec(c, valuesSQL, func(r *sqlite.Stmt) {
			from.seq, from.at = r.ColumnInt64(0), r.ColumnInt64(1)
			v := refresh.Value{
				Entity: refresh.Entity{Source: r.ColumnText(2), Key: r.ColumnText(3)}, Version: r.ColumnInt64(4),
				StoredAt: sqlitedb.Time(from.at), Body: sqlitedb.Blob(r, 6),
			}
			r.ColumnBytes(5, v.Hash[:])
			values = append(values, v)
		}, from.at, from.seq, from.upTo, sqlitedb.Micros(before), max(0, limit))
	})
	if err != nil || len(values) == 0 {
		return nil, after, err
	}
	for i := range values {
		if values[i].Body, err = s.packer.Unpack(values[i].Body); err != nil {
			return nil, "", err
		}
	}
	return values, from.String(), nil
}

// forgotten are the values that a listing has come across.
const forgotten = "listed = 1 AND (stored_at, seq) <= (?1, ?2) AND seq <= ?3"

const (
	forgetPresentSQL = "UPDATE snapshot_value SET listed = 0 WHERE " + forgotten + ` AND EXISTS (SELECT 1 FROM snapshot s
		WHERE s.source = snapshot_value.source AND s.key = snapshot_value.key AND s.version = snapshot_value.version AND s.hash = snapshot_value.hash)`
	forgetSQL = "DELETE FROM snapshot_value WHERE " + forgotten
)

// Forget implements refresh.History. A present value is counted, and is not
// listed any more.
func (s *Store) Forget(ctx context.Context, upTo string) (removed int, err error) {
	if upTo == "" {
		return 0, nil
	}
	to, err := parseCursor(upTo)
	if err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		removed = 0
		for _, statement := range []string{forgetPresentSQL, forgetSQL} {
			if err := sqlitedb.Exec(c, statement, nil, to.at, to.seq, to.upTo); err != nil {
				return err
			}
			removed += c.Changes()
		}
		return nil
	})
	return removed, err
}

// restoreValues also puts back a present value that was forgotten.
var restoreValues = sqlitedb.NewInsert("INSERT INTO snapshot_value (source, key, version, hash, stored_at, listed, body)",
	"ON CONFLICT (source, key, version, hash) DO UPDATE SET listed = 1 WHERE listed = 0", 7)

// Restore implements refresh.History. A value is there if one of its entity,
// version and hash is.
func (s *Store) Restore(ctx context.Context, values []refresh.Value) error {
	results := make([]result, len(values))
	for i := range values {
		v := &values[i]
		if err := checkEntity(v.Entity); err != nil {
			return err
		}
		results[i] = result{Entity: v.Entity, version: v.Version, at: sqlitedb.Micros(v.StoredAt), hash: v.Hash, packed: s.packer.Pack(v.Body)}
	}
	if len(results) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		return restoreValues.Run(c, len(results), func(stmt *sqlite.Stmt, base, i int) { bindValue(stmt, base, &results[i]) }, nil)
	})
}
