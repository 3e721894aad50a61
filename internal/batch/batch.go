// Package batch lets concurrent callers share one trip to a server: while one
// group is under way the next one gathers.
package batch

import (
	"context"
	"runtime"
	"sync"
)

// Group merges items of concurrent callers. It has no goroutine while it has
// nothing to do, and a caller that is alone does not wait for others.
type Group[T any] struct {
	apply func(ctx context.Context, items []*T) error
	most  int

	mu      sync.Mutex
	waiting []*entry[T]
	running int
	lanes   int
}

type entry[T any] struct {
	item *T
	done chan error
}

// New returns a group whose items are applied at most so many at once. apply
// writes results into the items; the error it returns is that of every item.
func New[T any](most int, apply func(ctx context.Context, items []*T) error) *Group[T] {
	return NewLanes(most, 1, apply)
}

// NewLanes is New with several groups under way at once.
func NewLanes[T any](most, lanes int, apply func(ctx context.Context, items []*T) error) *Group[T] {
	return &Group[T]{apply: apply, most: most, lanes: lanes}
}

// Do applies an item together with those of others and returns when that is
// done. A caller whose ctx ends stops waiting; its item may still be applied,
// and must not be read any more.
func (g *Group[T]) Do(ctx context.Context, item *T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &entry[T]{item, make(chan error, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, e)
	if g.running < g.lanes {
		g.running++
		// The group serves many callers: the end of one of them is not its end.
		go g.run(context.WithoutCancel(ctx))
	}
	g.mu.Unlock()
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Group[T]) run(ctx context.Context) {
	for {
		// Those who were woken by the last trip, or began together with the
		// caller, get the chance to come along.
		runtime.Gosched()
		entries := g.next()
		if entries == nil {
			return
		}
		items := make([]*T, len(entries))
		for i, e := range entries {
			items[i] = e.item
		}
		err := g.apply(ctx, items)
		for _, e := range entries {
			e.done <- err
		}
	}
}

// next takes what has gathered, or ends the run if that is nothing.
func (g *Group[T]) next() []*entry[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), g.most)
	if n == 0 {
		g.running--
		g.waiting = nil
		return nil
	}
	entries := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return entries
}
