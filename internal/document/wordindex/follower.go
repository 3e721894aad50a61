package wordindex

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/domain"
)

// Documents are what an index is made from.
type Documents interface {
	document.Finder
	Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error
}

const (
	// stepDocuments and stepBytes are how many documents, and about how many bytes of
	// their texts, are indexed in one transaction: it holds up others for a moment only.
	stepDocuments = 200
	stepBytes     = 1 << 20
	// stepRemoved is how many entries are removed at a time.
	stepRemoved = 500
	// reportEvery is after how many documents the log is told.
	reportEvery = 50_000
)

// Follower keeps an index, by following the feed. Several may: each step is taken by
// one of them.
type Follower struct {
	Index     Index
	Feed      document.Feed
	Documents Documents
	Kinds     document.Kinds
	Log       *slog.Logger
	// Watch returns a channel that gets a token after documents were changed, and
	// the function that ends it.
	Watch func() (changed <-chan struct{}, end func())
	// Now and then it is told how far the index is behind; nil is nobody.
	Tell func(Behind)
}

// retries are the pauses after failures.
var retries = backoff.Delays{First: time.Second, Longest: time.Minute, Spread: backoff.Upper}

// Run follows until ctx ends, however often something fails.
func (f *Follower) Run(ctx context.Context) error {
	changed, end := f.Watch()
	defer end()
	failed := 0
	for {
		idle, err := f.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && domain.CodeOf(err) == domain.CodeConflict:
			// Another process follows; it takes the next steps, too.
			idle = true
		case err != nil:
			failed++
			pause := retries.Delay(failed)
			f.Log.Warn("the index of words cannot be brought up to date; trying again", "error", err, "in", pause)
			if !backoff.Sleep(ctx, pause) {
				return ctx.Err()
			}
			continue
		}
		failed = 0
		if !idle {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Step does some of what is to be done; idle says that there was nothing.
func (f *Follower) Step(ctx context.Context) (idle bool, err error) {
	at, err := f.Index.Progress(ctx)
	if err != nil {
		return false, err
	}
	bounds, err := f.Feed.Bounds(ctx)
	if err != nil {
		return false, err
	}
	f.tell(at.Behind(bounds))
	scheme := Scheme(f.Kinds)
	missed := at.Feed != bounds.Feed || at.Position < bounds.Oldest-1 || at.Position > bounds.Newest
	switch {
	case at.Phase == "" || at.Scheme != scheme || at.Phase != Clearing && missed:
		if at.Phase != "" {
			f.Log.Info("the index of words is made anew", "position", at.Position, "oldest", bounds.Oldest, "newest", bounds.Newest)
		}
		return false, f.Index.Apply(ctx, Batch{Was: at, Is: Progress{Phase: Clearing, Scheme: scheme}})
	case at.Phase == Clearing:
		return false, f.clear(ctx, at, bounds)
	case at.Phase == Filling:
		return false, f.fill(ctx, at)
	}
	return f.follow(ctx, at)
}

func (f *Follower) tell(b Behind) {
	if f.Tell != nil {
		f.Tell(b)
	}
}

func (f *Follower) clear(ctx context.Context, at Progress, bounds document.Bounds) error {
	if err := f.drop(ctx, 0); err != nil {
		return err
	}
	is := at
	is.Phase, is.Feed, is.Position = Filling, bounds.Feed, bounds.Newest
	return f.Index.Apply(ctx, Batch{Was: at, Is: is})
}

func (f *Follower) drop(ctx context.Context, account int64) error {
	for {
		more, err := f.Index.Drop(ctx, account, stepRemoved)
		if err != nil || !more {
			return err
		}
	}
}

// fill reads all documents behind those that are filled in.
func (f *Follower) fill(ctx context.Context, at Progress) error {
	s := step{Follower: f, at: at, is: at}
	err := f.Documents.Scan(ctx, document.Query{After: at.After}, func(d *document.Document) error {
		if err := s.add(d); err != nil {
			return err
		}
		s.is.After, s.is.Seen = d.Key, s.is.Seen+1
		if s.is.Seen%reportEvery == 0 {
			f.Log.Info("indexing the words of documents", "seen", s.is.Seen)
		}
		if s.seen < stepDocuments && s.bytes < stepBytes {
			return nil
		}
		return s.save(ctx)
	})
	if err != nil {
		return err
	}
	s.is.Phase, s.is.After = Following, document.Key{}
	if err := s.save(ctx); err != nil {
		return err
	}
	f.Log.Info("the words of all documents are indexed", "seen", s.is.Seen)
	return nil
}

// follow reads the next changes.
func (f *Follower) follow(ctx context.Context, at Progress) (idle bool, err error) {
	changes, err := f.Feed.Changes(ctx, at.Position, stepDocuments)
	if err != nil || len(changes) == 0 {
		return err == nil, err
	}
	s := step{Follower: f, at: at, is: at}
	if changes[0].What == document.Purged {
		// What was collected of it since comes later in the feed.
		if err := f.drop(ctx, changes[0].Account); err != nil {
			return false, err
		}
		s.is.Position = changes[0].Position
		return false, s.save(ctx)
	}
	var keys []document.Key
	gone := map[document.Key]bool{}
	for _, c := range changes {
		if c.What == document.Purged {
			break
		}
		if !gone[c.Key] && len(searched(f.Kinds.Of(c.Kind))) > 0 {
			gone[c.Key] = true
			keys = append(keys, c.Key)
		}
		s.is.Position = c.Position
	}
	docs, err := f.Documents.Find(ctx, keys, false)
	if err != nil {
		return false, err
	}
	for i := range docs {
		delete(gone, docs[i].Key)
		if err := s.add(&docs[i]); err != nil {
			return false, err
		}
	}
	for key := range gone {
		s.batch.Remove = append(s.batch.Remove, key)
	}
	return false, s.save(ctx)
}

// step is what is indexed at a time.
type step struct {
	*Follower
	at, is      Progress
	batch       Batch
	seen, bytes int
}

func (s *step) add(d *document.Document) error {
	s.seen++
	if len(searched(s.Kinds.Of(d.Kind))) == 0 {
		return nil
	}
	e, ok, err := NewEntry(s.Kinds, d)
	switch {
	case err != nil:
		return err
	case ok:
		s.batch.Put = append(s.batch.Put, e)
	default:
		s.batch.Remove = append(s.batch.Remove, d.Key)
	}
	for _, word := range e.Words {
		s.bytes += len(word)
	}
	return nil
}

func (s *step) save(ctx context.Context) error {
	s.batch.Was, s.batch.Is = s.at, s.is
	if err := s.Index.Apply(ctx, s.batch); err != nil {
		return err
	}
	s.at, s.batch, s.seen, s.bytes = s.is, Batch{}, 0, 0
	return nil
}
