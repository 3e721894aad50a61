package sink

import (
	"context"
	"errors"

	"sluice/internal/document"
)

// titlesKept is how many titles are kept during a backfill.
const titlesKept = 50_000

// backfill copies all documents, from where the target is with it. What changes in
// the meantime is after the position that was the newest before the first was read.
func (r *Runner) backfill(ctx context.Context, p Progress) (Progress, error) {
	if p.After == (document.Key{}) {
		bounds, err := r.Source.Feed.Bounds(ctx)
		if err != nil {
			return p, err
		}
		p.Position = bounds.Newest
		p.Generation++
	}
	r.setState(StateBackfilling)
	// A title that changes after it was read is a change after the position.
	place := newPlaces(r)
	for {
		docs, more, err := r.page(ctx, p.After)
		if err != nil {
			return p, err
		}
		if len(docs) > 0 {
			p.After = docs[len(docs)-1].Key
		}
		if !more {
			p.Backfilled, p.After = true, document.Key{}
		}
		if len(place.titles) > titlesKept {
			clear(place.titles)
		}
		clear(place.accounts)
		b := &Batch{Progress: p, Sweep: p.Backfilled}
		if b.Rows, err = place.rows(ctx, docs); err != nil {
			return p, err
		}
		if err := r.apply(ctx, b); err != nil || !more {
			return p, err
		}
	}
}

// errFull ends a scan.
var errFull = errors.New("the batch is full")

// page reads the documents of a batch, and says whether there may be more.
func (r *Runner) page(ctx context.Context, after document.Key) (docs []document.Document, more bool, err error) {
	size := 0
	err = r.Source.Documents.Scan(ctx, document.Query{After: after, WithRaw: !r.WithoutRaw}, func(d *document.Document) error {
		if len(docs) >= r.BatchRows || size >= batchBytes {
			return errFull
		}
		docs = append(docs, *d)
		size += len(d.Raw)
		return nil
	})
	if errors.Is(err, errFull) {
		return docs, true, nil
	}
	return docs, false, err
}
