package faulty

import (
	"context"

	"sluice/internal/due"
)

// DueSet is a due set with outages.
type DueSet struct {
	due.Set
	plan *Plan
}

var _ due.Set = (*DueSet)(nil)

// NewDueSet wraps a due set.
func NewDueSet(inner due.Set, plan *Plan) *DueSet { return &DueSet{inner, plan} }

// Put implements due.Set.
func (s *DueSet) Put(ctx context.Context, entries ...due.Entry) error {
	return do(ctx, s.plan, "Put", func() error { return s.Set.Put(ctx, entries...) })
}

// Remove implements due.Set.
func (s *DueSet) Remove(ctx context.Context, ids ...string) error {
	return do(ctx, s.plan, "Remove", func() error { return s.Set.Remove(ctx, ids...) })
}

// Take implements due.Set.
func (s *DueSet) Take(ctx context.Context, n int) (due.Batch, error) {
	return get(ctx, s.plan, "Take", func() (due.Batch, error) { return s.Set.Take(ctx, n) })
}

// Done implements due.Set.
func (s *DueSet) Done(ctx context.Context, taken ...due.Taken) error {
	return do(ctx, s.plan, "Done", func() error { return s.Set.Done(ctx, taken...) })
}

// Again implements due.Set.
func (s *DueSet) Again(ctx context.Context, again ...due.Again) error {
	return do(ctx, s.plan, "Again", func() error { return s.Set.Again(ctx, again...) })
}
