package rate

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
)

// Spent is how many calls of a day are taken to have been made, and how many of
// them for LOW.
type Spent struct {
	Calls, Low int64
}

// Store keeps the count of days where it survives everything. It is asked to
// write once in a few seconds while calls are granted, never more than once a
// second for an upstream, and always ahead of the calls: what it holds is at
// least what was granted.
type Store interface {
	// Load returns what was saved for a day (2026-03-01); zero if nothing was.
	Load(ctx context.Context, upstream, day string) (Spent, error)
	// Save keeps the larger of what is stored and this, of each count by itself.
	Save(ctx context.Context, upstream, day string, s Spent) error
}

const (
	// storeTime is how long a store may take.
	storeTime = 10 * time.Second
	// storePause is how long a store that failed is left alone.
	storePause = time.Second
)

// Ledger writes the days of one upstream down. Without a store it remembers
// nothing and allows everything.
type Ledger struct {
	upstream string
	limits   Limits
	chunk    int64
	store    Store
	passed   func() time.Duration
	running  atomic.Pointer[chan struct{}]

	// turn is whose it is to ask the store, and to read and write what follows.
	turn     Turn
	failed   error
	failedAt time.Duration
}

// NewLedger returns the ledger of an upstream. A nil store keeps nothing. passed
// tells the time that passes.
func NewLedger(upstream string, l Limits, s Store, passed func() time.Duration) *Ledger {
	return &Ledger{upstream: upstream, limits: l, chunk: l.Terms().Chunk, store: s, passed: passed, turn: NewTurn()}
}

// Background begins something that callers may come to wait for.
func (l *Ledger) Background(do func()) {
	done := make(chan struct{})
	l.running.Store(&done)
	go func() {
		defer close(done)
		do()
	}()
}

// Await waits for what was begun last in the background, and says whether there
// was something to wait for: the caller then asks again.
func (l *Ledger) Await(ctx context.Context) bool {
	running := l.running.Load()
	if running == nil {
		return false
	}
	select {
	case <-*running:
		l.running.CompareAndSwap(running, nil)
		return true
	case <-ctx.Done():
		return false
	}
}

// Begin reads what was written down of a day, and writes down a chunk more. It
// returns what is to be taken for used, and what is written down now. An error
// is of code unavailable.
func (l *Ledger) Begin(ctx context.Context, d Day) (stored Spent, ceiling int64, err error) {
	if l.limits.Daily == 0 || l.store == nil {
		return Spent{}, l.limits.Daily, nil
	}
	err = l.do(ctx, func(ctx context.Context) error {
		if stored, err = l.store.Load(ctx, l.upstream, d.String()); err != nil {
			return err
		}
		ceiling, err = l.save(ctx, d, stored)
		return err
	})
	return stored, ceiling, err
}

// Extend writes down a chunk more than was used, and returns what is written
// down now. An error is of code unavailable.
func (l *Ledger) Extend(ctx context.Context, d Day, used Spent) (ceiling int64, err error) {
	if l.limits.Daily == 0 || l.store == nil {
		return l.limits.Daily, nil
	}
	err = l.do(ctx, func(ctx context.Context) error {
		ceiling, err = l.save(ctx, d, used)
		return err
	})
	return ceiling, err
}

func (l *Ledger) save(ctx context.Context, d Day, used Spent) (int64, error) {
	ceiling := min(used.Calls+l.chunk, max(l.limits.Daily, used.Calls))
	return ceiling, l.store.Save(ctx, l.upstream, d.String(), Spent{ceiling, used.Low})
}

// do asks the store, one caller at a time. A store that failed is not asked
// again at once: everybody would. Whoever waits for its turn gives up with ctx.
func (l *Ledger) do(ctx context.Context, ask func(context.Context) error) error {
	if err := l.turn.Take(ctx); err != nil {
		return err
	}
	defer l.turn.End()
	if l.failed != nil && l.passed()-l.failedAt < storePause {
		return l.failed
	}
	// What is written down serves everybody, not only this caller.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	l.failed = nil
	if err := ask(limited); err != nil {
		l.failed = domain.Errorf(domain.CodeUnavailable, "the day's count of %s cannot be stored: %w", l.upstream, err)
		l.failedAt = l.passed()
	}
	return l.failed
}
