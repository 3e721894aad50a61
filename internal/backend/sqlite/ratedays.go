package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/quota/rate"
)

// RateDays implements rate.Store: the count of a day's calls.
type RateDays struct{ db *DB }

var _ rate.Store = (*RateDays)(nil)

// NewRateDays returns a store on an open database.
func NewRateDays(db *DB) *RateDays { return &RateDays{db} }

// Load implements rate.Store.
func (s *RateDays) Load(ctx context.Context, upstream, day string) (spent rate.Spent, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT calls, low FROM rate_day WHERE upstream = ? AND day = ?", func(r *driver.Stmt) {
			spent = rate.Spent{Calls: r.ColumnInt64(0), Low: r.ColumnInt64(1)}
		}, upstream, day)
	})
	return spent, err
}

// Save implements rate.Store.
func (s *RateDays) Save(ctx context.Context, upstream, day string, spent rate.Spent) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, `INSERT INTO rate_day (upstream, day, calls, low) VALUES (?, ?, ?, ?)
			ON CONFLICT (upstream, day) DO UPDATE SET calls = max(excluded.calls, calls), low = max(excluded.low, low)
			WHERE excluded.calls > rate_day.calls OR excluded.low > rate_day.low`, nil, upstream, day, spent.Calls, spent.Low)
	})
}
