package wordindex

import (
	"context"
	"encoding/json"
	"slices"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Rows are what a store does itself, inside one transaction.
type Rows interface {
	// Progress is what SaveProgress has stored last, nil if nothing. Nobody else
	// changes it until the transaction ends.
	Progress(ctx context.Context) ([]byte, error)
	SaveProgress(ctx context.Context, progress []byte) error
	// Entries are those of the documents that there are.
	Entries(ctx context.Context, keys []document.Key) ([]Entry, error)
	// Taken are those of ids that entries have.
	Taken(ctx context.Context, ids []int64) ([]int64, error)
	// Change writes changes. No two are of one document.
	Change(ctx context.Context, changes []Change) error
}

// Store is the part of an Index that is the same in all stores that have
// transactions: T is one of theirs.
type Store[T any] struct {
	transact func(ctx context.Context, fn func(T) error) error
	rows     func(T) Rows
}

// NewStore returns that part. Transact runs fn in one transaction, which it may have
// to repeat.
func NewStore[T any](transact func(ctx context.Context, fn func(T) error) error, rows func(T) Rows) Store[T] {
	return Store[T]{transact, rows}
}

// Apply implements Index.
func (s *Store[T]) Apply(ctx context.Context, b Batch) error {
	return s.transact(ctx, func(t T) error { return Apply(ctx, s.rows(t), b) })
}

// Change is what becomes of an entry: Old is what is there, and New what is to be
// there, either of them nil if there is none.
type Change struct{ Old, New *Entry }

// Moved says whether the entry is another row afterwards.
func (c *Change) Moved() bool { return c.Old == nil || c.New == nil || c.Old.ID != c.New.ID }

// Words are those that the entry is no longer found by, and those that it is found by
// from now on.
func (c *Change) Words() (gone, added []string) {
	var before, after []string
	if c.Old != nil {
		before = c.Old.Words
	}
	if c.New != nil {
		after = c.New.Words
	}
	if c.Moved() {
		return before, after
	}
	return without(before, after), without(after, before)
}

// without are the words that others, which are sorted, do not have.
func without(all, others []string) (left []string) {
	for _, word := range all {
		if _, found := slices.BinarySearch(others, word); !found {
			left = append(left, word)
		}
	}
	return left
}

// ReadProgress is the inverse of what Apply saves.
func ReadProgress(data []byte) (p Progress, err error) {
	if data == nil {
		return p, nil
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, domain.Errorf(domain.CodeCorrupt, "the progress of the index of words cannot be read: %w", err)
	}
	return p, nil
}

// Apply is Index.Apply inside a transaction.
func Apply(ctx context.Context, rows Rows, b Batch) error {
	data, err := rows.Progress(ctx)
	if err != nil {
		return err
	}
	was, err := ReadProgress(data)
	if err != nil {
		return err
	}
	if was != b.Was {
		return domain.Errorf(domain.CodeConflict, "the index of words is at position %d (%s), not at %d (%s): another process keeps it, too",
			was.Position, was.Phase, b.Was.Position, b.Was.Phase)
	}
	changes, err := changesOf(ctx, rows, b)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		if err := rows.Change(ctx, changes); err != nil {
			return err
		}
	}
	if data, err = json.Marshal(b.Is); err != nil {
		return domain.Errorf(domain.CodeInternal, "encode the progress of the index of words: %w", err)
	}
	return rows.SaveProgress(ctx, data)
}

// changesOf compares a step with what is there.
func changesOf(ctx context.Context, rows Rows, b Batch) (changes []Change, err error) {
	keys := slices.Clone(b.Remove)
	for i := range b.Put {
		keys = append(keys, b.Put[i].Key)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	entries, err := rows.Entries(ctx, keys)
	if err != nil {
		return nil, err
	}
	there := make(map[document.Key]*Entry, len(entries))
	for i := range entries {
		there[entries[i].Key] = &entries[i]
	}
	for _, key := range b.Remove {
		if old := there[key]; old != nil {
			changes = append(changes, Change{Old: old})
		}
	}
	var fresh []*Entry
	for _, put := range b.Put {
		c := Change{there[put.Key], &put}
		if c.Old != nil && c.Old.second() == put.second() {
			put.ID = c.Old.ID
			if slices.Equal(c.Old.Words, put.Words) {
				continue
			}
		} else {
			fresh = append(fresh, &put)
		}
		changes = append(changes, c)
	}
	return changes, settle(ctx, rows, fresh)
}

// settle gives new entries ids that no other has.
func settle(ctx context.Context, rows Rows, fresh []*Entry) error {
	own := map[int64]bool{}
	for waiting := fresh; len(waiting) > 0; {
		ids := make([]int64, len(waiting))
		for i, e := range waiting {
			for own[e.ID] {
				e.ID = next(e.ID)
			}
			own[e.ID] = true
			ids[i] = e.ID
		}
		taken, err := rows.Taken(ctx, ids)
		if err != nil {
			return err
		}
		// What is taken stays among own, so that nobody tries it again.
		waiting = slices.DeleteFunc(waiting, func(e *Entry) bool { return !slices.Contains(taken, e.ID) })
	}
	return nil
}
