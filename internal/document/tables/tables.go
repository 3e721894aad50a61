// Package tables is what stores have in common that keep documents in tables of
// SQL: how fields, own values, absences and payloads lie in columns (columns.go,
// payloads.go), and the way of a call from the port to the rows (this file).
package tables

import (
	"context"

	"sluice/internal/document"
)

// Rows are what a store of documents does itself, in its own SQL: T is a
// transaction of it, P are documents that are packed for one.
type Rows[T, P any] struct {
	// Transact runs fn in one transaction, which it may have to repeat.
	Transact func(ctx context.Context, fn func(T) error) error
	// Pack does what needs no transaction. What it returns may be written again if
	// a transaction is undone.
	Pack  func(ctx context.Context, docs []document.Document) (P, error)
	Write func(ctx context.Context, t T, packed P) error
	// FlagRepository claims that a repository is gone, and FlagUnseen that what was
	// not seen of a kind of its things is, as document.Mark.Claim says.
	FlagRepository, FlagUnseen func(ctx context.Context, t T, a *document.Absence) error
	// Fill is document.Filler for one document.
	Fill func(ctx context.Context, t T, d *document.Document) error
	// Find reads a document and the chunk that its payload lies in.
	Find func(ctx context.Context, key document.Key) (doc document.Document, in Place, chunk []byte, found bool, err error)
	// Scan begins a scan; what it returns reads up to Batch documents that follow a
	// key, or up to RawBatch if their payloads are asked for.
	Scan            func(q document.Query) func(ctx context.Context, after document.Key, limit int) ([]document.Document, error)
	Batch, RawBatch int
}

// Store is the part of document.Store that is the same whatever the SQL.
type Store[T, P any] struct {
	*Payloads
	kinds document.Kinds
	rows  Rows[T, P]
}

// NewStore returns a store of the declared kinds.
func NewStore[T, P any](kinds document.Kinds, payloads *Payloads, rows Rows[T, P]) Store[T, P] {
	return Store[T, P]{payloads, kinds, rows}
}

// Upsert implements document.Writer.
func (s *Store[T, P]) Upsert(ctx context.Context, docs []document.Document) error {
	if len(docs) == 0 {
		return nil
	}
	packed, err := s.Pack(ctx, docs)
	if err != nil {
		return err
	}
	return s.rows.Transact(ctx, func(t T) error { return s.rows.Write(ctx, t, packed) })
}

// Pack checks documents and packs them for a transaction.
func (s *Store[T, P]) Pack(ctx context.Context, docs []document.Document) (packed P, err error) {
	if err := s.kinds.CheckDocuments(docs); err != nil {
		return packed, err
	}
	return s.rows.Pack(ctx, docs)
}

// MarkDeleted implements document.Writer.
func (s *Store[T, P]) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	if err := s.kinds.CheckAbsences(absences); err != nil {
		return err
	}
	return s.rows.Transact(ctx, func(t T) error { return s.Flag(ctx, t, absences) })
}

// Flag is MarkDeleted inside a transaction.
func (s *Store[T, P]) Flag(ctx context.Context, t T, absences []document.Absence) error {
	if err := s.kinds.CheckAbsences(absences); err != nil {
		return err
	}
	for i := range absences {
		flag := s.rows.FlagUnseen
		if absences[i].Kind == "" {
			flag = s.rows.FlagRepository
		}
		if err := flag(ctx, t, &absences[i]); err != nil {
			return err
		}
	}
	return nil
}

// Fill implements document.Filler.
func (s *Store[T, P]) Fill(ctx context.Context, docs []document.Document) error {
	if err := s.kinds.CheckDocuments(docs); err != nil {
		return err
	}
	return s.rows.Transact(ctx, func(t T) error {
		for i := range docs {
			if err := s.rows.Fill(ctx, t, &docs[i]); err != nil {
				return err
			}
		}
		return nil
	})
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
