package timer

import (
	"slices"
	"time"
)

// Summary is Stats in the making.
type Summary struct {
	stats    Stats
	lateness int64 // of all, in microseconds
}

// NewSummary is of no completion yet.
func NewSummary(from time.Time) *Summary {
	return &Summary{stats: Stats{From: from, Buckets: make([]int64, len(LatenessBounds)+1), Servers: map[string]int64{}}}
}

// Same is completions of one server that came to the same and were about as late;
// times are microseconds.
type Same struct {
	Server string
	Status Status
	// Bucket is the one of LatenessBounds that all of them are in.
	Bucket int
	// Count is how many they are, and how many of them are Late.
	Count, Late int64
	// Sum and Max are of their lateness.
	Sum, Max int64
}

// Add counts completions that are much the same.
func (s *Summary) Add(same Same) {
	s.stats.Completed += same.Count
	switch same.Status {
	case Completed:
		s.stats.Succeeded += same.Count
	case Dead:
		s.stats.Failed += same.Count
	}
	s.lateness += same.Sum
	s.stats.Late += same.Late
	s.stats.Max = max(s.stats.Max, time.Duration(same.Max)*time.Microsecond)
	s.stats.Buckets[same.Bucket] += same.Count
	s.stats.Servers[same.Server] += same.Count
}

// AddOne counts one completion, by its lateness in microseconds.
func (s *Summary) AddOne(server string, status Status, micros int64) {
	lateness := time.Duration(micros) * time.Microsecond
	same := Same{Server: server, Status: status, Count: 1, Sum: micros, Max: micros}
	if lateness > LateAfter {
		same.Late = 1
	}
	// The place where a lateness is found or would be inserted is the first
	// bound that is not below it.
	same.Bucket, _ = slices.BinarySearch(LatenessBounds, lateness)
	s.Add(same)
}

// Stats is what the completions come to.
func (s *Summary) Stats() Stats {
	if n := s.stats.Completed; n > 0 {
		// In two steps: the sum in nanoseconds might be too large.
		s.stats.Mean = time.Duration(s.lateness/n)*time.Microsecond + time.Duration(s.lateness%n)*time.Microsecond/time.Duration(n)
	}
	return s.stats
}
