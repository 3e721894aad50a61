package redis

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// scheduler is one contender for the lead.
type scheduler struct {
	*Dispatcher
	token   string
	leading atomic.Bool
	// failing is set from the first failure until Redis answers again.
	failing bool
	// wake has a value when there is a reason to look at once.
	wake chan struct{}
}

// leadership is what a scheduler learns from asking for the lead.
type leadership struct {
	leads bool
	// term grows whenever the lead changes hands.
	term int64
	// next is when to ask again.
	next time.Duration
}

// Schedule lets instants have their effect when they come: entries that are
// due, lanes whose parking ends, leases that run out. Any number may run
// anywhere; one of them leads, and if it falls silent another takes over. It
// returns when ctx ends.
//
// The queue does not depend on it: every call does what is due, and those who
// wait look for themselves a little after an instant. It depends on nobody
// else's calls to be on time.
func (d *Dispatcher) Schedule(ctx context.Context) error {
	s := &scheduler{Dispatcher: d, token: rand.Text(), wake: make(chan struct{}, 1)}
	running, done, ok := d.life.begin(ctx)
	if !ok {
		return errClosed("dispatcher")
	}
	defer done()
	var listening sync.WaitGroup
	listener := listener{Channel: d.db.Key("wake"), Message: s.told, Missed: func() { notify(s.wake) }, Log: d.log}
	listening.Go(func() { d.db.listen(running, listener) })
	for running.Err() == nil {
		pause := s.turn(running)
		s.tellLead(s.leading.Load())
		began := s.now()
		s.pause(running, pause)
		s.tellSlept(s.now().Sub(began))
	}
	s.tellLead(false)
	listening.Wait()
	return s.resign(context.WithoutCancel(ctx))
}

// tellLead and tellSlept tell those who watch the schedulers of this process.
func (s *scheduler) tellLead(leads bool) {
	if s.leads != nil {
		s.leads(leads)
	}
}

func (s *scheduler) tellSlept(d time.Duration) {
	if s.slept != nil {
		s.slept(d)
	}
}

// leadIsFree is what a leader that resigns says; everything else is an instant.
const leadIsFree = "free"

// told hears of an earlier instant, or that there is no leader.
func (s *scheduler) told(_, message string) {
	if message == leadIsFree || s.leading.Load() {
		notify(s.wake)
	}
}

// turn asks for the lead, does the leader's work, and returns how long nothing
// is to be done.
func (s *scheduler) turn(ctx context.Context) time.Duration {
	now, err := s.lead(ctx)
	if err == nil && now.leads && !s.leading.Load() && s.onLead != nil {
		// If it is not taken, this turn does not count and the next tries again.
		err = s.Push(ctx, s.onLead(now.term))
	}
	if err != nil {
		s.leading.Store(false)
		if ctx.Err() == nil && !s.failing {
			s.log.Warn("the scheduler cannot reach Redis", "error", err)
		}
		s.failing = true
		return min(time.Second, s.maxWait)
	}
	s.failing = false
	if now.leads != s.leading.Swap(now.leads) {
		s.log.Info("the leading scheduler changed", "leads", now.leads, "term", now.term)
	}
	s.log.Debug("the scheduler sleeps until something is due", "until", time.Now().Add(now.next))
	return now.next
}

func (s *scheduler) lead(ctx context.Context) (leadership, error) {
	// A wake-up can be missed; then those who wait for entries look for
	// themselves. The lead outlasts the longest pause, so that a leader keeps it,
	// and not a wait: one that was killed is replaced within that time.
	lasts := s.maxWait
	longest := lasts * 5 / 6
	m, err := s.run(ctx, dispatchScripts.lead, s.token, milliseconds(lasts), milliseconds(s.consumerIdle))
	if err != nil {
		return leadership{}, err
	}
	values, err := m.AsIntSlice()
	if err != nil || len(values) < 3 {
		return leadership{}, failure(err)
	}
	next := min(values[2], longest.Milliseconds())
	return leadership{leads: values[0] == 1, term: values[1], next: time.Duration(next) * time.Millisecond}, nil
}

func milliseconds(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) }

func (s *scheduler) pause(ctx context.Context, t time.Duration) {
	passed, stop := s.timer(t)
	defer stop()
	select {
	case <-passed:
	case <-s.wake:
	case <-ctx.Done():
	}
}

// resign gives up the lead if it is this scheduler's.
func (s *scheduler) resign(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, 2*graceTime)
	defer cancel()
	if _, err := s.run(limited, dispatchScripts.resign, s.token); err != nil {
		// The lead runs out by itself.
		s.log.Debug("the scheduler cannot resign", "error", err)
	}
	return nil
}
