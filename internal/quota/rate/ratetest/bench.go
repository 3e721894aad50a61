// Package ratetest is the conformance suite of the rate port: what every
// adapter must do, and a count of every sliding second to hold it against.
package ratetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/internal/quota/rate"
)

// Clock is a wall clock that can be set, and time that passes whatever it shows.
type Clock struct {
	// held is by whoever needs the clock to stand still.
	held   sync.RWMutex
	mu     sync.Mutex
	wall   time.Time
	passed time.Duration
}

// NewClock returns a clock that shows a time.
func NewClock(at time.Time) *Clock { return &Clock{wall: at} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Passed is how much time has passed.
func (c *Clock) Passed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// Hold keeps the clock from being moved until release is called.
func (c *Clock) Hold() (release func()) {
	c.held.RLock()
	return c.held.RUnlock
}

// Advance lets time pass, in whole microseconds.
func (c *Clock) Advance(d time.Duration) {
	d = (d + time.Microsecond - 1).Truncate(time.Microsecond)
	c.held.Lock()
	defer c.held.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.passed = c.wall.Add(d), c.passed+d
}

// Set sets the wall clock forward or back.
func (c *Clock) Set(by time.Duration) {
	c.held.Lock()
	defer c.held.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(by.Truncate(time.Microsecond))
}

// Store is a rate.Store that survives everything.
type Store struct {
	mu    sync.Mutex
	days  map[string]rate.Spent
	saves int
	fails bool
}

// Load implements rate.Store.
func (s *Store) Load(_ context.Context, upstream, day string) (rate.Spent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return rate.Spent{}, errors.New("the store is away")
	}
	return s.days[upstream+day], nil
}

// Save implements rate.Store.
func (s *Store) Save(_ context.Context, upstream, day string, spent rate.Spent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errors.New("the store is away")
	}
	s.saves++
	if s.days == nil {
		s.days = make(map[string]rate.Spent)
	}
	old := s.days[upstream+day]
	s.days[upstream+day] = rate.Spent{Calls: max(old.Calls, spent.Calls), Low: max(old.Low, spent.Low)}
	return nil
}

// Fail lets the store fail, or work again.
func (s *Store) Fail(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

// Saves is how often it was written.
func (s *Store) Saves() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saves
}

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
