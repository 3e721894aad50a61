package declared

import "time"

// What follows is the description of an upstream as simulators take it (docs/simulators.md):
// they know nothing of sources, and sources nothing of them, so that it goes between
// them as JSON.

// simSpec is an upstream.
type simSpec struct {
	// Auths are the ways in which a call may show its credential.
	Auths []simAuth
	// Owner is the path that tells whose credential it is, and OwnerAt where; "" if
	// there is none.
	Owner, OwnerAt string
	Streams        []simStream
	// Keyed are records that are asked for by key, and ErrorAt is where an answer that
	// is not good has its code.
	Keyed   []simKeyed
	ErrorAt string
	Rations []simRation
	// ParkStatus is how a call beyond a ration is answered; 429 if zero.
	ParkStatus int
}

// simKeyed is a kind of records that are asked for by key.
type simKeyed struct {
	Name, Path string
	Query      map[string]string
	// Keep are the paths that matter, Tells those of them by which others name the same
	// thing.
	Keep, Tells []string
}

// simAuth is a way in which a call shows its credential.
type simAuth struct {
	// Header, with Prefix, or Query is where; none is wanted if both are empty. Basic
	// says that it is encoded.
	Header, Prefix, Query string
	Basic                 bool
	// Login gives tokens, which are shown instead; nil if there are none.
	Login *simLogin
}

// simLogin is a call that gives tokens.
type simLogin struct {
	Path string
	// Grant is that of OAuth2, with the client in the body, or InHeader; "" for a call
	// that posts Fields as JSON.
	Grant    string
	InHeader bool
	Fields   []string
	// Token and Expires are where an answer has the token and its end, and ExpiresAs
	// how that is written. Lasts is how long it lasts where nothing tells.
	Token, Expires simPlace
	ExpiresAs      string
	Lasts          time.Duration
}

// simStream is a kind of records.
type simStream struct {
	Name string
	// Parent is the stream whose records have these; "" for those of the account.
	Parent string
	// Key is where a record has its id, Version its time of change and Title what
	// people call it. Names are what it is called by, if that is more than its id.
	Key            string
	Names          []simPart
	Version, Title string
	// ParentAt is where a record names its parent.
	ParentAt string
	// Fields are others that a record has, by their paths.
	Fields map[string]simKind
	// Addresses are fields that hold the address of another stream's records.
	Addresses map[string]string
	Routes    []simRoute
	ETag      bool
	// XML says that its answers are XML.
	XML bool
	// Touches says that a change of a record changes its parent too.
	Touches bool
	// Gone is how something of a parent that is gone is answered.
	Gone int
}

// simPart is a part of a record's name: what it has at a path, or one above it.
type simPart struct {
	Above int
	Path  string
}

// simKind is what a field holds.
type simKind string

// The kinds of fields.
const (
	simFieldText simKind = "text"
	// FieldName is a text that never changes.
	simFieldName    simKind = "name"
	simFieldInteger simKind = "integer"
	simFieldBoolean simKind = "boolean"
	simFieldInstant simKind = "instant"
	simFieldList    simKind = "list"
)

// simRoute is one way to ask for a stream's records.
type simRoute struct {
	Method string
	// Path has {parent.FIELD} where it names a parent by a field, and {*} for what may
	// be anything.
	Path string
	// Query are the parameters that it must have, with holes as in a path; {cursor} is
	// the instant since which changes are asked for, {until} the one until which, and
	// SinceAs how they are written.
	Query   map[string]string
	SinceAs string
	Page    simPage
	// Records is where the records are in an answer.
	Records string
	// One says that the answer is a record itself, Count that it is how many there are,
	// and where.
	One   bool
	Count simPlace
}

// simPage is how pages follow each other.
type simPage struct {
	Kind             string // "", page, offset, cursor, link, keyset
	Param, SizeParam string
	Size, Start      int
	Total            simPlace
	Pages            simPlace
	Next             simPlace
	More             string
	Rel, By          string
}

// simPlace is where an answer has a value.
type simPlace struct{ Header, Body string }

// simRation is what the upstream grants.
type simRation struct {
	Name string
	// PerKey, PerStream: whether credentials and streams have counts of their own.
	PerKey, PerStream bool
	Calls, Refill     int
	Every             time.Duration
	Shape             string
	// Match are the paths that draw on it, with * for one piece; all if empty.
	Match []string
	// Limit, Remaining, Used and Reset are where answers tell of it.
	Limit, Remaining, Used, Reset simPlace
	ResetAs                       string
}
