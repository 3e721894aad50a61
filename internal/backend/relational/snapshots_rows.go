package relational

import (
	"context"
	"database/sql"
	"encoding/hex"
	"maps"
	"slices"

	"sluice/internal/refresh"
)

// entityRow is what is stored of an entity beside its value's body. Without a
// value it is not due.
type entityRow struct {
	identity Hash
	refresh.Known
	troubled bool
	// request is the version of the request that is kept, 0 if none is.
	request int64
	// changed is whether it has to be written back.
	changed bool
}

const entityColumns = "identity, seen_version, version, hash, checked_at, updated_at, read_at, tier, due_at, bytes, troubled"

func scanEntity(r *sql.Rows, more ...any) (*entityRow, error) {
	var t entityRow
	var identity, hash sql.RawBytes
	var due sql.NullInt64
	into := []any{&identity, &t.Seen, &t.Version, &hash, &t.Checked, &t.Updated, &t.Read, &t.Tier, &due, &t.Bytes, &t.troubled}
	if err := r.Scan(append(into, more...)...); err != nil {
		return nil, err
	}
	copy(t.identity[:], identity)
	copy(t.Hash[:], hash)
	t.Due = due.Int64
	return &t, nil
}

// writeIdentities adds identities with commas in between.
func writeIdentities(s *Statement, identities []Hash) *Statement {
	for i, identity := range identities {
		if i > 0 {
			s.Write(",")
		}
		s.Hash(identity)
	}
	return s
}

func compareHashes(a, b Hash) int { return slices.Compare(a[:], b[:]) }

// ascendingIdentities returns the identities of entities in the order in which their
// rows are locked.
func ascendingIdentities(entities map[Hash]refresh.Entity) []Hash {
	return slices.SortedFunc(maps.Keys(entities), compareHashes)
}

// lockEntitiesSQL also reads the requests of the entities, so that saving ends them
// without looking for them. They are not locked: not every server can lock what
// need not be there.
const lockEntitiesSQL = `SELECT s.identity, s.seen_version, s.version, s.hash, s.checked_at, s.updated_at, s.read_at, s.tier, s.due_at, s.bytes, s.troubled,
	(SELECT q.version FROM refresh_request q WHERE q.identity = s.identity) FROM snapshot s /*! FORCE INDEX (PRIMARY) */ WHERE s.identity IN (`

// lockEntities locks those rows that there are. The identities ascend.
func lockEntities(ctx context.Context, tx *Tx, identities []Hash) (map[Hash]*entityRow, error) {
	rows := make(map[Hash]*entityRow, len(identities))
	for part := range slices.Chunk(identities, maxIdentities) {
		var lock Statement
		lock.Grow(200+len(part)*36, 0)
		// The index is named so that no look at a small table locks all of it.
		lock.Write(lockEntitiesSQL)
		err := writeIdentities(&lock, part).Write(") ORDER BY s.identity FOR UPDATE").Query(ctx, tx, func(r *sql.Rows) error {
			var request sql.NullInt64
			t, err := scanEntity(r, &request)
			if err == nil {
				t.request = request.Int64
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

var insertEntity = &Insert{Head: "INSERT INTO snapshot (identity, source, entity_key)", Upsert: Upsert{Key: "identity"}}

// change locks the rows of entities, has them changed, and writes them back. An
// entity without a row gets one in a transaction before: to insert it in
// between would lock rows in two orders.
func (s *Snapshots) change(ctx context.Context, entities map[Hash]refresh.Entity, fn func(*Tx, map[Hash]*entityRow) error) error {
	identities := ascendingIdentities(entities)
	for {
		var missing []Row
		err := s.db.Tx(ctx, func(tx *Tx) error {
			missing = nil
			rows, err := lockEntities(ctx, tx, identities)
			if err != nil {
				return err
			}
			if len(rows) < len(identities) {
				missing = missingEntities(entities, rows)
				return nil
			}
			if err := fn(tx, rows); err != nil {
				return err
			}
			return writeEntities(ctx, tx, rows)
		})
		if err != nil || len(missing) == 0 {
			return err
		}
		err = s.db.Tx(ctx, func(tx *Tx) error {
			_, err := insertEntity.Run(ctx, tx, missing)
			return err
		})
		if err != nil {
			return err
		}
	}
}

func missingEntities(entities map[Hash]refresh.Entity, there map[Hash]*entityRow) (missing []Row) {
	for identity, e := range entities {
		if there[identity] != nil {
			continue
		}
		r := Row{Key: string(identity[:])}
		r.Write("(").Hash(identity).Write(",").Blob([]byte(e.Source)).Write(",").Blob([]byte(e.Key)).Write(")")
		missing = append(missing, r)
	}
	return missing
}

// updateEntity changes rows that are there, each in its own way, with one
// statement. They are locked, so that none of them can be missing by now.
var updateEntity = &Insert{
	Head: "INSERT INTO snapshot (" + entityColumns + ")",
	Upsert: Upsert{Key: "identity", Set: Overwrite("seen_version", "version", "hash", "checked_at", "updated_at",
		"read_at", "tier", "due_at", "bytes", "troubled")},
}

// touchEntity is updateEntity for those whose value stayed the same.
var touchEntity = &Insert{
	Head:   "INSERT INTO snapshot (identity, seen_version, checked_at, due_at)",
	Upsert: Upsert{Key: "identity", Set: Overwrite("seen_version", "checked_at", "due_at")},
}

func writeHash(s *Statement, hash refresh.Hash) *Statement {
	return s.Write("X'").Write(hex.EncodeToString(hash[:])).Write("'")
}

// writeEntities stores what became of rows that are locked.
func writeEntities(ctx context.Context, tx *Tx, rows map[Hash]*entityRow) error {
	var changed []Row
	for _, t := range rows {
		if !t.changed {
			continue
		}
		r := Row{Key: string(t.identity[:])}
		r.Grow(256, 0)
		r.Write("(").Hash(t.identity).Write(",").Ints(t.Seen, t.Version).Write(",")
		writeHash(&r.Statement, t.Hash).Write(",").Ints(t.Checked, t.Updated, t.Read, int64(t.Tier)).Write(",")
		if t.Version > 0 {
			r.Int(t.Due)
		} else {
			r.Write("NULL")
		}
		troubled := int64(0)
		if t.troubled {
			troubled = 1
		}
		r.Write(",").Ints(t.Bytes, troubled).Write(")")
		changed = append(changed, r)
	}
	_, err := updateEntity.Run(ctx, tx, changed)
	return err
}

// writeTouched is writeEntities for rows whose value stayed the same.
func writeTouched(ctx context.Context, tx *Tx, rows []*entityRow) error {
	touched := make([]Row, len(rows))
	for i, t := range rows {
		r := &touched[i]
		r.Key = string(t.identity[:])
		r.Grow(96, 0)
		r.Write("(").Hash(t.identity).Write(",").Ints(t.Seen, t.Checked, t.Due).Write(")")
	}
	_, err := touchEntity.Run(ctx, tx, touched)
	return err
}
