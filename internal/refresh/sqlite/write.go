package sqlite

import (
	"cmp"
	"slices"

	"zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
	"sluice/internal/sqlitedb"
)

const (
	touchHead = "UPDATE snapshot SET seen_version = c.column3, checked_at = c.column4, due_at = c.column5 FROM ("
	touchTail = ") AS c WHERE snapshot.source = c.column1 AND snapshot.key = c.column2"
)

// touchSnapshots is an UPDATE of many rows, each with its own values.
var touchSnapshots = sqlitedb.NewInsert(touchHead, touchTail, 5)

var storeSnapshots = sqlitedb.NewInsert("INSERT INTO snapshot (source, key, seen_version, version, hash, checked_at, updated_at, tier, due_at, bytes)",
	`ON CONFLICT DO UPDATE SET seen_version = excluded.seen_version, version = excluded.version, hash = excluded.hash,
		checked_at = excluded.checked_at, updated_at = excluded.updated_at, due_at = excluded.due_at, bytes = excluded.bytes`, 10)

// insertValues leaves a value that is in the history already as it is.
var insertValues = sqlitedb.NewInsert("INSERT INTO snapshot_value (source, key, version, hash, stored_at, listed, body)", "ON CONFLICT DO NOTHING", 7)

func bindValue(stmt *sqlite.Stmt, base int, r *result) {
	stmt.BindText(base, r.Source)
	stmt.BindText(base+1, r.Key)
	stmt.BindInt64(base+2, r.version)
	stmt.BindBytes(base+3, r.hash[:])
	stmt.BindInt64(base+4, r.at)
	stmt.BindInt64(base+5, 1)
	sqlitedb.BindBlob(stmt, base+6, r.packed)
}

// changed is an entity whose state has to be written.
type changed struct {
	refresh.Entity
	*state
}

// writeStates stores what became of entities, and values in their order.
func writeStates(c *sqlite.Conn, states map[refresh.Entity]*state, values []*result) error {
	var touched, stored []changed
	for e, st := range states {
		switch {
		case st.stored:
			stored = append(stored, changed{e, st})
		case st.touched:
			touched = append(touched, changed{e, st})
		}
	}
	// Neighbours are written together.
	for _, list := range [][]changed{touched, stored} {
		slices.SortFunc(list, func(a, b changed) int { return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Key, b.Key)) })
	}
	err := touchSnapshots.Run(c, len(touched), func(stmt *sqlite.Stmt, base, i int) {
		t := touched[i]
		stmt.BindText(base, t.Source)
		stmt.BindText(base+1, t.Key)
		stmt.BindInt64(base+2, t.seen)
		stmt.BindInt64(base+3, t.checked)
		stmt.BindInt64(base+4, t.due)
	}, nil)
	if err == nil {
		err = insertValues.Run(c, len(values), func(stmt *sqlite.Stmt, base, i int) { bindValue(stmt, base, values[i]) }, nil)
	}
	if err == nil {
		err = writeStored(c, stored)
	}
	if err == nil {
		err = endStatuses(c, touched, stored)
	}
	return err
}

func writeStored(c *sqlite.Conn, stored []changed) error {
	err := storeSnapshots.Run(c, len(stored), func(stmt *sqlite.Stmt, base, i int) {
		t := stored[i]
		stmt.BindText(base, t.Source)
		stmt.BindText(base+1, t.Key)
		stmt.BindInt64(base+2, t.seen)
		stmt.BindInt64(base+3, t.version)
		stmt.BindBytes(base+4, t.hash[:])
		stmt.BindInt64(base+5, t.checked)
		stmt.BindInt64(base+6, t.updated)
		stmt.BindInt64(base+7, int64(t.tier))
		stmt.BindInt64(base+8, t.due)
		stmt.BindInt64(base+9, t.bytes)
	}, nil)
	if err != nil {
		return err
	}
	for _, t := range stored {
		if t.replaced == nil || *t.replaced == (value{t.version, t.hash}) {
			continue
		}
		// One that is archived already was kept for the snapshot alone.
		err := sqlitedb.Exec(c, "DELETE FROM snapshot_value WHERE source = ? AND key = ? AND version = ? AND hash = ? AND listed = 0", nil,
			t.Source, t.Key, t.replaced.version, t.replaced.hash[:])
		if err != nil {
			return err
		}
	}
	return nil
}

// endStatuses removes what was wrong with entities that were refreshed.
func endStatuses(c *sqlite.Conn, groups ...[]changed) error {
	some := false
	if err := sqlitedb.Exec(c, "SELECT EXISTS (SELECT 1 FROM snapshot_status)", func(r *sqlite.Stmt) { some = r.ColumnBool(0) }); err != nil || !some {
		return err
	}
	for _, group := range groups {
		for _, t := range group {
			if err := sqlitedb.Exec(c, "DELETE FROM snapshot_status WHERE source = ? AND key = ?", nil, t.Source, t.Key); err != nil {
				return err
			}
		}
	}
	return nil
}
