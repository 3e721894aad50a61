// Package declared simulates an upstream that a file describes: it has records, pages
// and rations as the file says, and knows the truth. Like every simulator it knows
// nothing of the collector: a Spec is all that it is told.
//
//   - spec.go: what an upstream is.
//   - world.go: its records; mutate.go: how they change.
//   - keyed.go: records that are asked for by key.
//   - server.go, page.go: how it answers; rations.go: how it counts.
//   - simapi.go: the truth, the audit, orders (/_sim/…).
package declared

import (
	"encoding/json"
	"time"
)

// ParseSpec reads an upstream as JSON.
func ParseSpec(text []byte) (s Spec, err error) {
	err = json.Unmarshal(text, &s)
	return s, err
}

// Spec is an upstream.
type Spec struct {
	// Auths are the ways in which a call may show its credential.
	Auths []Auth
	// Owner is the path that tells whose credential it is, and OwnerAt where; "" if
	// there is none.
	Owner, OwnerAt string
	Streams        []Stream
	// Keyed are records that are asked for by key, and ErrorAt is where an answer that
	// is not good has its code.
	Keyed   []Keyed
	ErrorAt string
	Rations []Ration
	// ParkStatus is how a call beyond a ration is answered; 429 if zero.
	ParkStatus int
}

// Auth is a way in which a call shows its credential.
type Auth struct {
	// Header, with Prefix, or Query is where; none is wanted if both are empty. Basic
	// says that it is encoded.
	Header, Prefix, Query string
	Basic                 bool
	// Login gives tokens, which are shown instead; nil if there are none.
	Login *Login
}

// Login is a call that gives tokens.
type Login struct {
	Path string
	// Grant is that of OAuth2, with the client in the body, or InHeader; "" for a call
	// that posts Fields as JSON.
	Grant    string
	InHeader bool
	Fields   []string
	// Token and Expires are where an answer has the token and its end, and ExpiresAs
	// how that is written. Lasts is how long it lasts where nothing tells.
	Token, Expires Place
	ExpiresAs      string
	Lasts          time.Duration
}

// Stream is a kind of records.
type Stream struct {
	Name string
	// Parent is the stream whose records have these; "" for those of the account.
	Parent string
	// Key is where a record has its id, Version its time of change and Title what
	// people call it. Names are what it is called by, if that is more than its id.
	Key            string
	Names          []Part
	Version, Title string
	// ParentAt is where a record names its parent.
	ParentAt string
	// Fields are others that a record has, by their paths.
	Fields map[string]FieldKind
	// Addresses are fields that hold the address of another stream's records.
	Addresses map[string]string
	Routes    []Route
	ETag      bool
	// XML says that its answers are XML.
	XML bool
	// Touches says that a change of a record changes its parent too.
	Touches bool
	// Gone is how something of a parent that is gone is answered.
	Gone int
}

// Part is a part of a record's name: what it has at a path, or one above it.
type Part struct {
	Above int
	Path  string
}

// FieldKind is what a field holds.
type FieldKind string

// The kinds of fields.
const (
	FieldText FieldKind = "text"
	// FieldName is a text that never changes.
	FieldName    FieldKind = "name"
	FieldInteger FieldKind = "integer"
	FieldBoolean FieldKind = "boolean"
	FieldInstant FieldKind = "instant"
	FieldList    FieldKind = "list"
)

// Route is one way to ask for a stream's records.
type Route struct {
	Method string
	// Path has {parent.FIELD} where it names a parent by a field, and {*} for what may
	// be anything.
	Path string
	// Query are the parameters that it must have, with holes as in a path; {cursor} is
	// the instant since which changes are asked for, {until} the one until which, and
	// SinceAs how they are written.
	Query   map[string]string
	SinceAs string
	Page    Page
	// Records is where the records are in an answer.
	Records string
	// One says that the answer is a record itself, Count that it is how many there are,
	// and where.
	One   bool
	Count Place
}

// Page is how pages follow each other.
type Page struct {
	Kind             string // "", page, offset, cursor, link, keyset
	Param, SizeParam string
	Size, Start      int
	Total            Place
	Pages            Place
	Next             Place
	More             string
	Rel, By          string
}

// Place is where an answer has a value.
type Place struct{ Header, Body string }

func (p Place) is() bool { return p.Header != "" || p.Body != "" }

// Ration is what the upstream grants.
type Ration struct {
	Name string
	// PerKey, PerStream: whether credentials and streams have counts of their own.
	PerKey, PerStream bool
	Calls, Refill     int
	Every             time.Duration
	Shape             string
	// Match are the paths that draw on it, with * for one piece; all if empty.
	Match []string
	// Limit, Remaining, Used and Reset are where answers tell of it.
	Limit, Remaining, Used, Reset Place
	ResetAs                       string
}
