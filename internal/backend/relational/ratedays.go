package relational

import (
	"context"
	"database/sql"

	"sluice/internal/quota/rate"
)

// RateDays implements rate.Store: the count of a day's calls.
type RateDays struct{ db *DB }

var _ rate.Store = (*RateDays)(nil)

// NewRateDays returns a store on an open database.
func NewRateDays(db *DB) *RateDays { return &RateDays{db} }

// Load implements rate.Store.
func (s *RateDays) Load(ctx context.Context, upstream, day string) (spent rate.Spent, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&spent.Calls, &spent.Low) },
		"SELECT calls, low FROM rate_day WHERE upstream = ? AND day = ?", upstream, day)
	return spent, err
}

// Save implements rate.Store. Of two processes that write at once the larger
// count stays.
func (s *RateDays) Save(ctx context.Context, upstream, day string, spent rate.Spent) error {
	_, err := s.db.Exec(ctx, "INSERT INTO rate_day (upstream, day, calls, low) VALUES (?, ?, ?, ?) "+s.db.Dialect().Upsert(Upsert{
		Key: "upstream, day", Set: "low = GREATEST(rate_day.low, excluded.low), calls = GREATEST(rate_day.calls, excluded.calls)",
	}), upstream, day, spent.Calls, spent.Low)
	return err
}
