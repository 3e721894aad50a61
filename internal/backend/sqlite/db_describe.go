package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/fleet"
)

// Backend implements fleet.Teller.
func (db *DB) Backend(ctx context.Context) (fleet.Backend, error) {
	b := fleet.Backend{Kind: "SQLite", Address: db.path}
	var free, page float64
	err := db.Read(ctx, func(c *driver.Conn) error {
		err := Exec(c, "SELECT sqlite_version()", func(r *driver.Stmt) { b.Version = r.ColumnText(0) })
		if err == nil {
			err = Exec(c, "PRAGMA freelist_count", func(r *driver.Stmt) { free = r.ColumnFloat(0) })
		}
		if err == nil {
			err = Exec(c, "PRAGMA page_size", func(r *driver.Stmt) { page = r.ColumnFloat(0) })
		}
		return err
	})
	if err != nil {
		return b, err
	}
	b.Figures = []fleet.Figure{
		{Name: "size", Value: float64(sizeOf(db.path)), Unit: fleet.Bytes}, {Name: "free in it", Value: free * page, Unit: fleet.Bytes},
		{Name: "write-ahead log", Value: float64(max(sizeOf(db.path+"-wal"), 0)), Unit: fleet.Bytes},
		{Name: "transactions of this process", Value: float64(db.Transactions())}, {Name: "reads of this process", Value: float64(db.Reads())},
	}
	return b, nil
}
