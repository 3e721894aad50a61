package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// Computer computes statistics from documents, and reads what was stored.
type Computer struct {
	documents document.Reader
	stored    state.Statistics
	kinds     document.Kinds
	now       func() time.Time
}

// New makes a Computer, which counts documents as their kinds declare it. A nil
// now means time.Now.
func New(documents document.Reader, stored state.Statistics, kinds document.Kinds, now func() time.Time) *Computer {
	if now == nil {
		now = time.Now
	}
	return &Computer{documents: documents, stored: stored, kinds: kinds, now: now}
}

// Compute returns the statistics of a run's account in their stored form. It
// reads every document once and no payload. Its memory grows with the number
// of repositories, languages, days and pull requests that were reviewed, not with the
// number of documents; only an account with forks takes another eight bytes for each of
// its own commits.
func (c *Computer) Compute(ctx context.Context, run domain.Run) ([]byte, error) {
	account, err := c.account(ctx, run)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(account)
	if err != nil {
		return nil, fmt.Errorf("encode the statistics of run %d: %w", run.ID, err)
	}
	return data, nil
}

func (c *Computer) account(ctx context.Context, run domain.Run) (Account, error) {
	t := newTally(run.Login)
	// Repositories come first: what is in them inherits from them.
	for _, d := range inOrderOfCounting(c.kinds.OfSource(run.Source)) {
		t.independent = d.Independent
		if err := c.scan(ctx, run.AccountID, d, t.counter(d.CountedAs)); err != nil {
			return Account{}, err
		}
	}
	computed := c.now().UTC()
	asOf := run.Anchor.UTC()
	if run.Anchor.IsZero() {
		asOf = computed
	}
	account := t.result(asOf)
	account.AccountID, account.Source, account.Login = run.AccountID, run.Source, run.Login
	account.RunID, account.ComputedAt = run.ID, computed
	account.Scores = figuresOf(&account).Scores()
	return account, nil
}

// inOrderOfCounting puts reviews before pull requests.
func inOrderOfCounting(kinds document.Kinds) document.Kinds {
	rank := func(d document.Declaration) int {
		switch d.CountedAs {
		case document.RoleRepository:
			return 0
		case document.RoleReview:
			return 1
		}
		return 2
	}
	kinds = slices.Clone(kinds)
	slices.SortStableFunc(kinds, func(a, b document.Declaration) int { return cmp.Compare(rank(a), rank(b)) })
	return kinds
}

func (c *Computer) scan(ctx context.Context, account int64, of document.Declaration, count func(*document.Document)) error {
	kind := of.Kind
	err := c.documents.Scan(ctx, document.Query{Account: account, Kind: kind, WithoutOwn: of.CountedAs != document.RoleRun}, func(d *document.Document) error {
		count(d)
		return nil
	})
	if err != nil {
		return fmt.Errorf("scan the %s documents of account %d: %w", kind, account, err)
	}
	return nil
}
