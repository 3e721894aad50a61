package refresh

import (
	"context"
	"time"
)

// Verdict is what the answer to a call means.
type Verdict uint8

// The verdicts.
const (
	// FetchDone: the value is there.
	FetchDone Verdict = iota + 1
	// FetchRetry: a passing fault; worth a few tries.
	FetchRetry
	// FetchWait: the upstream wants to be left alone; nobody's fault.
	FetchWait
	// FetchDead: trying again is pointless.
	FetchDead
)

// String returns the name that people see.
func (v Verdict) String() string {
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

// Fetched is the meaning of one answer.
type Fetched struct {
	Verdict Verdict
	// Body is in its canonical form, and Hash over it.
	Body []byte
	Hash Hash
	// Received is how many bytes the answer had before it was trimmed.
	Received int
	// Wait is how long to stay away, for FetchWait. Everywhere tells that every
	// other call would end the same way now.
	Wait       time.Duration
	Everywhere bool
	// Free tells that the upstream cannot have seen the call.
	Free bool
	// Code names the failure for counting, Error describes it for people.
	Code, Error string
	HTTPStatus  int
}

// Fetcher asks an upstream for one entity, with exactly one call. It says when
// the call has left.
type Fetcher interface {
	Fetch(ctx context.Context, key string, sent func()) Fetched
}
