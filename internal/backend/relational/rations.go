package relational

import (
	"context"
	"database/sql"

	"sluice/internal/ration/keeper"
)

// Rations implements keeper.Store: what may have been drawn on rations.
type Rations struct{ db *DB }

var _ keeper.Store = (*Rations)(nil)

// NewRations returns a store on an open database.
func NewRations(db *DB) *Rations { return &Rations{db} }

// Load implements keeper.Store.
func (s *Rations) Load(ctx context.Context, group string) (all []keeper.Stored, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		one := keeper.Stored{Group: group}
		var end, until int64
		err := r.Scan(&one.Count, &one.Limit, &one.Refill, &one.Spent, &one.Late, &end, &until, &one.Seq, &one.Low)
		one.End, one.Until = Time(end), Time(until)
		all = append(all, one)
		return err
	}, "SELECT count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low FROM ration_count WHERE group_name = ?", group)
	return all, err
}

var insertRation = &Insert{
	Head: "INSERT INTO ration_count (identity, group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low)",
	Upsert: Upsert{Key: "identity", Set: NewerWins("ration_count", "seq",
		"told_limit", "told_refill", "spent", "late", "ends_at", "until_at", "low")},
}

// Save implements keeper.Store.
func (s *Rations) Save(ctx context.Context, all []keeper.Stored) error {
	rows := make([]Row, 0, len(all))
	for i := range all {
		rows = append(rows, rationRow(&all[i]))
	}
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := insertRation.Run(ctx, tx, rows)
		return err
	})
}

func rationRow(one *keeper.Stored) Row {
	var row Row
	// Rows that were moved here from the table of windows kept their identity.
	identity := HashOf("ration "+one.Group, one.Count)
	row.Write("(").Hash(identity).Write(",").Text(one.Group).Write(",").Text(one.Count).Write(",")
	row.Ints(one.Limit, one.Refill, one.Spent, one.Late, Micros(one.End), Micros(one.Until), int64(one.Seq), one.Low)
	row.Write(")")
	row.Key = sortKey(0, identity)
	return row
}

// Groups implements keeper.Store.
func (s *Rations) Groups(ctx context.Context) (names []string, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		names = append(names, name)
		return err
	}, "SELECT DISTINCT group_name FROM ration_count")
	return names, err
}
