// Package mysql keeps the count of a day's calls in MySQL or MariaDB.
package mysql

import (
	"context"
	"database/sql"

	"sluice/internal/mysqldb"
	"sluice/internal/quota/rate"
)

// Store implements rate.Store.
type Store struct{ db *mysqldb.DB }

var _ rate.Store = (*Store)(nil)

// New returns a store on an open database.
func New(db *mysqldb.DB) *Store { return &Store{db} }

// Load implements rate.Store.
func (s *Store) Load(ctx context.Context, upstream, day string) (spent rate.Spent, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&spent.Calls, &spent.Low) },
		"SELECT calls, low FROM rate_day WHERE upstream = ? AND day = ?", upstream, day)
	return spent, err
}

// Save implements rate.Store. Of two processes that write at once the larger
// count stays.
func (s *Store) Save(ctx context.Context, upstream, day string, spent rate.Spent) error {
	_, err := s.db.Exec(ctx, `INSERT INTO rate_day (upstream, day, calls, low) VALUES (?, ?, ?, ?)
		ON DUPLICATE KEY UPDATE low = GREATEST(low, VALUES(low)), calls = GREATEST(calls, VALUES(calls))`,
		upstream, day, spent.Calls, spent.Low)
	return err
}
