// Package backoff leaves alone what fails. Delays say how long to wait before one
// thing is tried again: every place names its own first and longest delay, and the
// doubling, the part that is left to chance and the waiting are here. A Breaker
// (breaker.go) keeps all callers away from a part that fails.
package backoff

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Delays double from First to Longest.
type Delays struct {
	First time.Duration
	// Longest bounds a delay; zero means that nothing does.
	Longest time.Duration
	// Spread is which part of a delay is left to chance, so that those who failed
	// together do not come back together: 0 nothing, 0.5 its upper half, 1 all.
	Spread float64
	// Random yields numbers in [0,1); nil means math/rand.
	Random func() float64
}

// Upper and Whole are how far delays are spread: over their upper half, or from
// nothing on.
const (
	Upper = 0.5
	Whole = 1
)

// Delay is the n-th delay, counted from zero.
func (d Delays) Delay(n int) time.Duration {
	whole := d.whole(max(n, 0))
	chance := time.Duration(d.Spread * float64(whole))
	if chance <= 0 {
		return whole
	}
	random := d.Random
	if random == nil {
		random = rand.Float64
	}
	return whole - chance + time.Duration(random()*float64(chance))
}

func (d Delays) whole(n int) time.Duration {
	longest := d.Longest
	if longest <= 0 {
		longest = math.MaxInt64
	}
	// Shifting the first one could overflow.
	if n > 62 || d.First > longest>>n {
		return longest
	}
	return d.First << n
}

// Series are the delays between the tries of one thing.
type Series struct {
	delays Delays
	n      int
}

// Series begins with the first delay.
func (d Delays) Series() *Series { return &Series{delays: d} }

// Next is the delay before the next try.
func (s *Series) Next() time.Duration {
	d := s.delays.Delay(s.n)
	s.n++
	return d
}

// Reset begins with the first delay again: a try has succeeded.
func (s *Series) Reset() { s.n = 0 }

// Sleep waits; it reports false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
