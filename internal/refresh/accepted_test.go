package refresh_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// lossy is a log that is not where the snapshots are, and can lose everything.
type lossy struct {
	refresh.EventLog
	epoch atomic.Int64
	// lost drops what is published.
	lost atomic.Bool
}

func (l *lossy) Lasting() bool { return false }

func (l *lossy) Epoch(context.Context, refresh.Topic) (string, error) {
	return fmt.Sprint("epoch ", l.epoch.Load()), nil
}

func (l *lossy) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	if l.lost.Load() {
		return nil
	}
	return l.EventLog.Publish(ctx, topic, messages...)
}

// TestAcceptedOutlivesTheLog: what was promised is published again when the log
// has lost it; dead letters that are redriven as well.
func TestAcceptedOutlivesTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := newFailing()
		log := &lossy{}
		s := newStand(t, up, func(s *stand) {
			s.wrapLog = func(inside refresh.EventLog) refresh.EventLog { log.EventLog = inside; return log }
		})
		s.start()
		_, err := s.ask(high, names(10)...)
		s.check(err)
		s.until("ten are dead letters", func() bool { return len(s.letters()) == 10 })
		up.healed.Store(true)
		s.pass(time.Minute)
		log.lost.Store(true)
		keys := []string{}
		for i := range 600 {
			keys = append(keys, fmt.Sprint("lost-", i))
		}
		_, err = s.ask(high, keys[:300]...)
		s.check(err)
		_, err = s.ask(low, keys[300:]...)
		s.check(err)
		n, err := s.RedriveWhy(t.Context(), "EVEN")
		s.check(err)
		m, err := s.RedriveWhy(t.Context(), "ODD")
		if s.check(err); n+m != 10 {
			t.Fatalf("%d were redriven", n+m)
		}
		s.pass(time.Minute)
		if up.all() != 10 {
			t.Fatalf("%d calls", up.all())
		}
		log.lost.Store(false)
		log.epoch.Add(1)
		s.pass(time.Minute)
		if !s.stored(append(keys, names(10)...)...)() {
			t.Error("what was accepted is lost")
		}
		if up.all() != 620 {
			t.Errorf("%d calls", up.all())
		}
		for _, p := range []domain.Priority{high, low} {
			if left, _, err := s.parts.Snapshots.Unfinished(t.Context(), p, "", 10); err != nil || len(left) > 0 {
				t.Errorf("%d are not settled, %v", len(left), err)
			}
		}
	})
}

// TestPromiseThatRestsOnAnother: who is told that a refresh is under way has it,
// also if whoever began it never heard that he did, and has published nothing.
func TestPromiseThatRestsOnAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := newFailing()
		up.healed.Store(true)
		s := newStand(t, up, func(s *stand) {
			s.wrapLog = func(inside refresh.EventLog) refresh.EventLog { return &lossy{EventLog: inside} }
		})
		s.start()
		s.plan.FailAfter("Acquire", 1)
		if _, err := s.ask(high, "hero"); err == nil {
			t.Fatal("the answer was lost")
		}
		s.want(refresh.AlreadyProcessing, high, "hero")
		s.until("what was promised is stored", s.stored("hero"))
		if up.all() != 1 {
			t.Errorf("%d calls", up.all())
		}
		// The log, the store and the coalescer fail whoever began it, one after the
		// other: the request is kept as if it were in the log.
		s.breaks(down, "Publish", "Park", "Release")
		if _, err := s.ask(high, "third"); err == nil {
			t.Fatal("nothing could be published")
		}
		s.breaks(nil, "Publish", "Park", "Release")
		s.want(refresh.AlreadyProcessing, high, "third")
		s.until("what was promised is stored", s.stored("third"))
		if up.all() != 2 {
			t.Errorf("%d calls", up.all())
		}
		// Who began it and does publish is not called for twice.
		s.want(refresh.Published, high, "other")
		s.want(refresh.AlreadyProcessing, high, "other")
		s.pass(5 * time.Minute)
		if !s.stored("other")() || up.all() != 3 {
			t.Errorf("%d calls", up.all())
		}
	})
}

// TestGrantThatIsOld: a process that stood still between its grant and its call
// asks again, once.
func TestGrantThatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := newFailing()
		up.healed.Store(true)
		s := newStand(t, up)
		s.start()
		s.breaks(hang(time.Second), "Reserve")
		s.want(refresh.Published, high, "hero")
		s.until("it is stored", s.stored("hero"))
		if up.all() != 1 || s.times("Reserve") != 2 {
			t.Errorf("%d calls, reserved %d times", up.all(), s.times("Reserve"))
		}
	})
}
