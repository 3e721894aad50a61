package timer

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/watch"
	"sluice/internal/webhook"
)

// Sender delivers webhooks; *webhook.Sender is one.
type Sender interface {
	// Check refuses an address that must not be called.
	Check(ctx context.Context, url string) error
	// TryAcquire asks for one of the places that a receiver has.
	TryAcquire(url string) (release func(), ok bool)
	Send(ctx context.Context, m webhook.Message) webhook.Result
}

// Options are what a Service works with. Store, Trigger and Server are needed.
type Options struct {
	Store   Store
	Trigger Trigger
	// Log, if set, keeps the completions; otherwise the store does.
	Log Log
	// Sender delivers webhooks; without one, timers cannot have any.
	Sender Sender
	// Hook is told of every completion, at least once.
	Hook func(ctx context.Context, c Completion) error
	// Signals tells other processes of completions; nil if there are none. It
	// also means that the trigger is shared and need not be filled at start.
	Signals watch.Signals
	// Server names this process in the completion log.
	Server string
	// RequestsOnly leaves firing to other processes.
	RequestsOnly bool
	Grace        time.Duration // default DefaultGrace
	// Batch is how many timers are fired in one transaction; default 500.
	Batch int
	// Senders bounds the webhooks under way; default 64.
	Senders int
	Now     func() time.Time
	Slog    *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.Batch = cmp.Or(o.Batch, 500)
	o.Senders = cmp.Or(o.Senders, 64)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slog == nil {
		o.Slog = slog.New(slog.DiscardHandler)
	}
	return o
}

// Service sets timers and fires them.
type Service struct {
	Options
	guards   *guards
	watchers *watch.Board
	senders  chan struct{}
	queue    queue
	inHand   inHand
	// handlers bounds the batches that are being fired, so that the next can
	// be taken while one is committed.
	handlers chan struct{}
	counters Counters

	lifecycle sync.Mutex
	stop      context.CancelFunc // nil while the service does not run
	work      sync.WaitGroup
}

// Counters count since the service was made.
type Counters struct {
	Set, Fired, Late, Delivered, Retried, Dead atomic.Int64
}

// New returns a service that does not run yet.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Trigger == nil || o.Server == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "timers need a store, a trigger and the server's name")
	}
	s := &Service{Options: o.withDefaults()}
	s.guards = newGuards(s.Options)
	s.inHand.ids = map[string]struct{}{}
	s.watchers = watch.New(s.Signals, dispatch.MaxWait)
	s.senders = make(chan struct{}, s.Senders)
	s.handlers = make(chan struct{}, concurrentBatches)
	return s, nil
}

// concurrentBatches are enough to take the next while others are committed.
const concurrentBatches = 4

// Counters returns the service's counters.
func (s *Service) Counters() *Counters { return &s.counters }

// Start begins to fire timers. A trigger of this process alone is filled from
// the store first; a shared one is full, and only what was missed is looked
// for. It may be called twice.
func (s *Service) Start(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.stop != nil {
		return nil
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	if !s.RequestsOnly {
		if err := s.begin(ctx); err != nil {
			stop()
			return err
		}
		s.work.Go(func() { s.loop(running) })
	}
	s.work.Go(func() { s.watchers.Run(running) })
	s.stop = stop
	return nil
}

func (s *Service) begin(ctx context.Context) error {
	if s.Signals == nil {
		return s.rebuild(ctx)
	}
	// Whoever was here first may have been down when these were due.
	return s.Trigger.Set(ctx, Due{ID: MissedID, At: s.Now()}, s.nextPrune())
}

// Stop ends firing; what is under way is finished, webhooks excepted: another
// server or the next start goes on with them.
func (s *Service) Stop(ctx context.Context) {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.stop == nil {
		return
	}
	s.stop()
	s.work.Wait()
	s.clearQueue()
	s.guards.release(ctx)
	s.stop = nil
}

// Watch returns a channel that gets a token after timers have fired or were
// delivered, here or, while the service is started, elsewhere; and the function
// that ends it.
func (s *Service) Watch() (changed <-chan struct{}, end func()) { return s.watchers.Watch() }

// history is where completions are read.
func (s *Service) history() History {
	if s.Log != nil {
		return s.Log
	}
	return s.Store
}

// Completions lists completions; see History.
func (s *Service) Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]Completion, error) {
	return s.history().Completions(ctx, from, afterID, limit)
}

// Fired lists completions as the store has them; a log of its own may get them
// later.
func (s *Service) Fired(ctx context.Context, from time.Time, afterID string, limit int) ([]Completion, error) {
	return s.Store.Completions(ctx, from, afterID, limit)
}

// Stats sums up the completions from an instant on.
func (s *Service) Stats(ctx context.Context, from time.Time) (Stats, error) {
	return s.history().Stats(ctx, from)
}
