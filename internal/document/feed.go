package document

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Change is one committed change of a document. It says what changed and not what
// to: whoever follows the feed reads the document as it is by then.
type Change struct {
	// Position is its place in the feed of its store, from 1. Positions are in the
	// order of commits and are never used twice.
	Position int64
	// Key is the document; its kind and name are "" if it is the whole account.
	Key
	What What
	// Version is that of the document; zero if the whole account is gone.
	Version time.Time
	// At is when it was committed, by the clock of the store.
	At time.Time
}

// What is what happened to a document.
type What string

// What can happen. Something is a change if a row of its table, or its payload, is
// another one afterwards: that it was merely seen again is none.
const (
	Created What = "created"
	// Updated: the upstream shows it otherwise, or shows it again; or what the row
	// shows of its repository, or of a column that was filled in, has changed.
	Updated What = "updated"
	// Deleted: the upstream shows it no longer, by itself or with its repository, or
	// another reason is known for that. It is kept and flagged.
	Deleted What = "deleted"
	// Purged: everything of the account was removed, and all that the feed said of it.
	Purged What = "purged"
)

// Bounds are the positions that a feed still has. Whoever is behind Oldest-1 has
// missed changes for good, and begins anew from the documents themselves.
type Bounds struct {
	// Feed names this feed among all that there are: a position means nothing in
	// another one, such as that of a store which was made anew.
	Feed string
	// Oldest is the first position that is kept, Newest the last one that is taken;
	// of a feed without changes Oldest is Newest+1.
	Oldest, Newest int64
}

// Check refuses a position after which changes cannot be read: one that is behind
// what is kept with an error of code gone, and one that was never given with one of
// code invalid.
func (b Bounds) Check(after int64) error {
	switch {
	case after < 0:
		return domain.Errorf(domain.CodeInvalid, "a position is a number from 0; got %d", after)
	case after > b.Newest:
		return domain.Errorf(domain.CodeInvalid,
			"there is no position %d: the newest is %d; if the store was made anew or restored, export the table anew and go on from position %d", after, b.Newest, b.Newest)
	case after < b.Oldest-1:
		return domain.Errorf(domain.CodeGone,
			"changes after position %d are kept no longer (the oldest is %d): export the table anew and go on from position %d", after, b.Oldest, b.Newest)
	}
	return nil
}

// Feed is the log of changes of a store of documents. A change is in it exactly if
// its transaction is committed: it is written in the same one. A store without
// transactions promises less: several changes of a document that nobody has read in
// between may be one, and a process that dies may leave one to be told again. None is
// ever left out.
type Feed interface {
	// Changes returns up to so many changes after a position, in their order. Once
	// it has returned a position nothing will ever appear before it. A position that
	// is behind what is kept is an error of code gone, and one that is ahead of what
	// there is one of code invalid.
	Changes(ctx context.Context, after int64, limit int) ([]Change, error)
	Bounds(ctx context.Context) (Bounds, error)
	// TrimChanges removes changes that were committed before an instant, up to about
	// so many, oldest first, and returns how many.
	TrimChanges(ctx context.Context, before time.Time, most int) (int64, error)
}

// Finder reads documents by their keys, as whoever follows the feed does.
type Finder interface {
	// Find returns those of the documents that there are, in any order, with their
	// payloads if these are asked for.
	Find(ctx context.Context, keys []Key, withRaw bool) ([]Document, error)
}
