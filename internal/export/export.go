// Package export writes what was collected as JSON lines, CSV or Parquet: one
// row for each repository, commit, issue, pull request, event or account with
// statistics. The fields of the row types are the columns.
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
	Documents  document.Reader
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
	// Since and Until bound created_at, or committed_at of commits: Since
	// inclusive, Until exclusive. Zero does not bound. A row whose time is not
	// known is exported only if there is no bound.
	Since, Until time.Time
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	if _, err := ParseKind(string(o.Kind)); err != nil {
		return err
	}
	if _, err := ParseFormat(string(o.Format)); err != nil {
		return err
	}
	if o.Kind == KindStatistics && o.bounded() {
		return domain.Errorf(domain.CodeInvalid, "statistics are of all time: leave since and until out, or export commits, issues or pulls")
	}
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Until.After(o.Since) {
		return domain.Errorf(domain.CodeInvalid, "nothing is since %s and until %s: until must be later",
			o.Since.Format(time.RFC3339), o.Until.Format(time.RFC3339))
	}
	return nil
}

func (o Options) bounded() bool { return !o.Since.IsZero() || !o.Until.IsZero() }

// Export writes the rows and returns how many they were. After an error, what
// was written is not whole.
func Export(ctx context.Context, src Sources, o Options, w io.Writer) (rows int64, err error) {
	if err := o.Check(); err != nil {
		return 0, err
	}
	o.Accounts = slices.Clone(o.Accounts)
	slices.SortFunc(o.Accounts, func(a, b domain.Account) int { return cmp.Compare(a.ID, b.ID) })
	o.Accounts = slices.CompactFunc(o.Accounts, func(a, b domain.Account) bool { return a.ID == b.ID })
	switch o.Kind {
	case KindRepositories:
		rows, err = documents(ctx, src, o, w, document.KindRepository, repositoryRow)
	case KindCommits:
		rows, err = documents(ctx, src, o, w, document.KindCommit, commitRow)
	case KindIssues:
		rows, err = documents(ctx, src, o, w, document.KindIssue, issueRow)
	case KindPulls:
		rows, err = documents(ctx, src, o, w, document.KindPull, pullRow)
	case KindEvents:
		rows, err = documents(ctx, src, o, w, document.KindEvent, eventRow)
	default:
		rows, err = statistics(ctx, src, o, w)
	}
	if err != nil {
		return rows, fmt.Errorf("export %s: %w", o.Kind, err)
	}
	return rows, nil
}

// place is where a document was found.
type place struct {
	account domain.Account
	homes   map[int64]home
}

// home is what a repository's content shows of it.
type home struct {
	name    string
	deleted bool
}

// documents exports one kind of documents.
func documents[T any](ctx context.Context, src Sources, o Options, w io.Writer, kind document.Kind, row func(*document.Document, *place) (T, error)) (int64, error) {
	out, err := NewWriter[T](w, o.Format)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for _, account := range o.Accounts {
		at := &place{account: account, homes: map[int64]home{}}
		if kind != document.KindRepository {
			if err := at.find(ctx, src.Documents); err != nil {
				return rows, err
			}
		}
		query := document.Query{Account: account.ID, Kind: kind, Since: o.Since, Until: o.Until}
		err := src.Documents.Scan(ctx, query, func(d *document.Document) error {
			if d.CreatedAt.IsZero() && o.bounded() {
				return nil
			}
			r, err := row(d, at)
			if err != nil {
				return err
			}
			rows++
			return out.Write(&r)
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, out.Close()
}

// find learns the account's repositories.
func (p *place) find(ctx context.Context, documents document.Reader) error {
	query := document.Query{Account: p.account.ID, Kind: document.KindRepository}
	return documents.Scan(ctx, query, func(d *document.Document) error {
		p.homes[d.Repository] = home{name: d.Title, deleted: d.Deleted}
		return nil
	})
}
