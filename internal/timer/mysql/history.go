package mysql

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/timer"
)

// Completions implements timer.History. What ended but was canceled has no
// completion.
func (s *Store) Completions(ctx context.Context, from time.Time, afterID string, limit int) (out []timer.Completion, err error) {
	var find mysqldb.Statement
	find.Write("SELECT " + timerColumns + " FROM timer FORCE INDEX (timer_ended) WHERE ")
	position(&find, "ended_at", mysqldb.Micros(from), afterID)
	find.Write(" AND status <> ").Int(int64(timer.Canceled)).Write(" ORDER BY ended_at, id LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		t, err := scanTimer(r)
		out = append(out, t.Completion())
		return err
	})
	return out, err
}

// Stats implements timer.History.
func (s *Store) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	stats := timer.Stats{From: from, Buckets: make([]int64, len(timer.LatenessBounds)+1), Servers: map[string]int64{}}
	lateness := int64(0) // of all, in microseconds
	var find mysqldb.Statement
	find.Write("SELECT server, status, bucket, COUNT(*), SUM(late), MAX(late), COUNT(IF(late > ").Int(timer.LateAfter.Microseconds())
	find.Write(", 1, NULL)) FROM (SELECT server, status, late, CASE")
	for i, bound := range timer.LatenessBounds {
		find.Write(" WHEN late <= ").Int(bound.Microseconds()).Write(" THEN ").Int(int64(i))
	}
	find.Write(" ELSE ").Int(int64(len(timer.LatenessBounds))).Write(" END AS bucket FROM (SELECT server, status, ")
	find.Write("GREATEST(0, ended_at - GREATEST(at, set_at)) AS late FROM timer WHERE ended_at > 0 AND ended_at >= ").Time(from)
	find.Write(" AND status <> ").Int(int64(timer.Canceled)).Write(") AS fired) AS sorted GROUP BY server, status, bucket")
	err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var server string
		var status timer.Status
		var bucket int
		var count, sum, most, late int64
		if err := r.Scan(&server, &status, &bucket, &count, &sum, &most, &late); err != nil {
			return err
		}
		stats.Completed += count
		switch status {
		case timer.Completed:
			stats.Succeeded += count
		case timer.Dead:
			stats.Failed += count
		}
		lateness += sum
		stats.Late += late
		stats.Max = max(stats.Max, time.Duration(most)*time.Microsecond)
		stats.Buckets[bucket] += count
		stats.Servers[server] += count
		return nil
	})
	if n := stats.Completed; n > 0 {
		// In two steps: the sum in nanoseconds might be too large.
		stats.Mean = time.Duration(lateness/n)*time.Microsecond + time.Duration(lateness%n)*time.Microsecond/time.Duration(n)
	}
	return stats, err
}
