package sink

import (
	"context"
	"errors"
	"slices"
	"sync"

	"sluice/internal/domain"
	"sluice/internal/lifecycle"
)

// Opener opens the target of a sink by its URL, and says of what kind it is. It connects
// to nothing yet.
type Opener func(name, address string) (target Target, kind string, o Options, err error)

// ServiceOptions is what a service is made of.
type ServiceOptions struct {
	// Open opens targets.
	Open Opener
	// Runner is what all sinks have in common.
	Runner RunnerOptions
	// Alone keeps other processes from running the sink of a name; nil if there are
	// none.
	Alone func(ctx context.Context, name string) (release func(), err error)
	// Applied, if set, is told how many rows a batch of a sink had.
	Applied func(name string, rows int)
}

// Service runs the sinks of a process.
type Service struct {
	o       ServiceOptions
	runners []*Runner

	mu sync.Mutex
	// once are those that somebody waits for.
	once []*Runner
}

// NewService returns a service without sinks.
func NewService(o ServiceOptions) *Service {
	if o.Applied == nil {
		o.Applied = func(string, int) {}
	}
	return &Service{o: o}
}

// Add adds a sink, which carries while the service runs.
func (s *Service) Add(name, address string) error {
	if err := s.available(); err != nil {
		return err
	}
	r, err := s.open(name, address)
	if err != nil {
		return domain.Errorf(domain.CodeOf(err), "the sink %s: %w", name, err)
	}
	if s.o.Alone != nil {
		r.Alone = func(ctx context.Context) (func(), error) { return s.o.Alone(ctx, name) }
	}
	r.Applied = func(rows int) { s.o.Applied(name, rows) }
	s.runners = append(s.runners, r)
	return nil
}

// available refuses sinks of documents that have no feed.
func (s *Service) available() error {
	if s.o.Runner.Source.Feed == nil {
		return domain.Errorf(domain.CodeInvalid, "the store of the documents keeps no feed of changes, which sinks follow; use `sluice export`")
	}
	return nil
}

func (s *Service) open(name, address string) (*Runner, error) {
	o := s.o.Runner
	o.Name = name
	var err error
	if o.Target, o.Kind, o.Options, err = s.o.Open(name, address); err != nil {
		return nil, err
	}
	return New(o), nil
}

// Active says whether there are sinks.
func (s *Service) Active() bool { return len(s.runners) > 0 }

// Run runs all sinks until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var parts []func(context.Context)
	for _, r := range s.runners {
		parts = append(parts, r.Run)
	}
	lifecycle.Group(ctx, parts...)
	return nil
}

// Close closes the targets.
func (s *Service) Close() error {
	var failed error
	for _, r := range s.runners {
		failed = errors.Join(failed, r.Target.Close())
	}
	return failed
}

// Listed is a sink, and how far it is behind.
type Listed struct {
	Status
	Lag
	// Letters are the batches that it has set aside; Lettered says whether it does so.
	Letters  int64
	Lettered bool
}

// List tells how all sinks fare, in the order in which they were added, and then
// those that somebody waits for.
func (s *Service) List(ctx context.Context) (all []Listed, err error) {
	s.mu.Lock()
	runners := slices.Concat(s.runners, s.once)
	s.mu.Unlock()
	for _, r := range runners {
		lag, err := r.Lag(ctx)
		if err != nil {
			return nil, err
		}
		one := Listed{Status: r.Status(), Lag: lag}
		var target Lettered
		if target, one.Lettered = r.Target.(Lettered); one.Lettered {
			if one.Letters, err = target.CountLetters(ctx); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// SyncName is what a sink is called that somebody waits for.
const SyncName = "sync"

// Sync carries to a target until all is there that there was when it was called.
// Anew begins from the first document, also where the target follows another store.
func (s *Service) Sync(ctx context.Context, address string, anew bool) (done Status, err error) {
	r, err := s.prepare(address, anew)
	if err != nil {
		return done, err
	}
	s.mu.Lock()
	s.once = append(s.once, r)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.once = slices.DeleteFunc(s.once, func(o *Runner) bool { return o == r })
		err = errors.Join(err, r.Target.Close())
	}()
	err = r.CatchUp(ctx)
	return r.Status(), err
}

// Check refuses what Sync would refuse.
func (s *Service) Check(address string) error {
	r, err := s.prepare(address, false)
	if err != nil {
		return err
	}
	return r.Target.Close()
}

func (s *Service) prepare(address string, anew bool) (*Runner, error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	r, err := s.open(SyncName, address)
	if err != nil {
		return nil, err
	}
	r.Anew = anew
	return r, nil
}
