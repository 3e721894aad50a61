// Package lifecycle is how what works in the background begins and ends.
//
// A part has Run(ctx): it works until ctx ends, and returns when all that it began
// has ended as well. A service is made of parts, and others wait until it is ready:
// it is a Service, and has a Runner, which does the rest. What was opened has
// Close. There is no other way.
package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Service can be started and stopped, again and again.
type Service interface {
	// Start returns when the service is ready. Its work does not end with ctx. A
	// service that runs is left as it is.
	Start(ctx context.Context) error
	// Stop returns when nothing of the service runs any more. Some give up what
	// takes too long, at once when ctx ends, and say so. A service that does not
	// run is left as it is.
	Stop(ctx context.Context) error
}

// What StopWithin says if it did not wait for the work to end by itself.
var (
	ErrTimeout = errors.New("it took too long to stop")
	ErrHurried = errors.New("it was to stop at once")
)

// Runner runs the work of one service.
type Runner struct {
	// turn is whose it is to start, and whoever stops waits for it: making ready
	// takes a while, and is done under no lock.
	turn chan struct{}

	mu      sync.Mutex
	running *session // nil while nothing runs
}

// session is what one Start began.
type session struct {
	// stop ends what begins work, abandon what is under way.
	stop, abandon context.CancelFunc
	done          chan struct{}
}

// NewRunner returns a runner of which nothing runs.
func NewRunner() *Runner { return &Runner{turn: make(chan struct{}, 1)} }

// Start makes ready and then runs in the background. run is given two contexts:
// ctx ends with Stop, working when StopWithin has waited long enough. While
// something runs, Start does nothing; if it cannot be made ready, nothing runs.
func (r *Runner) Start(ctx context.Context, ready func(context.Context) error, run func(ctx, working context.Context)) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.turn }()
	if r.current() != nil {
		return nil
	}
	if err := ready(ctx); err != nil {
		return err
	}
	s := &session{done: make(chan struct{})}
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	running, stop := context.WithCancel(working)
	s.stop, s.abandon = stop, abandon
	go func() {
		defer close(s.done)
		defer abandon()
		run(running, working)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = s
	return nil
}

func (r *Runner) current() *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// Stop lets the work end, and waits for that.
func (r *Runner) Stop() { _ = r.stop(nil, nil) }

// StopWithin lets the work end and gives it up when patience is over, or at once
// when ctx ends; then it returns ErrTimeout or ErrHurried. It may be called while
// another waits, and be the one that gives up.
func (r *Runner) StopWithin(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	return r.stop(ctx.Done(), timer.C)
}

func (r *Runner) stop(hurried <-chan struct{}, late <-chan time.Time) (failed error) {
	r.turn <- struct{}{}
	<-r.turn
	s := r.current()
	if s == nil {
		return nil
	}
	s.stop()
	select {
	case <-s.done:
	case <-late:
		failed = ErrTimeout
	case <-hurried:
		failed = ErrHurried
	}
	s.abandon()
	<-s.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == s {
		r.running = nil
	}
	return failed
}

// Group runs parts together until ctx ends, and returns when all have.
func Group(ctx context.Context, parts ...func(context.Context)) {
	var all sync.WaitGroup
	for _, run := range parts {
		all.Go(func() { run(ctx) })
	}
	all.Wait()
}
