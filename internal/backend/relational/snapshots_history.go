package relational

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/refresh"
)

// holdGate is called by whoever is about to insert values. All of them hold it
// together.
func holdGate(ctx context.Context, tx *Tx) error {
	return Query(ctx, tx, func(*sql.Rows) error { return nil }, "SELECT id FROM snapshot_gate WHERE id = 1 "+tx.Dialect().ForShare)
}

// horizon waits for those who are inserting values and returns the last seq:
// whatever comes later has a larger one.
func (s *Snapshots) horizon(ctx context.Context) (last int64, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		err := Query(ctx, tx, func(*sql.Rows) error { return nil }, tx.Dialect().Overtake("snapshot_gate"))
		if err != nil {
			return err
		}
		return Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&last) }, "SELECT COALESCE(MAX(seq), 0) FROM snapshot_value")
	})
	return last, err
}

var (
	// insertValue leaves a value that is in the history already as it is.
	insertValue = &Insert{
		Head:   "INSERT INTO snapshot_value (identity, source, entity_key, version, hash, stored_at, listed, body)",
		Upsert: Upsert{Key: "identity, version, hash"},
	}
	// restoreValue also puts back a present value that was forgotten.
	restoreValue = &Insert{Head: insertValue.Head, Upsert: Upsert{Key: "identity, version, hash", Set: "listed = 1"}}
)

// insertValues inserts values of entities whose rows are locked. Those of one
// entity stay in order.
func insertValues(ctx context.Context, tx *Tx, insert *Insert, values []valueRow) error {
	rows := make([]Row, len(values))
	for i, v := range values {
		r := &rows[i]
		r.Key = string(v.identity[:])
		r.Grow(192, 3)
		r.Write("(").Hash(v.identity).Write(",").Blob([]byte(v.Source)).Write(",").Blob([]byte(v.Key)).Write(",").Int(v.Version).Write(",")
		writeHash(&r.Statement, v.Hash).Write(",").Int(v.At).Write(",1,").Blob(v.Packed).Write(")")
	}
	_, err := insert.Run(ctx, tx, rows)
	return err
}

const valuesSQL = `SELECT seq, stored_at, source, entity_key, version, hash, body FROM snapshot_value /*! FORCE INDEX (snapshot_value_listed) */
	WHERE listed = 1 AND stored_at >= ? AND stored_at < ? AND (stored_at > ? OR seq > ?) AND seq <= ? ORDER BY stored_at, seq LIMIT ?`

// Values implements refresh.History. The present values are among them. A
// listing that begins with "" is about what was stored by then: what is stored
// meanwhile is found by the next.
func (s *Snapshots) Values(ctx context.Context, before time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	var from refresh.HistoryCursor
	if after != "" {
		from, err = refresh.ParseHistoryCursor(after)
	} else {
		var last int64
		last, err = s.horizon(ctx)
		from = refresh.BeginHistory(last)
	}
	if err != nil {
		return nil, "", err
	}
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var v refresh.Value
		var hash []byte
		if err := r.Scan(&from.Seq, &from.At, &v.Source, &v.Key, &v.Version, &hash, &v.Body); err != nil {
			return err
		}
		v.StoredAt = Time(from.At)
		copy(v.Hash[:], hash)
		values = append(values, v)
		return nil
	}, valuesSQL, from.At, Micros(before), from.At, from.Seq, from.UpTo, max(0, limit))
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
const pastSQL = `SELECT v.seq, v.stored_at, v.version, v.hash, v.body FROM (SELECT seq AS place FROM snapshot_value /*! FORCE INDEX (snapshot_value_identity) */
		WHERE identity = ? AND (stored_at < ? OR stored_at = ? AND seq < ?) ORDER BY stored_at DESC, seq DESC LIMIT ?) p
	JOIN snapshot_value v ON v.seq = p.place ORDER BY v.stored_at DESC, v.seq DESC`

// PastValues implements refresh.Past.
func (s *Snapshots) PastValues(ctx context.Context, q refresh.PastQuery) (values []refresh.PastValue, err error) {
	from, identity := q.From(), entityIdentity(q.Entity)
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		v := refresh.PastValue{Value: refresh.Value{Entity: q.Entity}}
		var at int64
		var hash, packed sql.RawBytes
		if err := r.Scan(&v.Seq, &at, &v.Version, &hash, &packed); err != nil {
			return err
		}
		v.StoredAt = Time(at)
		copy(v.Hash[:], hash)
		var err error
		v.Body, err = s.packer.Unpack(packed)
		values = append(values, v)
		return err
	}, pastSQL, identity[:], from.At, from.At, from.Seq, max(0, q.Limit))
	return values, err
}

// listedValue is a value that is to be forgotten.
type listedValue struct {
	seq      int64
	identity Hash
	refresh.ValueID
}

const forgottenSQL = `SELECT seq, identity, version, hash FROM snapshot_value /*! FORCE INDEX (snapshot_value_listed) */
	WHERE listed = 1 AND stored_at <= ? AND (stored_at < ? OR seq <= ?) AND seq <= ?`

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
	err = s.db.Tx(ctx, func(tx *Tx) error {
		removed = 0
		var values []listedValue
		err := Query(ctx, tx, func(r *sql.Rows) error {
			var v listedValue
			var identity, hash sql.RawBytes
			if err := r.Scan(&v.seq, &identity, &v.Version, &hash); err != nil {
				return err
			}
			copy(v.identity[:], identity)
			copy(v.Hash[:], hash)
			values = append(values, v)
			return nil
		}, forgottenSQL, to.At, to.At, to.Seq, to.UpTo)
		if err != nil {
			return err
		}
		removed, err = forgetValues(ctx, tx, values)
		return err
	})
	return removed, err
}

// forgetValues removes values, or takes them out of the history if they are present.
// The rows of their entities are locked first, so that none becomes or ceases
// to be the present one meanwhile.
func forgetValues(ctx context.Context, tx *Tx, values []listedValue) (removed int, err error) {
	identities := make([]Hash, len(values))
	for i := range values {
		identities[i] = values[i].identity
	}
	slices.SortFunc(identities, compareHashes)
	rows, err := lockEntities(ctx, tx, slices.Compact(identities))
	if err != nil {
		return 0, err
	}
	var present, past []int64
	for _, v := range values {
		if t := rows[v.identity]; t != nil && v.ValueID == t.ValueID {
			present = append(present, v.seq)
		} else {
			past = append(past, v.seq)
		}
	}
	for _, step := range []struct {
		sql  string
		seqs []int64
	}{
		{"UPDATE snapshot_value /*! FORCE INDEX (PRIMARY) */ SET listed = 0 WHERE listed = 1 AND seq IN (", present},
		{"DELETE /*! snapshot_value */ FROM snapshot_value /*! FORCE INDEX (PRIMARY) */ WHERE listed = 1 AND seq IN (", past},
	} {
		slices.Sort(step.seqs)
		for part := range slices.Chunk(step.seqs, maxIdentities) {
			var s Statement
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
func (s *Snapshots) Restore(ctx context.Context, values []refresh.Value) error {
	results := make([]valueRow, len(values))
	entities := make(map[Hash]refresh.Entity, len(values))
	for i := range values {
		v := &values[i]
		if err := v.Check(); err != nil {
			return err
		}
		results[i] = valueRow{entityIdentity(v.Entity), &refresh.Result{
			Entity: v.Entity, Version: v.Version, At: Micros(v.StoredAt), Hash: v.Hash, Packed: s.packer.Pack(v.Body),
		}}
		entities[results[i].identity] = v.Entity
	}
	if len(results) == 0 {
		return nil
	}
	return s.change(ctx, entities, func(tx *Tx, _ map[Hash]*entityRow) error {
		if err := holdGate(ctx, tx); err != nil {
			return err
		}
		return insertValues(ctx, tx, restoreValue, results)
	})
}
