// Package tables is what stores have in common that keep documents in tables of
// SQL: how fields, own values, absences and payloads lie in columns (columns.go,
// payloads.go), the way of a call from the port to the rows (this file), what a
// transaction changes (ledger.go, content.go), and the log of that (changelog.go,
// feed.go).
package tables

import (
	"context"
	"maps"
	"slices"
	"time"

	"sluice/internal/document"
)

// Rows are what a store of documents does itself, in its own SQL: T is a
// transaction of it, P are documents that are packed for one.
type Rows[T, P any] struct {
	// Transact runs fn in one transaction, which it may have to repeat.
	Transact func(ctx context.Context, fn func(T) error) error
	// Pack does what needs no transaction. What it returns may be written again if
	// a transaction is undone. Held has the content of each document.
	Pack func(ctx context.Context, docs []document.Document, held []document.Held) (P, error)
	// Homes reads containers, in their order, and keeps others from changing them:
	// those that are asked for alone from any others.
	Homes func(ctx context.Context, t T, homes []Home, each func(Home, document.Presence)) error
	// Held reads what is held of documents, by keys in their order, and keeps others
	// from changing them.
	Held func(ctx context.Context, t T, keys []document.Key, each func(*document.Held)) error
	// Unseen is the same for what FlagUnseen is about to flag, and Inside reads all
	// that lies in a container.
	Unseen func(ctx context.Context, t T, a *document.Absence, each func(*document.Held)) error
	Inside func(ctx context.Context, t T, account, repository int64, each func(*document.Held)) error
	// Gone reads the things of a kind in a container that are gone by themselves, with
	// their numbers, and keeps others from changing them.
	Gone func(ctx context.Context, t T, account, repository int64, kind document.Kind, each func(h *document.Held, number int64)) error
	// Store writes documents, Seen that they were seen, and Sight that containers
	// were.
	Store func(ctx context.Context, t T, chosen []Chosen[P]) error
	Seen  func(ctx context.Context, t T, seen []Seen) error
	Sight func(ctx context.Context, t T, sightings []document.Sighting) error
	// FlagRepository claims that a repository is gone, and FlagUnseen that what was
	// not seen of a kind of its things is, as document.Mark.Claim says.
	FlagRepository, FlagUnseen func(ctx context.Context, t T, a *document.Absence) error
	// Own reads the values of its own that a document has in just that version, and
	// its content. Fill sets those that are given, and the content.
	Own  func(ctx context.Context, t T, key document.Key, version int64) (own document.Values, content int64, found bool, err error)
	Fill func(ctx context.Context, t T, d *document.Document, content int64) error
	// Log writes rows of the log of changes, and Feed reads it.
	Log  func(ctx context.Context, t T, rows []LogRow) error
	Feed FeedRows[T]
	// FindAll reads documents by their keys, at most Batch or RawBatch of them.
	FindAll func(ctx context.Context, keys []document.Key, withRaw bool) ([]document.Document, error)
	// Find reads a document and the chunk that its payload lies in.
	Find func(ctx context.Context, key document.Key) (doc document.Document, in Place, chunk []byte, found bool, err error)
	// Scan begins a scan; what it returns reads up to Batch documents that follow a
	// key, or up to RawBatch if their payloads are asked for.
	Scan            func(q document.Query) func(ctx context.Context, after document.Key, limit int) ([]document.Document, error)
	Batch, RawBatch int
}

// Chosen are those of documents that were packed together that are to be written:
// by their places, those that are new and those of which there are older copies.
type Chosen[P any] struct {
	Packed     P
	Docs       []document.Document
	Held       []document.Held
	New, Known []int
}

// Store is the part of document.Store that is the same whatever the SQL.
type Store[T, P any] struct {
	*Payloads
	kinds document.Kinds
	ownOf map[document.Kind]Own
	rows  Rows[T, P]
	now   func() time.Time
}

// NewStore returns a store of the declared kinds.
func NewStore[T, P any](kinds document.Kinds, payloads *Payloads, rows Rows[T, P]) Store[T, P] {
	return Store[T, P]{payloads, kinds, ownByKind(kinds), rows, time.Now}
}

// SetClock sets the clock that changes are logged by, before the store is used.
func (s *Store[T, P]) SetClock(now func() time.Time) { s.now = now }

// Now is what that clock shows.
func (s *Store[T, P]) Now() time.Time { return s.now() }

// Upsert implements document.Writer.
func (s *Store[T, P]) Upsert(ctx context.Context, docs []document.Document) error {
	if len(docs) == 0 {
		return nil
	}
	packed, err := s.Pack(ctx, docs)
	if err != nil {
		return err
	}
	return s.rows.Transact(ctx, func(t T) error { return s.Write(ctx, t, []*Packed[P]{packed}, nil) })
}

// Pack checks documents and packs them for a transaction.
func (s *Store[T, P]) Pack(ctx context.Context, docs []document.Document) (*Packed[P], error) {
	if err := s.kinds.CheckDocuments(docs); err != nil {
		return nil, err
	}
	p := &Packed[P]{docs: docs, held: make([]document.Held, len(docs)), sightings: s.kinds.Sightings(docs)}
	contents, containers := s.newContents(), s.kinds.Containers()
	for i := range docs {
		d := &docs[i]
		p.held[i] = document.Held{
			Key: d.Key, Version: instant(micros(d.Version)), SeenAt: instant(micros(d.SeenAt)),
			Repository: d.Repository, Content: contents.of(d),
		}
		if slices.Contains(containers, d.Kind) {
			p.held[i].Title = d.Title
			p.containers = append(p.containers, i)
		}
	}
	rows, err := s.rows.Pack(ctx, docs, p.held)
	p.rows = rows
	return p, err
}

// MarkDeleted implements document.Writer.
func (s *Store[T, P]) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	if err := s.kinds.CheckAbsences(absences); err != nil {
		return err
	}
	return s.rows.Transact(ctx, func(t T) error { return s.Write(ctx, t, nil, absences) })
}

// Fill implements document.Filler.
func (s *Store[T, P]) Fill(ctx context.Context, docs []document.Document) error {
	if err := s.kinds.CheckDocuments(docs); err != nil {
		return err
	}
	return s.rows.Transact(ctx, func(t T) error {
		log := s.newLog(ctx, t)
		for i := range docs {
			if err := s.fill(ctx, t, log, &docs[i]); err != nil {
				return err
			}
		}
		return log.close()
	})
}

// fill sets those values of one document that it does not have.
func (s *Store[T, P]) fill(ctx context.Context, t T, log *changeLog, d *document.Document) error {
	if len(d.Own) == 0 {
		return nil
	}
	own, content, found, err := s.rows.Own(ctx, t, d.Key, micros(d.Version))
	if err != nil || !found {
		return err
	}
	before, after := document.Document{Key: d.Key}, document.Document{Key: d.Key, Version: d.Version}
	before.Own, after.Own = own, maps.Clone(own)
	missing := document.Document{Key: d.Key, Version: d.Version}
	for name, v := range d.Own {
		if _, there := own[name]; !there && !v.Null {
			missing.Set(name, v)
			after.Set(name, v)
		}
	}
	if len(missing.Own) == 0 {
		return nil
	}
	log.add(&d.Key, document.Updated, d.Version)
	return s.rows.Fill(ctx, t, &missing, s.newContents().filled(content, &before, &after))
}

// Get implements document.Reader.
func (s *Store[T, P]) Get(ctx context.Context, key document.Key) (document.Document, bool, error) {
	doc, in, chunk, found, err := s.rows.Find(ctx, key)
	if err != nil || !found {
		return document.Document{}, false, err
	}
	plain, err := s.Unpack(chunk)
	if err == nil {
		doc.Raw, err = in.Cut(plain)
	}
	if err != nil {
		return document.Document{}, false, err
	}
	return doc, true, nil
}

// Scan implements document.Reader: batch by batch, so that a caller who is slow,
// such as an export to a pipe, keeps nothing open.
func (s *Store[T, P]) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	limit := s.rows.Batch
	if q.WithRaw {
		limit = s.rows.RawBatch
	}
	next := s.rows.Scan(q)
	for after := q.After; ; {
		batch, err := next(ctx, after, limit)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := fn(&batch[i]); err != nil {
				return err
			}
		}
		if len(batch) < limit {
			return nil
		}
		after = batch[len(batch)-1].Key
	}
}
