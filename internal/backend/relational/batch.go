package relational

import (
	"context"

	"sluice/internal/domain"
)

// maxBatch bounds how long a batch may be on the wire: one that is too long for
// a packet could not be sent as it is. The smallest packet that servers are
// set to by default holds it.
const maxBatch = 1 << 20

// Batch runs several statements in one trip to the server, none of which may
// return rows. The first that fails ends the batch. Together they must be short
// (see Fits): what is too long cannot be sent as it is. It returns how many rows
// each of them has changed.
func Batch(ctx context.Context, tx *Tx, statements ...*Statement) (changed []int64, err error) {
	var all Statement
	for i, s := range statements {
		if i > 0 {
			all.Write("; ")
		}
		all.Append(s)
	}
	if len(all.args) > 0 && all.Len() > maxBatch {
		return nil, domain.Errorf(domain.CodeInternal, "a batch of statements with texts is too long: %d bytes", all.Len())
	}
	var told Counts
	if _, err := tx.ExecContext(ctx, string(all.sql), append(all.args[:len(all.args):len(all.args)], &told)...); err != nil {
		return nil, err
	}
	if len(told.Rows) != len(statements) {
		return nil, domain.Errorf(domain.CodeInternal, "%d statements have %d answers", len(statements), len(told.Rows))
	}
	return told.Rows, nil
}

// Fits reports whether statements are short enough for a batch.
func Fits(statements ...*Statement) bool {
	length := 0
	for _, s := range statements {
		length += s.Len()
	}
	return length <= maxBatch/2
}
