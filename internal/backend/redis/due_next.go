package redis

import (
	"math"
	"sync"
	"time"
)

// never is the score of no instant.
const never int64 = math.MaxInt64

// clockReading is what Redis's clock said, in microseconds, at an instant of ours.
type clockReading struct {
	now  int64
	when time.Time
}

func newClockReading(now int64) clockReading { return clockReading{now, time.Now()} }

// clock estimates Redis's clock.
func (r clockReading) clock() time.Time { return time.UnixMicro(r.now).Add(time.Since(r.when)).UTC() }

// cachedNext is what a process knows of the set, so that it looks only when there is
// a reason.
type cachedNext struct {
	mu sync.Mutex
	// run is the run of the server that was seen, "" if it may be another by
	// now.
	run string
	// reading is of when somebody looked last.
	clockReading
	// next is the earliest instant, never if there is none.
	next int64
	// heard is the earliest instant that was heard of while somebody looks:
	// his answer may be older.
	heard int64
	// lost and more ask for a look at once: something may have been missed, or
	// left over.
	lost, more bool
}

func newCachedNext() cachedNext { return cachedNext{next: never, heard: never, lost: true} }

// begin notes that somebody looks and returns the run that was seen.
func (s *cachedNext) begin() (run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard, s.lost, s.more = never, false, false
	return s.run
}

// end takes in what a look brought. more says that there may be more that is
// due.
func (s *cachedNext) end(run string, now, next int64, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clockReading, s.next = newClockReading(now), min(next, s.heard)
	s.more = more
	if !s.lost {
		s.run = run
	}
}

// hear takes in an instant and says whether it became the earliest.
func (s *cachedNext) hear(at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = min(s.heard, at)
	if at >= s.next {
		return false
	}
	s.next = at
	return true
}

// lose notes that anything may have happened.
func (s *cachedNext) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.lost = "", true
}

// wait returns how long there is no reason to look.
func (s *cachedNext) wait(longest time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost || s.more {
		return 0
	}
	if s.next < never {
		// Far instants would not fit into a duration.
		ahead := min(s.next-s.now, longest.Microseconds())
		longest = time.Duration(ahead) * time.Microsecond
	}
	return time.Until(s.when.Add(longest))
}

// clock estimates Redis's clock.
func (s *cachedNext) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clockReading.clock()
}
