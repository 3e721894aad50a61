// Package sink carries what was collected to where people want it, and keeps it up
// to date there: databases, Parquet files, topics, webhooks. A sink first copies
// everything (the backfill), and then follows the feed of changes. How far it is
// lies in the target, stored together with the rows, so that each row takes effect
// once, whatever dies in between.
//
// What a target shows is what `sluice export` shows: the tables and columns that
// sources declare, with what is gone flagged and kept. Rows of an account that is
// purged are removed.
package sink

import (
	"context"

	"sluice/internal/document"
)

// Target is where rows are carried to. One process at a time writes to it.
type Target interface {
	// Prepare makes what is missing of the tables, and of the columns of those that
	// are there. What others have changed by hand so that it cannot go on is an error
	// of code conflict, which names the table, the column and the fix.
	Prepare(ctx context.Context, tables []Table) error
	// Progress is what the last Apply stored; the zero Progress if there was none.
	Progress(ctx context.Context) (Progress, error)
	// Apply stores a batch and its progress, all or nothing. It is repeated after an
	// error, also one whose batch was stored after all, and has the same effect then.
	Apply(ctx context.Context, b *Batch) error
	Close() error
}

// Table is a table of a target: a kind that has columns.
type Table struct {
	Name    string
	Columns []document.Column
	Kind    document.Kind
}

// Batch are rows that belong together, and how far the sink is with them.
type Batch struct {
	// Purged are accounts of which nothing is to stay. That comes before the rows.
	Purged []int64
	// Rows are in any order, each document once.
	Rows []Row
	Progress
}

// Row is a document as a row of its table.
type Row struct {
	// Table says which of the prepared tables it is in.
	Table int
	Key   document.Key
	// Values are those of the table's columns.
	Values []document.Value
	// Raw is the upstream's own JSON.
	Raw []byte
	// Deleted says that the upstream shows it no longer; a column says so too.
	Deleted bool
}

// Progress is how far a sink is.
type Progress struct {
	// Feed is whose feed it follows (see document.Bounds).
	Feed string
	// Position: all changes up to it are in the target, once the backfill is done.
	Position int64
	// Backfilled says that it is. Until then After is the last document that was
	// copied, in the order of scans.
	Backfilled bool
	After      document.Key
}
