package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

const valuesSQL = `SELECT seq, stored_at, source, key, version, hash, body FROM snapshot_value
	WHERE listed = 1 AND (stored_at, seq) > (?1, ?2) AND stored_at < ?4 AND seq <= ?3 ORDER BY stored_at, seq LIMIT ?5`

// Values implements refresh.History. The present values are among them. A
// listing that begins with "" is about what was stored by then: what is stored
// meanwhile is found by the next.
func (s *Snapshots) Values(ctx context.Context, before time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	var from refresh.HistoryCursor
	if after != "" {
		if from, err = refresh.ParseHistoryCursor(after); err != nil {
			return nil, "", err
		}
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		if after == "" {
			last := func(r *driver.Stmt) { from = refresh.BeginHistory(r.ColumnInt64(0)) }
			if err := Exec(c, "SELECT coalesce(max(seq), 0) FROM snapshot_value", last); err != nil {
				return err
			}
		}
		return Exec(c, valuesSQL, func(r *driver.Stmt) {
			from.Seq, from.At = r.ColumnInt64(0), r.ColumnInt64(1)
			v := refresh.Value{
				Entity: refresh.Entity{Source: r.ColumnText(2), Key: r.ColumnText(3)}, Version: r.ColumnInt64(4),
				StoredAt: fromMicros(from.At), Body: readBlob(r, 6),
			}
			r.ColumnBytes(5, v.Hash[:])
			values = append(values, v)
		}, from.At, from.Seq, from.UpTo, toMicros(before), max(0, limit))
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

// pastSQL sorts an entity's values without their bodies.
const pastSQL = `SELECT v.seq, v.stored_at, v.version, v.hash, v.body FROM (SELECT seq FROM snapshot_value
		WHERE source = ?1 AND key = ?2 AND (stored_at, seq) < (?3, ?4) ORDER BY stored_at DESC, seq DESC LIMIT ?5) p
	CROSS JOIN snapshot_value v ON v.seq = p.seq ORDER BY v.stored_at DESC, v.seq DESC`

// PastValues implements refresh.Past.
func (s *Snapshots) PastValues(ctx context.Context, q refresh.PastQuery) (values []refresh.PastValue, err error) {
	from := q.From()
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, pastSQL, func(r *driver.Stmt) {
			v := refresh.Value{Entity: q.Entity, Version: r.ColumnInt64(2), StoredAt: fromMicros(r.ColumnInt64(1)), Body: readBlob(r, 4)}
			r.ColumnBytes(3, v.Hash[:])
			values = append(values, refresh.PastValue{Value: v, Seq: r.ColumnInt64(0)})
		}, q.Source, q.Key, from.At, from.Seq, max(0, q.Limit))
	})
	for i := range values {
		if err == nil {
			values[i].Body, err = s.packer.Unpack(values[i].Body)
		}
	}
	return values, err
}

// forgottenValues are the values that a listing has come across.
const forgottenValues = "listed = 1 AND (stored_at, seq) <= (?1, ?2) AND seq <= ?3"

const (
	forgetPresentSQL = "UPDATE snapshot_value SET listed = 0 WHERE " + forgottenValues + ` AND EXISTS (SELECT 1 FROM snapshot s
		WHERE s.source = snapshot_value.source AND s.key = snapshot_value.key AND s.version = snapshot_value.version AND s.hash = snapshot_value.hash)`
	forgetSQL = "DELETE FROM snapshot_value WHERE " + forgottenValues
)

// Forget implements refresh.History. A present value is counted, and is not
// listed any more.
func (s *Snapshots) Forget(ctx context.Context, upTo string) (removed int, err error) {
	if upTo == "" {
		return 0, nil
	}
	to, err := refresh.ParseHistoryCursor(upTo)
	if err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		removed = 0
		for _, statement := range []string{forgetPresentSQL, forgetSQL} {
			if err := Exec(c, statement, nil, to.At, to.Seq, to.UpTo); err != nil {
				return err
			}
			removed += c.Changes()
		}
		return nil
	})
	return removed, err
}

// restoreValues also puts back a present value that was forgotten.
var restoreValues = NewInsert("INSERT INTO snapshot_value (source, key, version, hash, stored_at, listed, body)",
	"ON CONFLICT (source, key, version, hash) DO UPDATE SET listed = 1 WHERE listed = 0", 7)

// Restore implements refresh.History. A value is there if one of its entity,
// version and hash is.
func (s *Snapshots) Restore(ctx context.Context, values []refresh.Value) error {
	results := make([]refresh.Result, len(values))
	for i := range values {
		v := &values[i]
		if err := v.Check(); err != nil {
			return err
		}
		results[i] = refresh.Result{Entity: v.Entity, Version: v.Version, At: toMicros(v.StoredAt), Hash: v.Hash, Packed: s.packer.Pack(v.Body)}
	}
	if len(results) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return restoreValues.Run(c, len(results), func(stmt *driver.Stmt, base, i int) { bindValue(stmt, base, &results[i]) }, nil)
	})
}
