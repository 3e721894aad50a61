package refresh_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// keptApart lets what is accepted be kept in the store beside the log, as where
// processes share servers.
func keptApart(s *stand) {
	s.wrapLog = func(inside refresh.EventLog) refresh.EventLog { return &lossy{EventLog: inside} }
}

// TestCrowdIsAcceptedTogether: those who ask for one entity do not wait for one
// another in the store.
func TestCrowdIsAcceptedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		s := newStand(t, up, keptApart)
		s.breaks(hang(50*time.Millisecond), "Accept")
		began := time.Now()
		var crowd sync.WaitGroup
		var published atomic.Int64
		for range 1000 {
			crowd.Go(func() {
				grants, err := s.ask(high, "wanted")
				if err != nil {
					t.Error(err)
				} else if grants[0].Result == refresh.Published {
					published.Add(1)
				}
			})
		}
		crowd.Wait()
		if d := time.Since(began); d > 2*time.Second || s.times("Accept") > 50 {
			t.Errorf("a crowd of 1,000 took %s and %d transactions", d, s.times("Accept"))
		}
		s.start()
		s.until("it is stored", s.stored("wanted"))
		if published.Load() != 1 || up.all() != 1 {
			t.Errorf("%d were published, %d calls", published.Load(), up.all())
		}
		if left, _, err := s.parts.Snapshots.Unfinished(t.Context(), high, "", 10); err != nil || len(left) > 0 {
			t.Errorf("%d are not settled, %v", len(left), err)
		}
	})
}

// TestOneThatIsRefused does not take along those that are accepted with it.
func TestOneThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`), keptApart)
		s.breaks(hang(50*time.Millisecond), "Accept")
		var crowd sync.WaitGroup
		for _, key := range append(names(100), refusedKey) {
			crowd.Go(func() {
				want := domain.Code("")
				if key == refusedKey {
					want = domain.CodeInvalid
				}
				if _, err := s.ask(high, key); err != nil && domain.CodeOf(err) != want || err == nil && want != "" {
					t.Errorf("%s: %v", key, err)
				}
			})
		}
		crowd.Wait()
		s.start()
		s.until("the others are stored", s.stored(names(100)...))
	})
}

// oneLane is a log of which a process is given only one topic's records.
type oneLane struct {
	refresh.EventLog
	topic refresh.Topic
}

func (l *oneLane) Join(ctx context.Context, group string, topic refresh.Topic) (refresh.LogConsumer, error) {
	if topic != l.topic {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.EventLog.Join(ctx, group, topic)
}

// TestOvertakenIsNotCalledTwice: where two processes take the LOW and the HIGH
// request of an entity at once, HIGH calls, and LOW is obsolete.
func TestOvertakenIsNotCalledTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := scripted(func(context.Context, string, int) refresh.Fetched {
			time.Sleep(100 * time.Millisecond)
			return is(`"v"`)
		})
		s := newStand(t, up, func(s *stand) {
			s.wrapLog = func(inside refresh.EventLog) refresh.EventLog {
				return &oneLane{&lossy{EventLog: inside}, refresh.TopicLow}
			}
		})
		parts := s.parts
		parts.Log = &oneLane{s.parts.Log.(*oneLane).EventLog, refresh.TopicHigh}
		other, err := refresh.NewPipeline(parts, s.settings)
		s.check(err)
		t.Cleanup(func() { _ = other.Stop(t.Context()) })
		s.start()
		_ = other.Start(t.Context())
		s.pass(time.Second)
		keys := names(20)
		// Both are taken before either gets on.
		s.breaks(hang(time.Second), "Versions")
		_, err = s.ask(low, keys...)
		s.check(err)
		_, err = s.ask(high, keys...)
		s.check(err)
		s.pass(100 * time.Millisecond)
		s.breaks(nil, "Versions")
		s.until("all are stored", s.stored(keys...))
		obsolete := func() int64 {
			return s.Worker().Counters().Obsolete.Load() + other.Worker().Counters().Obsolete.Load()
		}
		s.until("LOW is done", func() bool { return obsolete() >= 20 })
		if up.all() != 20 || obsolete() != 20 {
			t.Errorf("%d calls, %d obsolete", up.all(), obsolete())
		}
	})
}

// TestOvertakenByNobody: HIGH was accepted by a process that ended before it
// published it; LOW is carried out all the same.
func TestOvertakenByNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		var log *lossy
		s := newStand(t, up, func(s *stand) {
			s.wrapLog = func(inside refresh.EventLog) refresh.EventLog { log = &lossy{EventLog: inside}; return log }
		})
		s.start()
		s.pass(time.Second)
		// Nobody gets on with LOW before HIGH is there.
		s.breaks(hang(time.Second), "Versions")
		s.want(refresh.Published, low, "key")
		log.lost.Store(true)
		s.want(refresh.Upgraded, high, "key")
		log.lost.Store(false)
		s.breaks(nil, "Versions")
		s.pass(20 * time.Second)
		if up.all() != 0 {
			t.Errorf("%d calls while HIGH may be about to come", up.all())
		}
		s.pass(15 * time.Second)
		if !s.stored("key")() || up.all() != 1 {
			t.Errorf("then %d calls", up.all())
		}
	})
}

// TestIdleAsksTheStoreSeldom: while the log is the one it was, the store is not
// asked which one that was.
func TestIdleAsksTheStoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`), keptApart)
		s.start()
		s.pass(time.Hour)
		if n := s.times("LogEpoch"); n != 2 {
			t.Errorf("the store was asked %d times for the epoch of a topic, in an hour", n)
		}
	})
}

// TestCountsAreAsOldAsTheyCost: few snapshots are counted for whoever looks, many
// now and then.
func TestCountsAreAsOldAsTheyCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		counted := func() int64 {
			o, err := s.Overview(t.Context())
			s.check(err)
			synctest.Wait()
			return o.Sources[0].Counts.Snapshots
		}
		look := func(span time.Duration) (last int64) {
			for end := time.Now().Add(span); time.Now().Before(end); s.pass(500 * time.Millisecond) {
				last = counted()
			}
			return last
		}
		s.start()
		counted()
		_, err := s.ask(high, names(3)...)
		s.check(err)
		s.until("all are stored", s.stored(names(3)...))
		if n := look(3 * time.Second); n != 3 {
			t.Errorf("three seconds later %d are counted", n)
		}
		s.breaks(hang(time.Second), "Counts")
		look(5 * time.Second)
		before := s.times("Counts")
		look(5 * time.Minute)
		if n := s.times("Counts") - before; n < 4 || n > 6 {
			t.Errorf("what takes a second was counted %d times in five minutes", n)
		}
	})
}
