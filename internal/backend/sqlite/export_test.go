package sqlite

import (
	"context"
	"database/sql"

	driver "zombiezen.com/go/sqlite"
)

// Create is create, for tests.
func Create(ctx context.Context, db *sql.DB) error { return create(ctx, db) }

// Upgrade is upgrade, for tests.
func Upgrade(ctx context.Context, db *sql.DB) error { return upgrade(ctx, db) }

// Merger is merger, for tests.
type Merger[T any] = merger[T]

// NewMerger is newMerger, for tests.
func NewMerger[T any](db *DB, apply func(*driver.Conn, []*T) error) *Merger[T] {
	return newMerger(db, apply)
}
