package sqlite

import (
	"cmp"
	"slices"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

const (
	touchHead = "UPDATE snapshot SET seen_version = c.column3, checked_at = c.column4, due_at = c.column5 FROM ("
	touchTail = ") AS c WHERE snapshot.source = c.column1 AND snapshot.key = c.column2"
)

// touchSnapshots is an UPDATE of many rows, each with its own values.
var touchSnapshots = NewInsert(touchHead, touchTail, 5)

var storeSnapshots = NewInsert("INSERT INTO snapshot (source, key, seen_version, version, hash, checked_at, updated_at, tier, due_at, bytes)",
	`ON CONFLICT DO UPDATE SET seen_version = excluded.seen_version, version = excluded.version, hash = excluded.hash,
		checked_at = excluded.checked_at, updated_at = excluded.updated_at, due_at = excluded.due_at, bytes = excluded.bytes`, 10)

// insertValues leaves a value that is in the history already as it is.
var insertValues = NewInsert("INSERT INTO snapshot_value (source, key, version, hash, stored_at, listed, body)", "ON CONFLICT DO NOTHING", 7)

func bindValue(stmt *driver.Stmt, base int, r *refresh.Result) {
	stmt.BindText(base, r.Source)
	stmt.BindText(base+1, r.Key)
	stmt.BindInt64(base+2, r.Version)
	stmt.BindBytes(base+3, r.Hash[:])
	stmt.BindInt64(base+4, r.At)
	stmt.BindInt64(base+5, 1)
	bindBlob(stmt, base+6, r.Packed)
}

// changedSnapshot is an entity whose state has to be written.
type changedSnapshot struct {
	refresh.Entity
	*snapshotState
}

// writeStates stores what became of entities, and values in their order.
func writeStates(c *driver.Conn, states map[refresh.Entity]*snapshotState, values []*refresh.Result) error {
	var touched, stored []changedSnapshot
	for e, st := range states {
		switch {
		case st.stored:
			stored = append(stored, changedSnapshot{e, st})
		case st.touched:
			touched = append(touched, changedSnapshot{e, st})
		}
	}
	// Neighbours are written together.
	for _, list := range [][]changedSnapshot{touched, stored} {
		slices.SortFunc(list, func(a, b changedSnapshot) int {
			return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Key, b.Key))
		})
	}
	err := touchSnapshots.Run(c, len(touched), func(stmt *driver.Stmt, base, i int) {
		t := touched[i]
		stmt.BindText(base, t.Source)
		stmt.BindText(base+1, t.Key)
		stmt.BindInt64(base+2, t.Seen)
		stmt.BindInt64(base+3, t.Checked)
		stmt.BindInt64(base+4, t.Due)
	}, nil)
	if err == nil {
		err = insertValues.Run(c, len(values), func(stmt *driver.Stmt, base, i int) { bindValue(stmt, base, values[i]) }, nil)
	}
	if err == nil {
		err = writeStored(c, stored)
	}
	if err == nil {
		err = endStatuses(c, touched, stored)
	}
	if err == nil {
		err = endRequests(c, touched, stored)
	}
	return err
}

func writeStored(c *driver.Conn, stored []changedSnapshot) error {
	err := storeSnapshots.Run(c, len(stored), func(stmt *driver.Stmt, base, i int) {
		t := stored[i]
		stmt.BindText(base, t.Source)
		stmt.BindText(base+1, t.Key)
		stmt.BindInt64(base+2, t.Seen)
		stmt.BindInt64(base+3, t.Version)
		stmt.BindBytes(base+4, t.Hash[:])
		stmt.BindInt64(base+5, t.Checked)
		stmt.BindInt64(base+6, t.Updated)
		stmt.BindInt64(base+7, int64(t.Tier))
		stmt.BindInt64(base+8, t.Due)
		stmt.BindInt64(base+9, t.Bytes)
	}, nil)
	if err != nil {
		return err
	}
	for _, t := range stored {
		if t.replaced.Version == 0 || t.replaced == t.ValueID {
			continue
		}
		// One that is archived already was kept for the snapshot alone.
		err := Exec(c, "DELETE FROM snapshot_value WHERE source = ? AND key = ? AND version = ? AND hash = ? AND listed = 0", nil,
			t.Source, t.Key, t.replaced.Version, t.replaced.Hash[:])
		if err != nil {
			return err
		}
	}
	return nil
}

// endStatuses removes what was wrong with entities that were refreshed.
func endStatuses(c *driver.Conn, groups ...[]changedSnapshot) error {
	some := false
	if err := Exec(c, "SELECT EXISTS (SELECT 1 FROM snapshot_status)", func(r *driver.Stmt) { some = r.ColumnBool(0) }); err != nil || !some {
		return err
	}
	for _, group := range groups {
		for _, t := range group {
			if err := Exec(c, "DELETE FROM snapshot_status WHERE source = ? AND key = ?", nil, t.Source, t.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// endRequests removes the requests of entities that were refreshed.
func endRequests(c *driver.Conn, groups ...[]changedSnapshot) error {
	some := false
	if err := Exec(c, "SELECT EXISTS (SELECT 1 FROM refresh_request)", func(r *driver.Stmt) { some = r.ColumnBool(0) }); err != nil || !some {
		return err
	}
	for _, group := range groups {
		for _, t := range group {
			if err := Exec(c, settleSQL, nil, t.Source, t.Key, t.Seen); err != nil {
				return err
			}
		}
	}
	return nil
}
