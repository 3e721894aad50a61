// Package document is the port to where collected things are stored. A
// document has a deterministic identity, so storing it twice is storing it
// once, and of two versions the newer wins whatever order they arrive in.
package document

import (
	"context"
	"time"
)

// Kind is what a document is.
type Kind string

// The kinds of documents.
const (
	KindProfile    Kind = "profile"
	KindRepository Kind = "repository"
	KindCommit     Kind = "commit"
	KindIssue      Kind = "issue"
	KindPull       Kind = "pull"
	KindEvent      Kind = "event"
)

// Key identifies a document: whose it is, what it is, and its name within
// that. Accounts never share documents, since one may see what another may not.
type Key struct {
	Account int64
	Kind    Kind
	// Name is unique for account and kind: a database id, or
	// "<repository id>:<sha>" for a commit.
	Name string
}

// Document is one collected thing.
type Document struct {
	Key
	// Version decides which of two copies is newer: the thing's own update
	// time where it has one, else the time it was fetched.
	Version time.Time
	Fields
	// Raw is the upstream's own JSON. It is empty when the caller asked for
	// fields alone.
	Raw []byte
}

// Fields are the parts of a document that can be queried without its payload.
// Fields that a kind does not have are zero.
type Fields struct {
	Repository int64 // database id of the repository it belongs to
	Number     int64
	State      string
	Title      string // a repository's full name; an event's type
	Author     string // login
	Language   string
	Stars      int64
	Additions  int64
	Deletions  int64
	CreatedAt  time.Time // a commit's commit time
	UpdatedAt  time.Time
	ClosedAt   time.Time
	MergedAt   time.Time
	ClosedBy   string // login
	Fork       bool
	Private    bool
	// External marks a thing in a repository that the account does not own.
	External  bool
	Deleted   bool
	Truncated bool
	// Measured says that Additions and Deletions are known.
	Measured bool
}

// Query selects documents. Zero fields do not restrict.
type Query struct {
	Account    int64
	Kind       Kind
	Repository int64
	// Since and Until bound CreatedAt: Since inclusive, Until exclusive.
	Since, Until time.Time
	// WithRaw also loads the payload.
	WithRaw bool
}

// Absence names things that the upstream no longer has. They are kept and
// flagged as deleted; a newer copy takes the flag away again.
type Absence struct {
	Account, Repository int64
	// Kind restricts it to issues or pull requests; empty means the repository
	// with everything in it. Events about it are the account's and stay.
	Kind Kind
	// Of the numbers above After and up to UpTo, only Present are there.
	After, UpTo int64
	Present     []int64
	// CreatedBefore spares what came into being since.
	CreatedBefore time.Time
}

// Writer stores documents. It is what a separate document store offers the
// engine; beside the state, documents travel inside the job's outcome.
type Writer interface {
	// Upsert stores documents, each unless a newer version is there. It is
	// idempotent and all or nothing.
	Upsert(ctx context.Context, docs []Document) error
	// MarkDeleted flags what is absent.
	MarkDeleted(ctx context.Context, absences []Absence) error
}

// Reader reads documents.
type Reader interface {
	// Get returns one document with its payload; ok is false if there is none.
	Get(ctx context.Context, key Key) (doc Document, ok bool, err error)
	// Scan calls fn for each match, ordered by account, kind and name, without holding
	// more than a few in memory. It stops at fn's first error and returns it.
	Scan(ctx context.Context, q Query, fn func(*Document) error) error
	// Count counts an account's documents by kind, deleted ones included.
	Count(ctx context.Context, account int64) (map[Kind]int64, error)
}

// Store is a complete document store.
type Store interface {
	Writer
	Reader
}
