package mysqldb

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
)

// Changed is what a statement of a batch did: how many rows it changed, and
// the last insert id it told.
type Changed struct{ Rows, InsertID int64 }

// counts takes the driver's answer to a batch.
type counts struct{ rows, ids []int64 }

// Batch runs several statements in one trip to the server, none of which may
// return rows. The first that fails ends the batch. They must be made of
// numbers alone: with texts they might become too long to be sent as they are.
func Batch(ctx context.Context, tx *sql.Tx, statements ...*Statement) ([]Changed, error) {
	var all Statement
	for i, s := range statements {
		if i > 0 {
			all.Write("; ")
		}
		all.Append(s)
	}
	if len(all.args) > 0 {
		return nil, domain.Errorf(domain.CodeInternal, "texts cannot be part of a batch of statements")
	}
	var told counts
	if _, err := tx.ExecContext(ctx, string(all.sql), &told); err != nil {
		return nil, err
	}
	if len(told.rows) != len(statements) || len(told.ids) != len(statements) {
		return nil, domain.Errorf(domain.CodeInternal, "%d statements have %d answers", len(statements), len(told.rows))
	}
	out := make([]Changed, len(statements))
	for i := range out {
		out[i] = Changed{told.rows[i], told.ids[i]}
	}
	return out, nil
}
