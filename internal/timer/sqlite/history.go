package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/sqlitedb"
	"sluice/internal/timer"
)

// firedSince is what Completions and Stats look at: what ended but was canceled
// has no completion.
const firedSince = "ended_at >= ?1 AND status <> ?2"

// Completions implements timer.History.
func (s *Store) Completions(ctx context.Context, from time.Time, afterID string, limit int) (out []timer.Completion, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+timerColumns+" FROM timer WHERE "+firedSince+" AND (ended_at, id) > (?1, ?3) ORDER BY ended_at, id LIMIT ?4",
			func(r *sqlite.Stmt) { out = append(out, scanTimer(r).Completion()) },
			from, int64(timer.Canceled), afterID, max(0, limit))
	})
	return out, err
}

// Stats implements timer.History.
func (s *Store) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	sum := summary{Stats: timer.Stats{From: from, Buckets: make([]int64, len(timer.LatenessBounds)+1), Servers: map[string]int64{}}}
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT status, max(0, ended_at - max(at, set_at)), server FROM timer WHERE "+firedSince,
			sum.add, from, int64(timer.Canceled))
	})
	return sum.result(), err
}

// summary is Stats in the making.
type summary struct {
	timer.Stats
	lateness int64 // of all, in microseconds
}

func (s *summary) add(r *sqlite.Stmt) {
	status, micros := timer.Status(r.ColumnInt(0)), r.ColumnInt64(1)
	s.Completed++
	switch status {
	case timer.Completed:
		s.Succeeded++
	case timer.Dead:
		s.Failed++
	}
	s.lateness += micros
	late := time.Duration(micros) * time.Microsecond
	if late > timer.LateAfter {
		s.Late++
	}
	s.Max = max(s.Max, late)
	bucket := 0
	for bucket < len(timer.LatenessBounds) && late > timer.LatenessBounds[bucket] {
		bucket++
	}
	s.Buckets[bucket]++
	s.Servers[r.ColumnText(2)]++
}

func (s *summary) result() timer.Stats {
	if s.Completed > 0 {
		// In two steps: the sum in nanoseconds might be too large.
		whole, rest := s.lateness/s.Completed, s.lateness%s.Completed
		s.Mean = time.Duration(whole)*time.Microsecond + time.Duration(rest)*time.Microsecond/time.Duration(s.Completed)
	}
	return s.Stats
}
