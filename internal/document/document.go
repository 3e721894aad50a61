// Package document is the port to where collected things are stored. A
// document has a deterministic identity, so storing it twice is storing it
// once, and of two versions the newer wins whatever order they arrive in.
//
//   - document.go: the port, documents and what can be asked of them.
//   - declare.go: kinds of documents, which sources declare; stores, exports and
//     statistics go by these declarations and know no kind by its name.
//   - columns.go: the columns of a kind's table, and how they are read.
//   - own.go: values that a source adds to what stores keep of every document.
//   - fill.go: how what is stored gets such values that were declared later.
//   - absence.go: what is gone, why and since when.
//   - feed.go: the log of changes, and how those are read who changed.
//   - list.go: what can be asked of a list.
package document

import (
	"context"
	"time"
)

// Kind is what a document is. Which kinds there are is declared by the sources:
// see Declaration.
type Kind string

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
	// SeenAt is when the upstream showed it, by the upstream's clock. What was
	// seen later than it was said to be gone is there again, whatever its
	// version; a repository then takes along everything that went with it.
	SeenAt time.Time
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
	External bool
	// Deleted marks what the upstream shows no longer, be it by itself or with
	// its repository; GoneSince and GoneWhy say since when and why. Stores set
	// the three from absences.
	Deleted   bool
	GoneSince time.Time
	GoneWhy   Reason
	Truncated bool
	// Measured says that Additions and Deletions are known.
	Measured bool
	// Own are the values that only this kind has (see FromOwn).
	Own Values
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
	// WithoutOwn leaves out the values of their own, some of which are long.
	WithoutOwn bool
	// After begins a scan behind a key, in the order of scans; the zero key begins
	// at the first document.
	After Key
}

// Reason is why something is gone.
type Reason string

// The reasons.
const (
	// GoneDeleted: a complete listing does not have it, or a look by its id
	// found nothing.
	GoneDeleted Reason = "deleted"
	// GoneTransferred: it is somebody else's now.
	GoneTransferred Reason = "transferred"
	// GoneForbidden: it is there, and the credential may not see it.
	GoneForbidden Reason = "forbidden"
	// GoneBlocked: the upstream withholds it, for legal reasons for example.
	GoneBlocked Reason = "blocked"
	// GoneRewritten: it is no part of its branch's history any more.
	GoneRewritten Reason = "rewritten"
)

// Absence is the claim that the upstream shows something no longer. Whoever
// makes it has the evidence: a complete listing, or a second look by id. What
// is absent is kept and flagged, until it is seen again (see Document.SeenAt).
type Absence struct {
	Account, Repository int64
	Why                 Reason
	// Since is when it was found missing, by the upstream's clock. What was
	// seen later is spared.
	Since time.Time
	// Kind restricts it to one kind of a repository's things, and NotSeenSince
	// says which: those that were last seen before it, in a listing that was
	// walked to its end and in which everything present was stored with a later
	// SeenAt. Without a kind it is the repository with everything in it, but for
	// what is independent of it.
	Kind         Kind
	NotSeenSince time.Time
	// Numbers restricts it to things with these numbers.
	Numbers []int64
	// With says, instead of NotSeenSince, that the things of the kind go and come back
	// with those of other kinds that they belong to: their number is that thing's number,
	// or its name if it is Named. Those whose thing is gone are flagged, and those that
	// were and whose thing is there are seen.
	With  []Kind
	Named bool
}

// Writer stores documents. It is what a separate document store offers the
// engine; beside the state, documents travel inside the job's outcome.
type Writer interface {
	// Upsert stores documents, each unless a newer version is there; that it
	// was seen is noted in any case. It is idempotent and all or nothing.
	Upsert(ctx context.Context, docs []Document) error
	// MarkDeleted flags what is absent. An absence without a reason or an
	// instant is an error of code invalid, and nothing is flagged.
	MarkDeleted(ctx context.Context, absences []Absence) error
	// Purge removes up to so many records of an account, its documents and what is
	// known of its repositories, and returns how many; 0 when nothing is left.
	Purge(ctx context.Context, account int64, most int) (int64, error)
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
