package export

import (
	"context"
	"errors"
	"io"

	"sluice/internal/document"
	"sluice/internal/domain"
)

const (
	// changesAtOnce is how many changes are read at once, and foundAtOnce how many
	// documents.
	changesAtOnce = 1000
	foundAtOnce   = 500
)

// Span is a part of a feed: what comes after a position, up to another one.
type Span struct{ After, Until int64 }

// SpanSince is what a feed has after a position by now. Whoever exports what changed
// in it goes on after Until the next time. A position that is behind what the feed
// keeps is an error of code gone, and one that is ahead one of code invalid.
func SpanSince(ctx context.Context, feed document.Feed, after int64) (*Span, error) {
	if _, err := feed.Changes(ctx, after, 1); err != nil {
		return nil, err
	}
	b, err := feed.Bounds(ctx)
	return &Span{After: after, Until: max(after, b.Newest)}, err
}

// changed exports those documents of one kind that changed in a span, each once and
// as it is now, in the order of every export. What was purged has no row.
func changed(ctx context.Context, src Sources, o Options, w io.Writer, kind *document.Declaration) (rows int64, err error) {
	accounts := map[int64]domain.Account{}
	for _, a := range o.Accounts {
		accounts[a.ID] = a
	}
	keys := newKeySorter(sortedInMemory)
	defer func() { err = errors.Join(err, keys.close()) }()
	err = changesOf(ctx, src.Feed, *o.Changed, func(c *document.Change) error {
		if _, asked := accounts[c.Account]; !asked || c.Kind != kind.Kind {
			return nil
		}
		return keys.add(place{c.Account, c.Name})
	})
	if err != nil {
		return 0, err
	}
	out, err := newTable(w, kind, o.Format)
	if err != nil {
		return 0, err
	}
	places := &Places{Kinds: src.Kinds, Finder: src.Finder, accounts: accounts}
	row := make([]document.Value, len(kind.Columns))
	write := func(d *document.Document, at *document.Place) error {
		if !o.within(d) {
			return nil
		}
		if err := fill(row, kind.Columns, d, at); err != nil {
			return err
		}
		rows++
		return out.write(row)
	}
	batch := make([]document.Key, 0, foundAtOnce)
	err = keys.each(func(p place) error {
		batch = append(batch, document.Key{Account: p.account, Kind: kind.Kind, Name: p.name})
		if len(batch) < foundAtOnce {
			return nil
		}
		err := places.each(ctx, kind, batch, write)
		batch = batch[:0]
		return err
	})
	if err == nil {
		err = places.each(ctx, kind, batch, write)
	}
	if err != nil {
		return rows, err
	}
	return rows, out.Close()
}

// within says whether a document lies between the bounds.
func (o Options) within(d *document.Document) bool {
	if d.CreatedAt.IsZero() {
		return !o.bounded()
	}
	return !d.CreatedAt.Before(o.Since) && (o.Until.IsZero() || d.CreatedAt.Before(o.Until))
}

// changesOf calls fn for each change of a span.
func changesOf(ctx context.Context, feed document.Feed, span Span, fn func(*document.Change) error) error {
	for span.After < span.Until {
		changes, err := feed.Changes(ctx, span.After, changesAtOnce)
		if err != nil {
			return err
		}
		for i := range changes {
			if changes[i].Position > span.Until {
				return nil
			}
			if err := fn(&changes[i]); err != nil {
				return err
			}
			span.After = changes[i].Position
		}
		if len(changes) == 0 {
			return nil
		}
	}
	return nil
}

// each calls fn for those documents that there are, in the order of their keys.
func (p *Places) each(ctx context.Context, kind *document.Declaration, keys []document.Key, fn func(*document.Document, *document.Place) error) error {
	if len(keys) == 0 {
		return nil
	}
	docs, err := p.Finder.Find(ctx, keys, false)
	if err != nil {
		return err
	}
	at, err := p.of(ctx, kind, docs)
	if err != nil {
		return err
	}
	found := make(map[document.Key]*document.Document, len(docs))
	for i := range docs {
		found[docs[i].Key] = &docs[i]
	}
	for _, key := range keys {
		if d := found[key]; d != nil {
			if err := fn(d, at[d.Account]); err != nil {
				return err
			}
		}
	}
	return nil
}
