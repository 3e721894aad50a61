package mongo

import (
	"slices"
	"time"

	"sluice/internal/timer"
)

// sum adds records up.
type sum struct {
	timer.Stats
	lateness int64 // of all, in microseconds
}

func newSum(from time.Time) *sum {
	return &sum{Stats: timer.Stats{From: from, Buckets: make([]int64, len(timer.LatenessBounds)+1), Servers: map[string]int64{}}}
}

func (s *sum) add(r *completionRecord) {
	s.Completed++
	switch r.Status {
	case timer.Completed.String():
		s.Succeeded++
	case timer.Dead.String():
		s.Failed++
	}
	if r.Late {
		s.Late++
	}
	s.lateness += r.LatenessMicros
	lateness := time.Duration(r.LatenessMicros) * time.Microsecond
	s.Max = max(s.Max, lateness)
	// The place where a lateness is found or would be inserted is the first
	// bound that is not below it.
	bucket, _ := slices.BinarySearch(timer.LatenessBounds, lateness)
	s.Buckets[bucket]++
	s.Servers[r.ServerID]++
}

func (s *sum) stats() timer.Stats {
	if s.Completed > 0 {
		// As nanoseconds the sum could overflow.
		whole, rest := s.lateness/s.Completed, s.lateness%s.Completed
		s.Mean = time.Duration(whole)*time.Microsecond + time.Duration(rest)*time.Microsecond/time.Duration(s.Completed)
	}
	return s.Stats
}
