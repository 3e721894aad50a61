package mysql

import (
	"context"
	"database/sql"
	"encoding/hex"
	"maps"
	"slices"

	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
)

// row is what is stored of an entity beside its value's body.
type row struct {
	identity                                     mysqldb.Hash
	seen, version, checked, updated, read, bytes int64
	hash                                         refresh.Hash
	tier                                         refresh.Tier
	// due is NULL without a value.
	due      sql.NullInt64
	troubled bool
	// changed is whether it has to be written back.
	changed bool
}

const rowColumns = "identity, seen_version, version, hash, checked_at, updated_at, read_at, tier, due_at, bytes, troubled"

func scanRow(r *sql.Rows, more ...any) (*row, error) {
	var t row
	var identity, hash sql.RawBytes
	into := []any{&identity, &t.seen, &t.version, &hash, &t.checked, &t.updated, &t.read, &t.tier, &t.due, &t.bytes, &t.troubled}
	if err := r.Scan(append(into, more...)...); err != nil {
		return nil, err
	}
	copy(t.identity[:], identity)
	copy(t.hash[:], hash)
	return &t, nil
}

// writeIdentities adds identities with commas in between.
func writeIdentities(s *mysqldb.Statement, identities []mysqldb.Hash) *mysqldb.Statement {
	for i, identity := range identities {
		if i > 0 {
			s.Write(",")
		}
		s.Hash(identity)
	}
	return s
}

func compareHashes(a, b mysqldb.Hash) int { return slices.Compare(a[:], b[:]) }

// ascending returns the identities of entities in the order in which their
// rows are locked.
func ascending(entities map[mysqldb.Hash]refresh.Entity) []mysqldb.Hash {
	return slices.SortedFunc(maps.Keys(entities), compareHashes)
}

// lockRows locks those rows that there are. The identities ascend.
func lockRows(ctx context.Context, tx *sql.Tx, identities []mysqldb.Hash) (map[mysqldb.Hash]*row, error) {
	rows := make(map[mysqldb.Hash]*row, len(identities))
	for part := range slices.Chunk(identities, maxIdentities) {
		var lock mysqldb.Statement
		lock.Grow(200+len(part)*36, 0)
		// The index is named so that no look at a small table locks all of it.
		lock.Write("SELECT " + rowColumns + " FROM snapshot FORCE INDEX (PRIMARY) WHERE identity IN (")
		err := writeIdentities(&lock, part).Write(") ORDER BY identity FOR UPDATE").Query(ctx, tx, func(r *sql.Rows) error {
			t, err := scanRow(r)
			if err == nil {
				rows[t.identity] = t
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

var insertRow = &mysqldb.Insert{Head: "INSERT INTO snapshot (identity, source, entity_key)", Tail: "ON DUPLICATE KEY UPDATE identity = identity"}

// change locks the rows of entities, has them changed, and writes them back. An
// entity without a row gets one in a transaction before: to insert it in
// between would lock rows in two orders.
func (s *Store) change(ctx context.Context, entities map[mysqldb.Hash]refresh.Entity, fn func(*sql.Tx, map[mysqldb.Hash]*row) error) error {
	identities := ascending(entities)
	for {
		var missing []mysqldb.Row
		err := s.db.Tx(ctx, func(tx *sql.Tx) error {
			missing = nil
			rows, err := lockRows(ctx, tx, identities)
			if err != nil {
				return err
			}
			if len(rows) < len(identities) {
				missing = missingRows(entities, rows)
				return nil
			}
			if err := fn(tx, rows); err != nil {
				return err
			}
			return writeBack(ctx, tx, rows)
		})
		if err != nil || len(missing) == 0 {
			return err
		}
		err = s.db.Tx(ctx, func(tx *sql.Tx) error {
			_, err := insertRow.Run(ctx, tx, missing)
			return err
		})
		if err != nil {
			return err
		}
	}
}

func missingRows(entities map[mysqldb.Hash]refresh.Entity, there map[mysqldb.Hash]*row) (missing []mysqldb.Row) {
	for identity, e := range entities {
		if there[identity] != nil {
			continue
		}
		r := mysqldb.Row{Key: string(identity[:])}
		r.Write("(").Hash(identity).Write(",").Blob([]byte(e.Source)).Write(",").Blob([]byte(e.Key)).Write(")")
		missing = append(missing, r)
	}
	return missing
}

// updateRow changes rows that are there, each in its own way, with one
// statement. They are locked, so that none of them can be missing by now.
var updateRow = &mysqldb.Insert{
	Head: "INSERT INTO snapshot (" + rowColumns + ")",
	Tail: `ON DUPLICATE KEY UPDATE seen_version = VALUES(seen_version), version = VALUES(version), hash = VALUES(hash),
		checked_at = VALUES(checked_at), updated_at = VALUES(updated_at), read_at = VALUES(read_at), tier = VALUES(tier),
		due_at = VALUES(due_at), bytes = VALUES(bytes), troubled = VALUES(troubled)`,
}

// touchRow is updateRow for those whose value stayed the same.
var touchRow = &mysqldb.Insert{
	Head: "INSERT INTO snapshot (identity, seen_version, checked_at, due_at)",
	Tail: "ON DUPLICATE KEY UPDATE seen_version = VALUES(seen_version), checked_at = VALUES(checked_at), due_at = VALUES(due_at)",
}

func writeHash(s *mysqldb.Statement, hash refresh.Hash) *mysqldb.Statement {
	return s.Write("X'").Write(hex.EncodeToString(hash[:])).Write("'")
}

// writeBack stores what became of rows that are locked.
func writeBack(ctx context.Context, tx *sql.Tx, rows map[mysqldb.Hash]*row) error {
	var changed []mysqldb.Row
	for _, t := range rows {
		if !t.changed {
			continue
		}
		r := mysqldb.Row{Key: string(t.identity[:])}
		r.Grow(256, 0)
		r.Write("(").Hash(t.identity).Write(",").Ints(t.seen, t.version).Write(",")
		writeHash(&r.Statement, t.hash).Write(",").Ints(t.checked, t.updated, t.read, int64(t.tier)).Write(",")
		if t.due.Valid {
			r.Int(t.due.Int64)
		} else {
			r.Write("NULL")
		}
		troubled := int64(0)
		if t.troubled {
			troubled = 1
		}
		r.Write(",").Ints(t.bytes, troubled).Write(")")
		changed = append(changed, r)
	}
	_, err := updateRow.Run(ctx, tx, changed)
	return err
}

// writeTouched is writeBack for rows whose value stayed the same.
func writeTouched(ctx context.Context, tx *sql.Tx, rows []*row) error {
	touched := make([]mysqldb.Row, len(rows))
	for i, t := range rows {
		r := &touched[i]
		r.Key = string(t.identity[:])
		r.Grow(96, 0)
		r.Write("(").Hash(t.identity).Write(",").Ints(t.seen, t.checked, t.due.Int64).Write(")")
	}
	_, err := touchRow.Run(ctx, tx, touched)
	return err
}
