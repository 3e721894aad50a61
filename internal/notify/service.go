package notify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/webhook"
)

const (
	// lookEvery caps every wait: whoever was to say that something happened may
	// have died. Where nobody is to be told, nothing is looked for.
	lookEvery = 5 * time.Minute
	// spacing is the shortest time between two looks at what happened.
	spacing = 2 * time.Second
	// failedPause is how long a store that does not answer is left alone.
	failedPause = 15 * time.Second
	// keepFor is how long messages that ended can be seen, and how long an event
	// is known to have been recorded: longer than anything is looked back for.
	keepFor = 7 * 24 * time.Hour
	// sendAtOnce is how many messages are claimed in one round.
	sendAtOnce = 50
)

// Options is what a service is made of.
type Options struct {
	Store   Store
	Targets Targets
	Sender  SenderOptions
	// Attempted, if set, is told what became of each attempt. It does not wait.
	Attempted func(targetType string, became Outcome)
	// Now is the clock; time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Service records what happened and tells those who want to know. Its methods
// never wait for the store or a receiver, but for those that say so.
type Service struct {
	store    Store
	targets  Targets
	couriers map[string]courier
	tell     func(targetType string, became Outcome)
	now      func() time.Time
	log      *slog.Logger

	// begun is when this process began: what was before the first that ever looked
	// stays untold.
	begun time.Time
	gatherer
	sending
}

// New opens the targets. It works when Run is called.
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Sender.Now == nil {
		o.Sender.Now = o.Now
	}
	if o.Attempted == nil {
		o.Attempted = func(string, Outcome) {}
	}
	s := &Service{store: o.Store, targets: o.Targets, couriers: map[string]courier{}, tell: o.Attempted, now: o.Now, log: o.Log}
	s.wake, s.ended, s.begun = make(chan struct{}, 1), make(chan struct{}, 1), o.Now()
	for _, t := range o.Targets {
		c, err := t.open(o.Sender)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.couriers[t.Name] = c
	}
	return s, nil
}

// Close ends connections that are kept.
func (s *Service) Close() {
	for _, c := range s.couriers {
		c.close()
	}
}

// Active says whether anybody is to be told.
func (s *Service) Active() bool { return len(s.targets) > 0 }

// Run looks for what happened and sends what is due, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if !s.Active() {
		return nil
	}
	defer s.workers.Wait()
	s.hint(time.Time{})
	for {
		next, _, err := s.round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.log.Warn("notifications wait for the store", "error", err)
			s.hint(time.Time{})
			pause(ctx, failedPause, nil, nil)
			continue
		}
		wait := lookEvery
		if !next.IsZero() {
			wait = min(wait, max(0, next.Sub(s.now())))
		}
		switch pause(ctx, wait, s.wake, s.ended) {
		case woken:
			// What happens together is looked for together.
			pause(ctx, spacing, nil, nil)
		case passed:
			if wait == lookEvery {
				s.hint(time.Time{})
			}
		case sent:
		}
	}
}

// round records what happened and begins to send what is due, and returns when
// there will be more, and to how many targets it began to send.
func (s *Service) round(ctx context.Context) (next time.Time, begun int, err error) {
	if err := s.failure(); err != nil {
		return next, 0, err
	}
	if err := s.gather(ctx); err != nil {
		return next, 0, err
	}
	return s.dispatch(ctx)
}

// send claims a message, makes one attempt and stores what became of it.
func (s *Service) send(ctx context.Context, m Message) error {
	m, mine, err := s.store.Claim(ctx, m.ID, m.Attempt, s.now())
	if err != nil || !mine {
		return err
	}
	result := s.attempt(ctx, &m)
	if ctx.Err() != nil && !result.OK {
		// The process stops; the claim runs out by itself.
		return nil
	}
	settled := Settlement{ID: m.ID, Attempt: m.Attempt, At: s.now(), Result: result}
	// What was sent is not sent again because the process stops.
	if err := s.store.Settle(context.WithoutCancel(ctx), settled); err != nil {
		return err
	}
	settled.Apply(&m)
	s.tell(s.typeOf(m.Target), outcomeOf(m.State))
	s.report(&m)
	return nil
}

func (s *Service) attempt(ctx context.Context, m *Message) webhook.Result {
	c, known := s.couriers[m.Target]
	if !known {
		return webhook.Result{Error: "there is no target " + m.Target + " any more among the settings of notify", Permanent: true}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return c.send(ctx, m)
}

func (s *Service) report(m *Message) {
	about := []any{"notification", m.ID, "target", m.Target, "kind", m.Kind, "events", m.Count, "tries", m.Tries}
	switch m.State {
	case Sent:
		s.log.Info("a notification was sent", about...)
	case Dead:
		s.log.Error("a notification was given up; `sluice notify retry` sends it again", append(about, "error", m.Error)...)
	case Waiting:
		s.log.Warn("a notification was not taken; trying again", append(about, "at", m.Due, "error", m.Error)...)
	}
}

// newID makes ids that sort by time and that nobody can guess.
func (s *Service) newID() string {
	var random [6]byte
	// It never fails.
	_, _ = rand.Read(random[:])
	return fmt.Sprintf("n%014x%s", s.now().UnixMicro(), hex.EncodeToString(random[:]))
}

// Tested is what became of a test message.
type Tested struct {
	Target string
	Type   string
	webhook.Result
}

// SendTest sends a test message now, to one target or, for "", to all of them at
// once, and waits for what becomes of it.
func (s *Service) SendTest(ctx context.Context, name string) (done []Tested, err error) {
	if !s.Active() {
		return nil, domain.Errorf(domain.CodeInvalid, "nobody is to be told: set notify in the file of settings (docs/notifications.md)")
	}
	for _, t := range s.targets {
		if name == "" || t.Name == name {
			done = append(done, Tested{Target: t.Name, Type: t.Type})
		}
	}
	if len(done) == 0 {
		return nil, domain.Errorf(domain.CodeNotFound, "there is no target %s among the settings of notify", name)
	}
	// Each on its own: one that hangs takes no time of the others.
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	var all sync.WaitGroup
	for i := range done {
		m := Begin(s.newID(), done[i].Target, Test, s.now(), time.Time{}, 0)
		m.Add(Event{Key: m.ID, Kind: Test, At: s.now(), Text: "If you can read this, notifications arrive."})
		all.Go(func() { done[i].Result = s.attempt(ctx, &m) })
	}
	all.Wait()
	return done, nil
}

// Messages lists messages.
func (s *Service) Messages(ctx context.Context, q Query) ([]Message, error) {
	return s.store.Messages(ctx, q)
}

// Retry lets a message that was given up be tried again, soon.
func (s *Service) Retry(ctx context.Context, id string) (Message, error) {
	m, err := s.store.Retry(ctx, id, s.now())
	if err == nil {
		s.poke()
	}
	return m, err
}
