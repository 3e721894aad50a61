package wordindex

import (
	"context"
	"slices"

	"sluice/internal/document"
	"sluice/internal/document/words"
	"sluice/internal/domain"
)

const (
	// MaxLimit is how many results one answer has at most.
	MaxLimit = 200
	// mostLooked is how many documents are read for one answer. Then it has what was
	// found by then, and where to go on.
	mostLooked = 2000
	// snippetLength is about how many characters are shown around a match.
	snippetLength = 200
)

// Searcher answers searches.
type Searcher struct {
	Index     Index
	Feed      document.Feed
	Documents document.Finder
	Kinds     document.Kinds
}

// Request is a search. Zero fields do not restrict.
type Request struct {
	// Query is what to look for, as package words reads it, and is needed.
	Query   string
	Kinds   []document.Kind
	Account int64
	// Deleted restricts it to what is gone, or to what is not.
	Deleted *bool
	// Limit is how many results are wanted, and is needed.
	Limit int
	// Before is Answer.Next of the answer that this one is to follow.
	Before int64
}

// Answer is what was found, newest first (see Instant).
type Answer struct {
	Results []Result
	// Next is where to go on; 0 if this was all. An answer can have fewer results
	// than were asked for, or none, and still not be the last.
	Next   int64
	Behind Behind
}

// Result is a document that matches.
type Result struct {
	Document document.Document
	// Column is which of its texts the snippet is of.
	Column  string
	Snippet words.Snippet
}

// Search answers a request. An error of code invalid says what is wrong with it.
func (s *Searcher) Search(ctx context.Context, r Request) (a Answer, err error) {
	query, look, err := s.prepare(r)
	if err != nil {
		return a, err
	}
	if a.Behind, err = s.Behind(ctx); err != nil {
		return a, err
	}
	for looked := 0; len(a.Results) < r.Limit; {
		hits, err := s.Index.Search(ctx, look)
		if err != nil {
			return a, err
		}
		if err := s.judge(ctx, r, query, hits, &a); err != nil {
			return a, err
		}
		if len(a.Results) == r.Limit && a.Next != 0 {
			return a, nil
		}
		if len(hits) < look.Limit {
			a.Next = 0
			return a, nil
		}
		a.Next = hits[len(hits)-1].ID
		if looked += len(hits); looked >= mostLooked {
			return a, nil
		}
		look.Before, look.Limit = a.Next, min(4*look.Limit, mostLooked/4)
	}
	return a, nil
}

// Behind is how far the index is behind.
func (s *Searcher) Behind(ctx context.Context) (Behind, error) {
	at, err := s.Index.Progress(ctx)
	if err != nil {
		return Behind{}, err
	}
	bounds, err := s.Feed.Bounds(ctx)
	return at.Behind(bounds), err
}

func (s *Searcher) prepare(r Request) (q words.Query, look Lookup, err error) {
	if r.Limit <= 0 || r.Limit > MaxLimit {
		return q, look, domain.Errorf(domain.CodeInvalid, "a search has a limit from 1 to %d; got %d", MaxLimit, r.Limit)
	}
	if q, err = words.Parse(r.Query); err != nil {
		return q, look, err
	}
	for _, kind := range r.Kinds {
		if len(searched(s.Kinds.Of(kind))) == 0 {
			return q, look, domain.Errorf(domain.CodeInvalid, "the kind %q has no text that is searched", kind)
		}
	}
	look = Lookup{Need: q.Need(), Before: r.Before, Limit: r.Limit + 1}
	if len(r.Kinds) == 1 {
		look.Has = append(look.Has, KindFacet(r.Kinds[0]))
	} else {
		for _, kind := range r.Kinds {
			look.AnyOf = append(look.AnyOf, KindFacet(kind))
		}
	}
	if r.Account != 0 {
		look.Has = append(look.Has, AccountFacet(r.Account))
	}
	if r.Deleted != nil {
		look.Has = append(look.Has, DeletedFacet(*r.Deleted))
	}
	return q, look, nil
}

// judge reads what was found and keeps what matches, until the answer is full; its
// Next is then where the next one begins, if any hit is left.
func (s *Searcher) judge(ctx context.Context, r Request, q words.Query, hits []Hit, a *Answer) error {
	a.Next = 0
	if len(hits) == 0 {
		return nil
	}
	keys := make([]document.Key, len(hits))
	for i := range hits {
		keys[i] = hits[i].Key
	}
	found, err := s.Documents.Find(ctx, keys, false)
	if err != nil {
		return err
	}
	docs := make(map[document.Key]*document.Document, len(found))
	for i := range found {
		docs[found[i].Key] = &found[i]
	}
	for i, hit := range hits {
		d := docs[hit.Key]
		if d == nil || !r.allows(d) {
			continue
		}
		result, ok, err := s.result(q, d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		a.Results = append(a.Results, result)
		if len(a.Results) == r.Limit {
			if i+1 < len(hits) {
				a.Next = hit.ID
			}
			return nil
		}
	}
	return nil
}

// allows says whether a document is among those that are asked for.
func (r *Request) allows(d *document.Document) bool {
	return (r.Account == 0 || d.Account == r.Account) && (r.Deleted == nil || d.Deleted == *r.Deleted) &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, d.Kind))
}

// result is what is shown of a document; ok is false if it does not match.
func (s *Searcher) result(q words.Query, d *document.Document) (r Result, ok bool, err error) {
	plain, columns, err := Texts(s.Kinds, d)
	if err != nil {
		return r, false, err
	}
	texts := words.NewTexts(plain...)
	if !q.Matches(texts) {
		return r, false, nil
	}
	r.Document = *d
	// The longest of those with a match says most: a title is shown anyway.
	longest := -1
	for i := range texts {
		snippet, matches := q.Snippet(texts[i], snippetLength)
		if matches && len(texts[i].Text) > longest {
			r.Column, r.Snippet, longest = columns[i].Name, snippet, len(texts[i].Text)
		}
	}
	return r, true, nil
}
