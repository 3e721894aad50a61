// Package wordindex keeps an index of the words of documents, and searches by it.
//
//   - wordindex.go: the port, what stores lend and promise.
//   - entry.go: what is indexed of a document, and in which order it is found.
//   - apply.go: how a step is written, the same in every store.
//   - follower.go: who keeps the index, by following the feed of changes.
//   - search.go: how a search is answered.
//
// The index follows the feed: nobody who stores documents waits for it, and it is
// behind by moments. It only proposes: what it finds is read anew and judged by
// package words, so that no answer shows what is gone, or what does not match.
package wordindex

import (
	"context"

	"sluice/internal/document"
	"sluice/internal/document/words"
)

// Index is where words are kept. Stores implement it with Apply and their Rows.
type Index interface {
	// Progress is how far the index is; the zero value if it was never begun.
	Progress(ctx context.Context) (Progress, error)
	// Apply does a step, with its progress, in one transaction. It is an error of
	// code conflict, and nothing is done, if the progress is not that of Batch.Was:
	// somebody else has taken a step.
	Apply(ctx context.Context, b Batch) error
	// Drop removes up to so many entries of an account, or of all if it is 0; more
	// says that there may be some left.
	Drop(ctx context.Context, account int64, most int) (more bool, err error)
	// Search returns entries, newest first: all that have what is needed and perhaps
	// others.
	Search(ctx context.Context, s Lookup) ([]Hit, error)
}

// Batch is a step of whoever follows.
type Batch struct {
	Was, Is Progress
	// Put are entries as they are now, and Remove documents that are to be found no
	// longer. No key is among them twice.
	Put    []Entry
	Remove []document.Key
}

// Lookup is what an index is asked for.
type Lookup struct {
	words.Need
	// AnyOf are words of which an entry has at least one; none do not restrict.
	AnyOf []string
	// Before is the id that entries are to be below; 0 begins.
	Before int64
	Limit  int
}

// Hit is an entry that was found.
type Hit struct {
	ID  int64
	Key document.Key
}

// Phase is what is done to an index.
type Phase string

// The phases.
const (
	// Clearing: what is there is removed, since it cannot be brought up to date.
	Clearing Phase = "clearing"
	// Filling: all documents are read, and what changes meanwhile is read afterwards.
	Filling Phase = "filling"
	// Following: changes are read as they come.
	Following Phase = "following"
)

// Progress is how far an index is.
type Progress struct {
	Phase Phase `json:"phase,omitempty"`
	// Scheme says what was indexed and how; see Scheme.
	Scheme string `json:"scheme,omitempty"`
	// Feed and Position are up to where the feed was read, or will have to be read
	// from once it is filled.
	Feed     string `json:"feed,omitempty"`
	Position int64  `json:"position,omitempty"`
	// After is the last document that was filled in.
	After document.Key `json:"after,omitzero"`
	// Seen is how many documents were read.
	Seen int64 `json:"seen,omitempty"`
}

// Behind is how far an index is behind the documents.
type Behind struct {
	// Building says that it does not have all documents yet.
	Building bool
	// Changes is how many changes it has not read.
	Changes int64
}

// Behind compares it with a feed.
func (p *Progress) Behind(b document.Bounds) Behind {
	if p.Feed != b.Feed || p.Phase == "" || p.Phase == Clearing {
		return Behind{Building: true, Changes: b.Newest}
	}
	return Behind{p.Phase != Following, max(0, b.Newest-p.Position)}
}
