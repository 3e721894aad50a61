package watch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/watch"
)

// signals joins broadcasters as if they were in several processes, and counts.
type signals struct {
	mu                 sync.Mutex
	by                 map[chan struct{}]bool
	announced, listens int
	deaf               bool
}

func (s *signals) Announce(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced++
	for ch := range s.by {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (s *signals) Changes(context.Context) (<-chan struct{}, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{}, 1)
	s.listens++
	s.by[ch] = true
	if s.deaf {
		delete(s.by, ch)
	}
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.by, ch)
		s.listens--
	}
}

func (s *signals) listening() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listens
}

// told takes the token of a watcher, if there is one.
func told(ch <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func run(t *testing.T, b *watch.Broadcaster) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { b.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := watch.New(nil, time.Minute)
		b.Run(t.Context()) // returns at once
		one, endOne := b.Watch()
		two, endTwo := b.Watch()
		if told(one) || told(two) {
			t.Error("told before anything changed")
		}
		b.Notify()
		b.Notify()
		if !told(one) || told(one) || !told(two) {
			t.Error("want one token each")
		}
		endOne()
		b.Notify()
		if told(one) || !told(two) {
			t.Error("only who watches is told")
		}
		endTwo()
		b.Notify()
	})
}

func TestBetweenProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &signals{by: map[chan struct{}]bool{}}
		here, there := watch.New(s, time.Minute), watch.New(s, time.Minute)
		run(t, here)
		run(t, there)
		if s.listening() != 0 {
			t.Error("somebody listens though nobody watches")
		}
		for range 3 {
			ch, end := here.Watch()
			synctest.Wait()
			if s.listening() != 1 {
				t.Fatalf("%d listen, want 1", s.listening())
			}
			there.Notify()
			if !told(ch) {
				t.Error("not told what changed in the other process")
			}
			// While one goes and the next comes nothing is missed.
			next, endNext := here.Watch()
			end()
			there.Notify()
			if !told(next) || told(ch) {
				t.Error("want the token with the one who watches")
			}
			endNext()
			again, endAgain := here.Watch()
			synctest.Wait()
			there.Notify()
			if !told(again) {
				t.Error("who came back at once is not told")
			}
			endAgain()
			synctest.Wait()
			if s.listening() != 0 {
				t.Errorf("%d listen though nobody watches", s.listening())
			}
		}
	})
}

// TestMissedAnnouncements: who hears nothing checks now and then on its own.
func TestMissedAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &signals{by: map[chan struct{}]bool{}, deaf: true}
		b := watch.New(s, time.Minute)
		ch, end := b.Watch() // also before it runs
		defer end()
		run(t, b)
		time.Sleep(time.Minute - time.Nanosecond)
		if told(ch) {
			t.Error("told too early")
		}
		time.Sleep(time.Nanosecond)
		if !told(ch) {
			t.Error("not told to look again")
		}
	})
}

// TestAnnouncesMergedNews: announcing may be slow, and does not hold anybody up.
func TestAnnouncesMergedNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &signals{by: map[chan struct{}]bool{}}
		b := watch.New(s, time.Minute)
		for range 1000 {
			b.Notify()
		}
		run(t, b)
		if s.announced != 1 {
			t.Errorf("announced %d times, want once", s.announced)
		}
		b.Notify()
		synctest.Wait()
		if s.announced != 2 {
			t.Errorf("announced %d times, want twice", s.announced)
		}
	})
}
