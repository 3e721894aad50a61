package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/ration/keeper"
)

// Rations implements keeper.Store: what may have been drawn on rations.
type Rations struct{ db *DB }

var _ keeper.Store = (*Rations)(nil)

// NewRations returns a store on an open database.
func NewRations(db *DB) *Rations { return &Rations{db} }

// Load implements keeper.Store.
func (s *Rations) Load(ctx context.Context, group string) (all []keeper.Stored, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low FROM ration_count WHERE group_name = ?",
			func(r *driver.Stmt) {
				all = append(all, keeper.Stored{
					Group: group, Count: r.ColumnText(0), Limit: r.ColumnInt64(1), Refill: r.ColumnInt64(2), Spent: r.ColumnInt64(3),
					Late: r.ColumnInt64(4), End: fromMicros(r.ColumnInt64(5)), Until: fromMicros(r.ColumnInt64(6)), Seq: uint64(r.ColumnInt64(7)),
					Low: r.ColumnInt64(8),
				})
			}, group)
	})
	return all, err
}

// Save implements keeper.Store.
func (s *Rations) Save(ctx context.Context, all []keeper.Stored) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for _, one := range all {
			err := Exec(c, `INSERT INTO ration_count (group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (group_name, count_name) DO UPDATE SET told_limit = excluded.told_limit, told_refill = excluded.told_refill, spent = excluded.spent, late = excluded.late,
				ends_at = excluded.ends_at, until_at = excluded.until_at, low = excluded.low, seq = excluded.seq WHERE excluded.seq >= ration_count.seq`, nil,
				one.Group, one.Count, one.Limit, one.Refill, one.Spent, one.Late, one.End, one.Until, int64(one.Seq), one.Low)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Groups implements keeper.Store.
func (s *Rations) Groups(ctx context.Context) (names []string, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT DISTINCT group_name FROM ration_count", func(r *driver.Stmt) { names = append(names, r.ColumnText(0)) })
	})
	return names, err
}
