// Package sink carries what was collected to where people want it, and keeps it up
// to date there: databases, Parquet files, topics, webhooks. A sink first copies
// everything (the backfill), and then follows the feed of changes. How far it is
// lies in the target, stored together with the rows, so that each row takes effect
// once, whatever dies in between.
//
// What a target shows is what `sluice export` shows: the tables and columns that
// sources declare, with what is gone flagged and kept. Rows of an account that is
// purged are removed.
//
//   - sink.go: the port to targets; package targets opens them by their URLs.
//   - runner.go: what carries, and goes on after whatever happened.
//   - backfill.go and follow.go: the two ways to a batch; rows.go makes its rows.
//   - service.go: the sinks of a process.
//   - status.go: what is told of a sink.
//   - options.go: what the URL of every target can say.
package sink

import (
	"context"

	"sluice/internal/document"
)

// Target is where rows are carried to. One process at a time writes to it, and there one
// runner, which calls these one after the other, Close last: a target needs no lock for
// what takes as long as the network does.
type Target interface {
	// Prepare connects, and makes what is missing of the tables, and of the columns of
	// those that are there. It comes first, and again after every error. If another
	// process writes to the target, that is an error of code unavailable, which says
	// who it is. What others have changed by hand so that it cannot go on is one of
	// code conflict, which names the table, the column and the fix. Where a table or a
	// column is added to a target that has rows, Backfilled and After of its progress
	// are forgotten: what was carried before lacks it.
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
	// Raw says that its rows have payloads.
	Raw bool
}

// Batch are rows that belong together, and how far the sink is with them.
type Batch struct {
	// Purged are accounts of which nothing is to stay. That comes before the rows.
	Purged []int64
	// Rows are in any order, each document once.
	Rows []Row
	// Sweep ends a backfill: rows that were stored in an earlier generation alone are
	// of documents that are not there any more, and are removed after all else.
	Sweep bool
	// Progress is also what its rows are stored with: they are of its generation.
	Progress
}

// Row is a document as a row of its table.
type Row struct {
	// Table says which of the prepared tables it is in.
	Table int
	Key   document.Key
	// Values are those of the table's columns.
	Values []document.Value
	// Raw is the upstream's own JSON; nil if the table has none, or if it is not JSON.
	Raw []byte
	// Deleted says that the upstream shows it no longer; a column says so too.
	Deleted bool
	// Removed says that the row is to go, as a sink was asked to do with what is
	// deleted. It need not be there. Its values and payload are not to be read.
	Removed bool
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
	// Generation counts the backfills that were begun.
	Generation int64
}
