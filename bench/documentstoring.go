package main

import (
	"context"
	"crypto/sha1" //nolint:gosec // names of commits, not secrets
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/bench/proc"
	"sluice/bench/report"
	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/source/github"
)

// storingTarget is how much more processor time a stored commit may take with the
// indexes of lists than without, in percent.
const storingTarget = 20

// documentStoring compares storing commits with the indexes that lists go along, and
// without them. Both take the same pages in turn.
func documentStoring(ctx context.Context, l *lab) error {
	with, err := storingShelf(ctx, l)
	if err != nil {
		return err
	}
	defer with.close()
	without, err := storingShelf(ctx, l)
	if err != nil {
		return err
	}
	defer without.close()
	for _, drop := range without.words.before {
		if err := without.exec(ctx, drop); err != nil {
			return err
		}
	}
	pages := l.size(1000, 50)
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same pages every time
	var spent [2]time.Duration
	for p := range 2 * pages { // the first half fills the tables
		docs := commitPage(dice, p)
		for k := range spent {
			which := (p + k) % len(spent)
			store, ok := []*documentShelf{without, with}[which].store.(document.Writer)
			if !ok {
				return errors.New("the store does not write")
			}
			took, err := cpuOf(func() error { return store.Upsert(ctx, docs) })
			if err != nil {
				return err
			}
			if p >= pages {
				spent[which] += took
			}
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(pages*listedPage) }
	more := 100 * (float64(spent[1])/float64(spent[0]) - 1)
	return l.report.Add(report.Line{
		Name: "documents_list_storing_sqlite", Value: each(spent[1]), Unit: "µs/commit",
		Detail: fmt.Sprintf("processor time of Upsert alone, pages of 100 commits; %+.0f %%, %+.1f µs", more, each(spent[1]-spent[0])),
	}.Against("the same without the indexes of lists", each(spent[0])).Aim(fmt.Sprintf("<= +%d %%", storingTarget), more <= storingTarget))
}

// cpuOf is the processor time of this process while something is done.
func cpuOf(do func() error) (time.Duration, error) {
	before, err := proc.Self()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := proc.Self()
	return after - before, err
}

// storingShelf is an empty store; its words say how to drop the indexes of lists.
func storingShelf(ctx context.Context, l *lab) (*documentShelf, error) {
	dir, remove, err := l.folder("storing")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "bench"})
	if err != nil {
		return nil, err
	}
	x := &documentShelf{close: func() { _ = db.Close(); remove() }}
	x.exec = func(ctx context.Context, statement string) error {
		return db.Write(ctx, func(c *driver.Conn) error { return sqlite.Exec(c, statement, nil) })
	}
	if x.store, err = sqlite.NewDocuments(ctx, db, github.Kinds()); err != nil {
		return nil, err
	}
	for _, index := range []string{"document_created", "document_account_created", "document_repository", "document_updated", "document_account_updated", "document_gone"} {
		x.words.before = append(x.words.before, "DROP INDEX "+index)
	}
	return x, nil
}

// commitPage is a page of commits of one of 400 repositories.
func commitPage(dice *rand.Rand, p int) []document.Document {
	repository := int64(1_000_000 + dice.IntN(400))
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(dice.IntN(700*24)) * time.Hour)
	docs := make([]document.Document, listedPage)
	for i := range docs {
		at = at.Add(-time.Duration(dice.IntN(7200)) * time.Second)
		sha := fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, p, i))) //nolint:gosec // a name, not a secret
		d := &docs[i]
		d.Key = document.Key{Account: 1 + repository%20, Kind: "commit", Name: fmt.Sprintf("%d:%s", repository, sha)}
		d.Repository, d.CreatedAt, d.Version, d.SeenAt = repository, at, at, at
		d.Author, d.Title = fmt.Sprintf("author-%d", dice.IntN(1+dice.IntN(1000))), "Fix what was broken when the other thing came"
		d.Raw = fmt.Appendf(nil, `{"oid":%q,"messageHeadline":"Fix %d","committedDate":%q,"additions":%d,"deletions":%d,"author":{"user":{"login":%q},"email":"a%d@example.com"}}`,
			sha, dice.IntN(100_000), at.Format(time.RFC3339), dice.IntN(300), dice.IntN(300), d.Author, dice.IntN(1000))
	}
	return docs
}
