package source

import (
	"context"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Sharer is implemented by sources whose accounts with the same credential collect
// once what several of them reach: one leads, and the others copy what it has by jobs
// that make no call (domain.LocalBucket).
type Sharer interface {
	// Adopted reports whether a job goes on from where another account had come: what
	// stands for its pages came in with this run.
	Adopted(job domain.JobSpec) bool
}

// Shared is what a call may know of the accounts of its source that have the same
// credential as its own.
type Shared interface {
	// Lead says who leads resources, in their order: the account of the call, from now
	// on, where nobody else does who is active and has the credential. Over, if set, is
	// a leader that is of no use.
	Lead(ctx context.Context, resources []string, over domain.Leader) ([]domain.Leader, error)
	// Cursors returns those of an account's cursors that have one of the names, and
	// Pages its stored pages that have a resource as a word of their key.
	Cursors(ctx context.Context, account int64, names []string) (map[string]time.Time, error)
	Pages(ctx context.Context, account int64, resource string) ([]domain.Page, error)
	// Document returns one document; ok is false if there is none. Documents returns
	// the first of a query with their payloads, about as many as are stored at once;
	// more says that there are others behind them.
	Document(ctx context.Context, key document.Key) (doc document.Document, ok bool, err error)
	Documents(ctx context.Context, q document.Query) (docs []document.Document, more bool, err error)
	// Changed returns those of a query that were seen at an instant or later. It is not
	// known what has changed if there are too many of them, or if one was found gone
	// since then.
	Changed(ctx context.Context, q document.Query, since time.Time) (docs []document.Document, known bool, err error)
}
