// Package sqlite keeps the count of a day's calls in the embedded database.
package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/quota/rate"
	"sluice/internal/sqlitedb"
)

// Store implements rate.Store.
type Store struct{ db *sqlitedb.DB }

var _ rate.Store = (*Store)(nil)

// New returns a store on an open database.
func New(db *sqlitedb.DB) *Store { return &Store{db} }

// Load implements rate.Store.
func (s *Store) Load(ctx context.Context, upstream, day string) (spent rate.Spent, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT calls, low FROM rate_day WHERE upstream = ? AND day = ?", func(r *sqlite.Stmt) {
			spent = rate.Spent{Calls: r.ColumnInt64(0), Low: r.ColumnInt64(1)}
		}, upstream, day)
	})
	return spent, err
}

// Save implements rate.Store.
func (s *Store) Save(ctx context.Context, upstream, day string, spent rate.Spent) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, `INSERT INTO rate_day (upstream, day, calls, low) VALUES (?, ?, ?, ?)
			ON CONFLICT (upstream, day) DO UPDATE SET calls = excluded.calls, low = max(excluded.low, low)
			WHERE excluded.calls > rate_day.calls`, nil, upstream, day, spent.Calls, spent.Low)
	})
}
