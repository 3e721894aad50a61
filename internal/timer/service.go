package timer

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
	"sluice/internal/lifecycle"
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
	Store Store
	// Trigger says when timers are due. It may lose what it was told: the store
	// is the truth.
	Trigger due.Set
	// Log, if set, keeps the completions; otherwise the store does.
	Log Log
	// Sender delivers webhooks; without one, timers cannot have any.
	Sender Sender
	// Hook is told of every completion, at least once.
	Hook func(ctx context.Context, c Completion) error
	// Buried, if set, is told when a delivery was given up. It does not wait.
	Buried func(at time.Time)
	// Signals tells other processes of completions; nil if there are none. It
	// also means that the trigger is shared and need not be filled at start.
	Signals watch.Signals
	// Server names this process in the completion log.
	Server string
	// RequestsOnly leaves firing to other processes.
	RequestsOnly bool
	Grace        time.Duration // default due.DefaultGrace
	// Batch is how many timers are fired in one transaction; default 500.
	Batch int
	// Senders bounds the webhooks under way; default 64.
	Senders int
	Now     func() time.Time
	Slog    *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Grace = cmp.Or(o.Grace, due.DefaultGrace)
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
	requests
	completions
	firings  Firings
	watchers *watch.Broadcaster
	senders  chan struct{}
	queue    webhookQueue
	inHand   inHand
	// handlers bounds the batches that are being fired, so that the next can
	// be taken while one is committed.
	handlers chan struct{}

	runner *lifecycle.Runner
	work   sync.WaitGroup
}

var _ lifecycle.Service = (*Service)(nil)

// Counters count since the service was made.
type Counters struct {
	Set, Fired, Late, Delivered, Retried, Dead atomic.Int64
}

// New returns a service that does not run yet.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Trigger == nil || o.Server == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "timers need a store, a trigger and the server's name")
	}
	o = o.withDefaults()
	s := &Service{
		requests:    requests{Options: o, register: o.Store, intents: newIntents(o)},
		completions: completions{history: o.Store, feed: o.Store},
		firings:     o.Store, runner: lifecycle.NewRunner(),
	}
	if o.Log != nil {
		s.history = o.Log
	}
	s.inHand.ids = map[string]struct{}{}
	s.watchers = watch.New(s.Signals, due.MaxWait)
	s.senders = make(chan struct{}, s.Senders)
	s.handlers = make(chan struct{}, concurrentBatches)
	return s, nil
}

// concurrentBatches are enough to take the next while others are committed.
const concurrentBatches = 4

// Counters returns the service's counters.
func (s *Service) Counters() *Counters { return &s.counters }

// GivenUp counts the timers whose delivery was given up.
func (s *Service) GivenUp(ctx context.Context) (int64, error) { return s.firings.GivenUp(ctx) }

// Start begins to fire timers. A trigger of this process alone is filled from
// the store first; a shared one is full, and only what was missed is looked
// for. It may be called twice.
func (s *Service) Start(ctx context.Context) error {
	return s.runner.Start(ctx, s.begin, s.run)
}

func (s *Service) begin(ctx context.Context) error {
	if s.RequestsOnly {
		return nil
	}
	if s.Signals == nil {
		return s.rebuild(ctx)
	}
	// Whoever was here first may have been down when these were due.
	return s.Trigger.Put(ctx, append(s.standing(), due.Entry{ID: due.MissedID, At: s.Now()})...)
}

// run fires timers until ctx ends.
func (s *Service) run(ctx, working context.Context) {
	if !s.RequestsOnly {
		s.work.Go(func() { s.loop(ctx) })
	}
	s.work.Go(func() { s.watchers.Run(ctx) })
	<-ctx.Done()
	s.work.Wait()
	s.clearQueue()
	s.intents.release(working)
}

// Stop ends firing; what is under way is finished, however soon ctx ends, webhooks
// excepted: another server or the next start goes on with them.
func (s *Service) Stop(context.Context) error {
	s.runner.Stop()
	return nil
}

// Watch returns a channel that gets a token after timers have fired or were
// delivered, here or, while the service is started, elsewhere; and the function
// that ends it.
func (s *Service) Watch() (changed <-chan struct{}, end func()) { return s.watchers.Watch() }
