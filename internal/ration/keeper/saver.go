package keeper

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
)

const (
	// storeTime is how long a store may take.
	storeTime = 10 * time.Second
	// storePause is how long a store that failed is left alone.
	storePause = time.Second
	// ParkStored is how long a pause lasts at least that Park writes down: whoever forgets
	// what is brief waits for longer.
	ParkStored = time.Second
)

// Saver writes what is drawn on the rations of one group down, for all who wait for it
// together.
type Saver struct {
	group  string
	store  Store
	passed func() time.Duration
	behind atomic.Bool
	begun  sync.WaitGroup

	// turn is whose it is to ask the store, and to read and write what follows.
	turn     Turn
	failed   error
	failedAt time.Duration
}

// NewSaver returns the saver of a group; passed tells the time that passes.
func NewSaver(group string, s Store, passed func() time.Duration) *Saver {
	return &Saver{group: group, store: s, passed: passed, turn: NewTurn()}
}

// Save writes down what rows returns when it is the caller's turn, and then calls done.
// A store that failed is not asked again at once: everybody would. Whoever waits for its
// turn gives up with ctx; what was begun serves everybody, and goes on. An error is of
// code unavailable.
func (s *Saver) Save(ctx context.Context, rows func() []Stored, done func(context.Context) error) error {
	if err := s.turn.Take(ctx); err != nil {
		return err
	}
	defer s.turn.End()
	all := rows()
	if len(all) == 0 {
		return nil
	}
	if s.failed != nil && s.passed()-s.failedAt < storePause {
		return s.failed
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if s.failed = s.store.Save(limited, all); s.failed != nil {
		s.failed = domain.Errorf(domain.CodeUnavailable, "what is drawn on the rations of %s cannot be stored: %w", s.group, s.failed)
		s.failedAt = s.passed()
		return s.failed
	}
	return done(limited)
}

// Behind writes something down while nobody waits for it, unless that is being done. If
// the store fails, the next one who has to wait for it is told.
func (s *Saver) Behind(ctx context.Context, save func(context.Context) error) {
	if !s.behind.CompareAndSwap(false, true) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	s.begun.Go(func() {
		defer s.behind.Store(false)
		_ = save(ctx)
	})
}

// Wait waits for what is being written down while nobody waits for it.
func (s *Saver) Wait() { s.begun.Wait() }
