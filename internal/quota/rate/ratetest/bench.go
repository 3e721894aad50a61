// Package ratetest is the conformance suite of the rate port: what every
// adapter must do, and a count of every sliding second to hold it against.
package ratetest

import (
	"testing"
	"time"

	"sluice/internal/quota/rate"
	"sluice/internal/ration/rationtest"
)

// Clock is a wall clock that can be set, and time that passes whatever it shows.
type Clock = rationtest.Clock

// NewClock returns a clock that shows a time.
func NewClock(at time.Time) *Clock { return rationtest.NewClock(at) }

// Store is what survives everything.
type Store = rationtest.Store

// Bench is one adapter under test.
type Bench interface {
	// Keepers are those of the processes that share the upstreams.
	Keepers() []rate.Keeper
	// Restart ends a process without warning and starts another in its place.
	Restart(process int)
	// Lose loses everything that is not in the store.
	Lose()
}

// Factory makes a test bench: keepers on this clock and store.
type Factory func(t testing.TB, limits rate.Limits, clock *Clock, store *Store) Bench

// Seconds counts calls, to tell how many there were in the fullest second.
type Seconds struct {
	at    []time.Duration
	calls []int
}

// Add notes calls that were granted after so much time has passed.
func (s *Seconds) Add(at time.Duration, calls int) {
	if calls > 0 {
		s.at, s.calls = append(s.at, at), append(s.calls, calls)
	}
}

// Fullest is how many calls there were in the fullest second, both of its ends
// included.
func (s *Seconds) Fullest() (most int) {
	sum, first := 0, 0
	for i, at := range s.at {
		sum += s.calls[i]
		for at-s.at[first] > time.Second {
			sum -= s.calls[first]
			first++
		}
		most = max(most, sum)
	}
	return most
}

// Total is how many calls there were.
func (s *Seconds) Total() (total int) {
	for _, n := range s.calls {
		total += n
	}
	return total
}
