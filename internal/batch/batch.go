// Package batch lets concurrent callers share one trip to a server: while one
// group is under way the next one gathers (Group, batch.go). What flows through a
// channel is gathered by Receive (receive.go).
//
// Three places gather by themselves, as nothing travels from them to a server: the
// writer of backend/sqlite, whose groups are transactions that it commits itself,
// the merger before it, whose batches stay open until that writer takes them, and
// the feeder of the engine, which gathers idle workers.
package batch

import (
	"context"
	"runtime"
	"sync"
	"time"

	"sluice/internal/backoff"
)

// Group merges items of concurrent callers. It has no goroutine while it has
// nothing to do, and a caller that is alone does not wait for others.
type Group[T any] struct {
	apply func(ctx context.Context, items []*T) error
	most  int

	// patience is how long a trip may wait for as many as the last one had, gap
	// how long it waits for whoever comes.
	patience, gap time.Duration
	// trips is how many may be under way at once.
	trips int

	// added is what nobody waits for.
	added sync.WaitGroup

	mu      sync.Mutex
	waiting []*entry[T]
	last    int // how many the last trip had
	running int
}

type entry[T any] struct {
	item *T
	done chan error // nil if nobody waits
}

// New returns a group whose items are applied at most so many at once. apply
// writes results into the items; the error it returns is that of every item.
func New[T any](most int, apply func(ctx context.Context, items []*T) error) *Group[T] {
	return &Group[T]{apply: apply, most: most, trips: 1}
}

// Patient lets a trip wait a little for as many callers as the last one had:
// those it served are likely to come back together. It pays where a trip takes
// much longer than that. It returns the group.
func (g *Group[T]) Patient(patience time.Duration) *Group[T] {
	g.patience = patience
	return g
}

// Trips lets so many trips be under way at once; the next one begins when as many
// items wait as it can take. It pays where a trip's work can be done beside that
// of others. It returns the group.
func (g *Group[T]) Trips(n int) *Group[T] {
	g.trips = n
	return g
}

// Gap lets items gather for so long before every trip. It is for what nobody waits
// for (see Add). It returns the group.
func (g *Group[T]) Gap(gap time.Duration) *Group[T] {
	g.gap = gap
	return g
}

// Add applies an item soon, together with others, and does not wait for that. The
// first of a trip's items lends it its ctx: one that lasts longer than a request.
func (g *Group[T]) Add(ctx context.Context, item *T) {
	if g.enter(&entry[T]{item: item}) {
		g.added.Go(func() { g.run(ctx) })
	}
}

// Wait returns when all that was added is applied. Nothing may be added meanwhile.
func (g *Group[T]) Wait() { g.added.Wait() }

// Do applies an item together with those of others and returns when that is
// done. A caller whose ctx ends stops waiting; its item may still be applied,
// and must not be read any more.
func (g *Group[T]) Do(ctx context.Context, item *T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &entry[T]{item, make(chan error, 1)}
	if g.enter(e) {
		// The group serves many callers: the end of one of them is not its end.
		go g.run(context.WithoutCancel(ctx))
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter lets an item wait for the next trip, and says whether the caller is to
// begin one.
func (g *Group[T]) enter(e *entry[T]) (begin bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	begin = g.running == 0 || g.running < g.trips && len(g.waiting) >= g.most
	if begin {
		g.running++
	}
	return begin
}

func (g *Group[T]) run(ctx context.Context) {
	for {
		g.gather(ctx)
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
			if e.done != nil {
				e.done <- err
			}
		}
	}
}

// gather gives those who were woken by the last trip, or began together with
// the caller, the chance to come along.
func (g *Group[T]) gather(ctx context.Context) {
	if g.gap > 0 {
		backoff.Sleep(ctx, g.gap)
		return
	}
	runtime.Gosched()
	if g.patience <= 0 {
		return
	}
	for end := time.Now().Add(g.patience); g.fewer() && time.Now().Before(end); {
		time.Sleep(g.patience / 4)
	}
}

// fewer says whether some wait, and not yet as many as the last trip had.
func (g *Group[T]) fewer() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0 && len(g.waiting) < g.last
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
	g.last = n
	entries := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return entries
}
