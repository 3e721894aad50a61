// Package backfill gives documents that were stored by an earlier version the values
// of columns that were declared since: their payload has them.
//
// It walks over all documents once, in the background, and remembers how far it is,
// so that whoever is killed goes on where it was. When it is through, that is
// remembered too, and a start asks no more than that. Several processes may do it at
// once: they do the same work, and none undoes another's.
package backfill

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
)

// Store is where the documents are.
type Store interface {
	document.Reader
	document.Filler
}

const (
	// How many documents, and about how many bytes of payloads, are seen to at a
	// time: a step holds up others that write for a moment only.
	stepDocuments = 200
	stepBytes     = 4 << 20
	// reportEvery is after how many documents the log is told.
	reportEvery = 50_000
	// retryAfter is when it is tried again after a failure.
	retryAfter = time.Minute
)

// Backfill is one walk over the documents of a store.
type Backfill struct {
	Store    Store
	Fillings document.Fillings
	Kinds    document.Kinds
	Log      *slog.Logger
}

// Run walks to the end, however often the store fails, or until ctx ends.
func (b *Backfill) Run(ctx context.Context) error {
	for {
		err := b.Walk(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		b.Log.Warn("columns that are new cannot be filled in; trying again", "error", err, "in", retryAfter)
		if !backoff.Sleep(ctx, retryAfter) {
			return ctx.Err()
		}
	}
}

// Walk goes on where the last walk was, to the end.
func (b *Backfill) Walk(ctx context.Context) error {
	signature := b.Kinds.Signature()
	at, err := b.Fillings.Filling(ctx, signature)
	if err != nil || at.Done {
		return err
	}
	if at.Seen > 0 {
		b.Log.Info("filling in columns that are new", "seen", at.Seen, "filled", at.Filled)
	}
	step := step{Backfill: b, signature: signature, at: at}
	err = b.Store.Scan(ctx, document.Query{WithRaw: true, After: at.After}, func(d *document.Document) error { return step.add(ctx, d) })
	if err != nil {
		return err
	}
	step.at.Done = true
	if err := step.save(ctx); err != nil {
		return err
	}
	if step.at.Filled > 0 {
		b.Log.Info("columns that are new are filled in", "seen", step.at.Seen, "filled", step.at.Filled)
	}
	return nil
}

// step is what is seen to at a time.
type step struct {
	*Backfill
	signature   string
	at          document.Filling
	docs        []document.Document
	seen, bytes int
}

func (s *step) add(ctx context.Context, d *document.Document) error {
	if missing := s.Kinds.Missing(d); len(missing) > 0 {
		s.docs = append(s.docs, document.Document{Key: d.Key, Version: d.Version, Fields: document.Fields{Own: missing}})
	}
	s.at.After = d.Key
	s.seen, s.bytes = s.seen+1, s.bytes+len(d.Raw)
	if s.seen < stepDocuments && s.bytes < stepBytes {
		return nil
	}
	return s.save(ctx)
}

// save fills in, and then remembers it: what is done twice does no harm.
func (s *step) save(ctx context.Context) error {
	if len(s.docs) > 0 {
		if err := s.Store.Fill(ctx, s.docs); err != nil {
			return err
		}
	}
	before := s.at.Seen
	s.at.Seen, s.at.Filled = s.at.Seen+int64(s.seen), s.at.Filled+int64(len(s.docs))
	s.docs, s.seen, s.bytes = s.docs[:0], 0, 0
	if s.at.Seen/reportEvery != before/reportEvery {
		s.Log.Info("filling in columns that are new", "seen", s.at.Seen, "filled", s.at.Filled)
	}
	return s.Fillings.SaveFilling(ctx, s.signature, s.at)
}
