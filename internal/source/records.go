package source

import (
	"context"
	"time"

	"sluice/internal/quota/rate"
)

// Records is an upstream of keyed records, each of which is kept as fresh as it is
// wanted. Like a Source it never retries, never waits and never touches a store.
type Records interface {
	Fetcher
	// Name is how entities refer to the source.
	Name() string
	// CheckKey refuses what cannot be a key, and puts it into its one spelling.
	CheckKey(key string) (string, error)
	// Limits are what the upstream allows of calls.
	Limits() rate.Limits
}

// Fetcher asks an upstream for one record, with exactly one call. It says when
// the call has left.
type Fetcher interface {
	Fetch(ctx context.Context, key string, sent func()) Fetched
}

// FetchVerdict is what the answer to a call for a record means.
type FetchVerdict uint8

// The verdicts.
const (
	// FetchDone: the value is there.
	FetchDone FetchVerdict = iota + 1
	// FetchRetry: a passing fault; worth a few tries.
	FetchRetry
	// FetchWait: the upstream wants to be left alone; nobody's fault.
	FetchWait
	// FetchDead: trying again is pointless.
	FetchDead
)

// String returns the name that people see.
func (v FetchVerdict) String() string {
	switch v {
	case FetchDone:
		return "done"
	case FetchRetry:
		return "retry"
	case FetchWait:
		return "wait"
	case FetchDead:
		return "dead"
	}
	return "unknown"
}

// Fetched is the meaning of one answer to a call for a record.
type Fetched struct {
	Verdict FetchVerdict
	// Body is in its canonical form, and Hash over it.
	Body []byte
	Hash [32]byte
	// Received is how many bytes the answer had before it was trimmed.
	Received int
	// Wait is how long to stay away, for FetchWait. Everywhere tells that every
	// other call would end the same way now.
	Wait       time.Duration
	Everywhere bool
	// Free tells that the upstream cannot have seen the call, Unasked that it was
	// not even tried.
	Free, Unasked bool
	// Code names the failure for counting, Error describes it for people.
	Code, Error string
	HTTPStatus  int
}
