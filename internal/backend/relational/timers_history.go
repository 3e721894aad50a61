package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/timer"
)

// Completions implements timer.History. What ended but was canceled has no
// completion.
func (s *Timers) Completions(ctx context.Context, from time.Time, afterID string, limit int) (out []timer.Completion, err error) {
	var find Statement
	find.Write("SELECT " + timerColumns + " FROM timer /*! FORCE INDEX (timer_ended) */ WHERE ")
	afterPosition(&find, "ended_at", Micros(from), afterID)
	find.Write(" AND status <> ").Int(int64(timer.Canceled)).Write(" ORDER BY ended_at, id LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		t, err := scanTimer(r)
		out = append(out, t.Completion())
		return err
	})
	return out, err
}

// Stats implements timer.History.
func (s *Timers) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	sum := timer.NewSummary(from)
	var find Statement
	find.Write("SELECT server, status, bucket, COUNT(*), SUM(late), MAX(late), COUNT(CASE WHEN late > ").Int(timer.LateAfter.Microseconds())
	find.Write(" THEN 1 END) FROM (SELECT server, status, late, CASE")
	for i, bound := range timer.LatenessBounds {
		find.Write(" WHEN late <= ").Int(bound.Microseconds()).Write(" THEN ").Int(int64(i))
	}
	find.Write(" ELSE ").Int(int64(len(timer.LatenessBounds))).Write(" END AS bucket FROM (SELECT server, status, ")
	find.Write("GREATEST(0, ended_at - GREATEST(at, set_at)) AS late FROM timer WHERE ended_at > 0 AND ended_at >= ").Time(from)
	find.Write(" AND status <> ").Int(int64(timer.Canceled)).Write(") AS fired) AS sorted GROUP BY server, status, bucket")
	err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var same timer.Same
		err := r.Scan(&same.Server, &same.Status, &same.Bucket, &same.Count, &same.Sum, &same.Max, &same.Late)
		sum.Add(same)
		return err
	})
	return sum.Stats(), err
}
