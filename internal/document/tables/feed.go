package tables

import (
	"context"
	"slices"
	"time"

	"sluice/internal/document"
)

// FeedRows are what a store lends of its log of changes.
type FeedRows[T any] struct {
	// Sequence gives positions to rows that are committed and have none, and nothing
	// to those that others have not committed yet. It is nil where rows have them
	// when they are written.
	Sequence func(ctx context.Context) error
	// Read shows one state of the database.
	Read func(ctx context.Context, fn func(T) error) error
	// State reads the name of the feed, and its last position that is taken and that
	// is trimmed.
	State func(ctx context.Context, t T) (feed string, newest, trimmed int64, err error)
	// After reads up to so many rows that end after a position, in their order.
	// Without entries if these are not wanted.
	After func(ctx context.Context, t T, position int64, limit int, entries bool) ([]LogRow, error)
	// Trim removes rows up to a position.
	Trim func(ctx context.Context, t T, position int64) error
}

var (
	_ document.Feed   = (*Store[int, int])(nil)
	_ document.Finder = (*Store[int, int])(nil)
)

// feedRows is how many rows are read at a time.
const feedRows = 32

// Changes implements document.Feed.
func (s *Store[T, P]) Changes(ctx context.Context, after int64, limit int) (changes []document.Change, err error) {
	if err := s.sequence(ctx); err != nil {
		return nil, err
	}
	err = s.rows.Feed.Read(ctx, func(t T) error {
		changes = nil
		_, newest, trimmed, err := s.rows.Feed.State(ctx, t)
		if err != nil {
			return err
		}
		if err := (document.Bounds{Oldest: trimmed + 1, Newest: newest}).Check(after); err != nil {
			return err
		}
		for last := after; len(changes) < limit; {
			rows, err := s.rows.Feed.After(ctx, t, last, min(feedRows, limit-len(changes)), true)
			if err != nil || len(rows) == 0 {
				return err
			}
			for i := range rows {
				entries, err := rows[i].changes()
				if err != nil {
					return err
				}
				skip := max(0, after-(rows[i].Last-rows[i].Count))
				entries = entries[skip:]
				changes = append(changes, entries[:min(len(entries), limit-len(changes))]...)
			}
			last = rows[len(rows)-1].Last
		}
		return nil
	})
	return changes, err
}

func (s *Store[T, P]) sequence(ctx context.Context) error {
	if s.rows.Feed.Sequence == nil {
		return nil
	}
	return s.rows.Feed.Sequence(ctx)
}

// Bounds implements document.Feed.
func (s *Store[T, P]) Bounds(ctx context.Context) (b document.Bounds, err error) {
	if err := s.sequence(ctx); err != nil {
		return b, err
	}
	err = s.rows.Feed.Read(ctx, func(t T) error {
		feed, newest, trimmed, err := s.rows.Feed.State(ctx, t)
		b = document.Bounds{Feed: feed, Oldest: trimmed + 1, Newest: newest}
		return err
	})
	return b, err
}

// trimRows is how many rows are removed at a time.
const trimRows = 1000

// TrimChanges implements document.Feed: whole rows, and the one in which so many
// are reached as a whole.
func (s *Store[T, P]) TrimChanges(ctx context.Context, before time.Time, most int) (removed int64, err error) {
	if err := s.sequence(ctx); err != nil {
		return 0, err
	}
	err = s.rows.Transact(ctx, func(t T) error {
		removed = 0
		_, _, trimmed, err := s.rows.Feed.State(ctx, t)
		if err != nil {
			return err
		}
		rows, err := s.rows.Feed.After(ctx, t, trimmed, min(most, trimRows), false)
		if err != nil {
			return err
		}
		last := int64(0)
		for i := range rows {
			if removed >= int64(most) || rows[i].At >= micros(before) {
				break
			}
			removed, last = removed+rows[i].Count, rows[i].Last
		}
		if last == 0 {
			return nil
		}
		return s.rows.Feed.Trim(ctx, t, last)
	})
	return removed, err
}

// Positions gives rows the positions after a newest one, and returns the new one.
func Positions(rows []LogRow, newest int64) int64 {
	for i := range rows {
		newest += rows[i].Count
		rows[i].Last = newest
	}
	return newest
}

// Find implements document.Finder.
func (s *Store[T, P]) Find(ctx context.Context, keys []document.Key, withRaw bool) (found []document.Document, err error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, compareKeys)
	keys = slices.Compact(keys)
	batch := s.rows.Batch
	if withRaw {
		batch = s.rows.RawBatch
	}
	for part := range slices.Chunk(keys, batch) {
		some, err := s.rows.FindAll(ctx, part, withRaw)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}
