package sink

import (
	"context"

	"sluice/internal/document"
)

// lookupKeys is how many documents are looked up at once.
const lookupKeys = 250

// follow carries the next changes; the progress stays as it is if there are none.
func (r *Runner) follow(ctx context.Context, p Progress) (Progress, error) {
	changes, err := r.Source.Feed.Changes(ctx, p.Position, r.BatchRows)
	if err != nil || len(changes) == 0 {
		return p, err
	}
	r.setState(StateFollowing)
	// All that is read from here on is at least as new as these changes.
	place := newPlaces(r)
	b := &Batch{}
	seen := map[document.Key]bool{}
	for size := 0; len(changes) > 0 && size < batchBytes; {
		keys := b.take(&changes, seen, &p)
		if len(keys) == 0 {
			continue
		}
		docs, err := r.Source.Finder.Find(ctx, keys, !r.WithoutRaw)
		if err != nil {
			return p, err
		}
		for i := range docs {
			size += len(docs[i].Raw)
		}
		rows, err := place.rows(ctx, docs)
		if err != nil {
			return p, err
		}
		b.Rows = append(b.Rows, rows...)
	}
	b.Progress = p
	return p, r.apply(ctx, b)
}

// take moves changes to a batch, as many as are looked up at once, and returns the
// documents to look up, each once in a batch.
func (b *Batch) take(changes *[]document.Change, seen map[document.Key]bool, p *Progress) (keys []document.Key) {
	for len(*changes) > 0 && len(keys) < lookupKeys {
		c := &(*changes)[0]
		p.Position = c.Position
		*changes = (*changes)[1:]
		switch {
		case seen[c.Key]:
		case c.What == document.Purged:
			b.Purged = append(b.Purged, c.Account)
		default:
			keys = append(keys, c.Key)
		}
		seen[c.Key] = true
	}
	return keys
}
