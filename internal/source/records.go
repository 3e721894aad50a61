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

// Chained are records that a call for another one may need: the ocid of a name.
type Chained interface {
	// Needs are the records that must be known before a call for key can be made.
	Needs(key string) []Need
	// FetchKnowing is Fetch with the values of those, by their keys.
	FetchKnowing(ctx context.Context, key string, known map[string][]byte, sent func()) Fetched
}

// Need is a record that a call needs. Its value is asked for anew, by a call of its
// own, if it is older than Within.
type Need struct {
	Key    string
	Within time.Duration
}

// Paced are records that are not all kept as fresh as the program does it by itself.
type Paced interface {
	// Pace is how fresh a record is kept.
	Pace(key string) Pace
}

// Pace is how fresh a record is kept. What is zero is as the program has it.
type Pace struct {
	// FreshFor is how long its value counts as fresh.
	FreshFor time.Duration
	// Hot, Warm and Cold are how long after a refresh the next is due, by how much it
	// is read.
	Hot, Warm, Cold time.Duration
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
	// Renew tells, with FetchRetry, that what the call needed of other records is no
	// longer so: they are asked for first.
	Renew bool
	// Free tells that the upstream cannot have seen the call, Unasked that it was
	// not even tried.
	Free, Unasked bool
	// Code names the failure for counting, Error describes it for people.
	Code, Error string
	HTTPStatus  int
}
