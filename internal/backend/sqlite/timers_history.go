package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/timer"
)

// firedSince is what Completions and Stats look at: what ended but was canceled
// has no completion.
const firedSince = "ended_at >= ?1 AND status <> ?2"

// Completions implements timer.History.
func (s *Timers) Completions(ctx context.Context, from time.Time, afterID string, limit int) (out []timer.Completion, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+timerColumns+" FROM timer WHERE "+firedSince+" AND (ended_at, id) > (?1, ?3) ORDER BY ended_at, id LIMIT ?4",
			func(r *driver.Stmt) { out = append(out, scanTimer(r).Completion()) },
			from, int64(timer.Canceled), afterID, max(0, limit))
	})
	return out, err
}

// Stats implements timer.History.
func (s *Timers) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	sum := timer.NewSummary(from)
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT status, max(0, ended_at - max(at, set_at)), server FROM timer WHERE "+firedSince, func(r *driver.Stmt) {
			sum.AddOne(r.ColumnText(2), timer.Status(r.ColumnInt(0)), r.ColumnInt64(1))
		}, from, int64(timer.Canceled))
	})
	return sum.Stats(), err
}
