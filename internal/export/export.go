// Package export writes what was collected as JSON lines, CSV or Parquet: one
// row for each document of a kind, with the columns that its source declares, or
// for each account with statistics.
//
//   - export.go: what is exported, and from where.
//   - names.go: how people name kinds, formats and bounds.
//   - selected.go: what a list of documents selects.
//   - changed.go: what has changed since a position of the feed; keysort.go: its
//     documents, each once, in memory that does not grow.
//   - rows.go: rows of single documents, as JSON lines have them.
//   - table.go: rows of declared columns, as text, and parquet.go as Parquet; csv.go
//     and writer.go have what they share with rows of a Go type.
//   - statistics.go: the rows of statistics.
//
// Rows stream: memory grows with the number of an account's repositories, not
// with the number of rows. Their order is that of the store, by account and
// then by name, so the same data always gives the same bytes. An export that
// runs beside a collection is no snapshot of one instant, but holds no row
// twice and misses none that was there when it began.
package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/stats"
)

// Sources are what is exported from. Statistics and Ranking are only used for
// the kind statistics.
type Sources struct {
	Documents document.Reader
	// Feed and Finder are only used for what has changed since a position.
	Feed   document.Feed
	Finder document.Finder
	// Lister is only used for a selection.
	Lister document.Lister
	// Kinds are those of the documents.
	Kinds      document.Kinds
	Statistics Statistics
	Ranking    Ranking
}

// Statistics returns the stored statistics of an account; every
// state.Statistics does.
type Statistics interface {
	AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error)
}

// Ranking ranks all accounts; *stats.Computer does.
type Ranking interface {
	Leaderboard(ctx context.Context, by stats.Measure) ([]stats.Row, error)
}

// Options say what is exported and how.
type Options struct {
	Kind   Kind
	Format Format
	// Accounts are those whose rows are exported, in any order.
	Accounts []domain.Account
	// Since and Until bound when a thing was created, whatever the column of its
	// kind is called: Since inclusive, Until exclusive. Zero does not bound. A row
	// whose time is not known is exported only if there is no bound.
	Since, Until time.Time
	// Changed, if set, leaves out documents that have not changed in it.
	Changed *Span
	// Selected, if set, has what else documents must be like, and their order.
	Selected *document.Selection
}

// Check says what is wrong with the options, where such kinds are declared.
func (o Options) Check(declared document.Kinds) error {
	if _, err := ParseKind(string(o.Kind), declared); err != nil {
		return err
	}
	if _, err := ParseFormat(string(o.Format)); err != nil {
		return err
	}
	if o.Kind == KindStatistics && o.bounded() {
		return domain.Errorf(domain.CodeInvalid, "statistics cover all time: leave since and until out, or export a kind of documents")
	}
	if o.Kind == KindStatistics && o.Changed != nil {
		return domain.Errorf(domain.CodeInvalid, "changes are of documents, and not of statistics: leave changed-since out, or export a kind of documents")
	}
	if o.Selected != nil && (o.Kind == KindStatistics || o.Changed != nil) {
		return domain.Errorf(domain.CodeInvalid, "repository, author, state and label select among all documents of a kind: leave them out, or changed-since, or export a kind of documents")
	}
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Until.After(o.Since) {
		return domain.Errorf(domain.CodeInvalid, "nothing lies between since %s and until %s: until must be later",
			o.Since.Format(time.RFC3339), o.Until.Format(time.RFC3339))
	}
	return nil
}

func (o Options) bounded() bool { return !o.Since.IsZero() || !o.Until.IsZero() }

// Export writes the rows and returns how many they were. After an error, what
// was written is not whole.
func Export(ctx context.Context, src Sources, o Options, w io.Writer) (rows int64, err error) {
	if err := o.Check(src.Kinds); err != nil {
		return 0, err
	}
	o.Accounts = slices.Clone(o.Accounts)
	slices.SortFunc(o.Accounts, func(a, b domain.Account) int { return cmp.Compare(a.ID, b.ID) })
	o.Accounts = slices.CompactFunc(o.Accounts, func(a, b domain.Account) bool { return a.ID == b.ID })
	switch {
	case o.Kind == KindStatistics:
		rows, err = statistics(ctx, src, o, w)
	case o.Changed != nil:
		rows, err = changed(ctx, src, o, w, src.Kinds.Table(string(o.Kind)))
	case o.Selected != nil:
		rows, err = selected(ctx, src, o, w, src.Kinds.Table(string(o.Kind)))
	default:
		rows, err = documents(ctx, src, o, w, src.Kinds.Table(string(o.Kind)))
	}
	if err != nil {
		return rows, fmt.Errorf("export %s: %w", o.Kind, err)
	}
	return rows, nil
}

// documents exports one kind of documents.
func documents(ctx context.Context, src Sources, o Options, w io.Writer, kind *document.Declaration) (int64, error) {
	out, err := newTable(w, kind, o.Format)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	row := make([]document.Value, len(kind.Columns))
	for _, account := range o.Accounts {
		at := &document.Place{Account: account, Titles: map[int64]string{}}
		if !kind.Container {
			if err := findTitles(ctx, src, at); err != nil {
				return rows, err
			}
		}
		query := document.Query{Account: account.ID, Kind: kind.Kind, Since: o.Since, Until: o.Until}
		err := src.Documents.Scan(ctx, query, func(d *document.Document) error {
			if d.CreatedAt.IsZero() && o.bounded() {
				return nil
			}
			if err := fill(row, kind.Columns, d, at); err != nil {
				return err
			}
			rows++
			return out.write(row)
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, out.Close()
}

// fill reads the values of a document's columns.
func fill(row []document.Value, columns []document.Column, d *document.Document, at *document.Place) (err error) {
	for i := range columns {
		if row[i], err = columns[i].Value(d, at); err != nil {
			return err
		}
	}
	return nil
}

// findTitles learns what the account's repositories are called.
func findTitles(ctx context.Context, src Sources, at *document.Place) error {
	for _, kind := range src.Kinds.Containers() {
		query := document.Query{Account: at.Account.ID, Kind: kind, WithoutOwn: true}
		err := src.Documents.Scan(ctx, query, func(d *document.Document) error {
			at.Titles[d.Repository] = d.Title
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
