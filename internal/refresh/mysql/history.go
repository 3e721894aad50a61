package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
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

// holdGate is called by whoever is about to insert values. All of them hold it
// together.
func holdGate(ctx context.Context, tx *sql.Tx) error {
	return mysqldb.Query(ctx, tx, func(*sql.Rows) error { return nil }, "SELECT id FROM snapshot_gate WHERE id = 1 LOCK IN SHARE MODE")
}

// horizon waits for those who are inserting values and returns the last seq:
// whatever comes later has a larger one.
func (s *Store) horizon(ctx context.Context) (last int64, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		err := mysqldb.Query(ctx, tx, func(*sql.Rows) error { return nil }, "SELECT id FROM snapshot_gate WHERE id = 1 FOR UPDATE")
		if err != nil {
			return err
		}
		return mysqldb.Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&last) }, "SELECT COALESCE(MAX(seq), 0) FROM snapshot_value")
	})
	return last, err
}

var (
	// insertValue leaves a value that is in the history already as it is.
	insertValue = &mysqldb.Insert{
		Head: "INSERT INTO snapshot_value (identity, source, entity_key, version, hash, stored_at, listed, body)",
		Tail: "ON DUPLICATE KEY UPDATE seq = seq",
	}
	// restoreValue also puts back a present value that was forgotten.
	restoreValue = &mysqldb.Insert{Head: insertValue.Head, Tail: "ON DUPLICATE KEY UPDATE listed = 1"}
)

// insertValues inserts values of entities whose rows are locked. Those of one
// entity stay in order.
func insertValues(ctx context.Context, tx *sql.Tx, insert *mysqldb.Insert, values []*result) error {
	rows := make([]mysqldb.Row, len(values))
	for i, v := range values {
		r := &rows[i]
		r.Key = string(v.identity[:])
		r.Grow(192, 3)
		r.Write("(").Hash(v.identity).Write(",").Blob([]byte(v.Source)).Write(",").Blob([]byte(v.Key)).Write(",").Int(v.version).Write(",")
		writeHash(&r.Statement, v.hash).Write(",").Int(v.at).Write(",1,").Blob(v.packed).Write(")")
	}
	_, err := insert.Run(ctx, tx, rows)
	return err
}

const valuesSQL = `SELECT seq, stored_at, source, entity_key, version, hash, body FROM snapshot_value FORCE INDEX (snapshot_value_listed)
	WHERE listed = 1 AND stored_at >= ? AND stored_at < ? AND (stored_at > ? OR seq > ?) AND seq <= ? ORDER BY stored_at, seq LIMIT ?`

// Values implements refresh.History. The present values are among them. A
// listing that begins with "" is about what was stored by then: what is stored
// meanwhile is found by the next.
func (s *Store) Values(ctx context.Context, before time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	from := cursor{at: -1 << 62}
	if after != "" {
		from, err = parseCursor(after)
	} else {
		from.upTo, err = s.horizon(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var v refresh.Value
		var hash []byte
		if err := r.Scan(&from.seq, &from.at, &v.Source, &v.Key, &v.Version, &hash, &v.Body); err != nil {
			return err
		}
		v.StoredAt = mysqldb.Time(from.at)
		copy(v.Hash[:], hash)
		values = append(values, v)
		return nil
	}, valuesSQL, from.at, mysqldb.Micros(before), from.at, from.seq, from.upTo, max(0, limit))
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

// listed is a value that is to be forgotten.
type listed struct {
	seq      int64
	identity mysqldb.Hash
	value
}

const forgottenSQL = `SELECT seq, identity, version, hash FROM snapshot_value FORCE INDEX (snapshot_value_listed)
	WHERE listed = 1 AND stored_at <= ? AND (stored_at < ? OR seq <= ?) AND seq <= ?`

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
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		removed = 0
		var values []listed
		err := mysqldb.Query(ctx, tx, func(r *sql.Rows) error {
			var v listed
			var identity, hash sql.RawBytes
			if err := r.Scan(&v.seq, &identity, &v.version, &hash); err != nil {
				return err
			}
			copy(v.identity[:], identity)
			copy(v.hash[:], hash)
			values = append(values, v)
			return nil
		}, forgottenSQL, to.at, to.at, to.seq, to.upTo)
		if err != nil {
			return err
		}
		removed, err = forget(ctx, tx, values)
		return err
	})
	return removed, err
}

// forget removes values, or takes them out of the history if they are present.
// The rows of their entities are locked first, so that none becomes or ceases
// to be the present one meanwhile.
func forget(ctx context.Context, tx *sql.Tx, values []listed) (removed int, err error) {
	identities := make([]mysqldb.Hash, len(values))
	for i := range values {
		identities[i] = values[i].identity
	}
	slices.SortFunc(identities, compareHashes)
	rows, err := lockRows(ctx, tx, slices.Compact(identities))
	if err != nil {
		return 0, err
	}
	var present, past []int64
	for _, v := range values {
		if t := rows[v.identity]; t != nil && v.value == (value{t.version, t.hash}) {
			present = append(present, v.seq)
		} else {
			past = append(past, v.seq)
		}
	}
	for _, step := range []struct {
		sql  string
		seqs []int64
	}{
		{"UPDATE snapshot_value FORCE INDEX (PRIMARY) SET listed = 0 WHERE listed = 1 AND seq IN (", present},
		{"DELETE snapshot_value FROM snapshot_value FORCE INDEX (PRIMARY) WHERE listed = 1 AND seq IN (", past},
	} {
		slices.Sort(step.seqs)
		for part := range slices.Chunk(step.seqs, maxIdentities) {
			var s mysqldb.Statement
			result, err := s.Write(step.sql).Ints(part...).Write(")").Exec(ctx, tx)
			if err != nil {
				return 0, err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return 0, err
			}
			removed += int(n)
		}
	}
	return removed, nil
}

// Restore implements refresh.History. A value is there if one of its entity,
// version and hash is.
func (s *Store) Restore(ctx context.Context, values []refresh.Value) error {
	results := make([]*result, len(values))
	entities := make(map[mysqldb.Hash]refresh.Entity, len(values))
	for i := range values {
		v := &values[i]
		if err := checkEntity(v.Entity); err != nil {
			return err
		}
		results[i] = &result{
			Entity: v.Entity, identity: identityOf(v.Entity), version: v.Version, at: mysqldb.Micros(v.StoredAt), hash: v.Hash, packed: s.packer.Pack(v.Body),
		}
		entities[results[i].identity] = v.Entity
	}
	if len(results) == 0 {
		return nil
	}
	return s.change(ctx, entities, func(tx *sql.Tx, _ map[mysqldb.Hash]*row) error {
		if err := holdGate(ctx, tx); err != nil {
			return err
		}
		return insertValues(ctx, tx, restoreValue, results)
	})
}
