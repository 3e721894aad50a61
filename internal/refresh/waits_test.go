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

// preparing is an upstream that prepares the data of some keys for a while.
func preparing(ready *atomic.Bool) *script {
	return scripted(func(_ context.Context, key string, _ int) refresh.Fetched {
		if key[0] == 'p' && !ready.Load() {
			return refresh.Fetched{Verdict: refresh.FetchWait, Wait: time.Minute, Code: "OPENAPI00009", Error: "being prepared", HTTPStatus: 400}
		}
		return is(`"v"`)
	})
}

// TestKeyThatIsPreparedHoldsNobodyUp: however many there are, the others are
// refreshed, nothing seems to lag, and they come back by themselves.
func TestKeyThatIsPreparedHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		up := preparing(&ready)
		s := newStand(t, up)
		s.start()
		var slow []string
		for i := range 600 { // more than there are places
			slow = append(slow, fmt.Sprintf("p-%d", i))
		}
		_, err := s.ask(high, slow...)
		s.check(err)
		others := names(1000)
		_, err = s.ask(high, others[:500]...)
		s.check(err)
		_, err = s.ask(low, others[500:]...)
		s.check(err)
		s.pass(20 * time.Second)
		if !s.stored(others...)() {
			t.Fatal("others wait for what is being prepared")
		}
		s.Lags()
		s.pass(6 * time.Second)
		if lags := s.Lags(); lags["HIGH"].Records != 0 || lags["LOW"].Records != 0 {
			t.Errorf("nothing waits to be taken, and the lags are %+v", lags)
		}
		if n := s.Waiting(); n != 600 {
			t.Errorf("%d wait for the upstream", n)
		}
		_, _, status := s.snapshot("p-7")
		if status == nil || status.Code != refresh.StatusRetrying || status.ErrorCode != "OPENAPI00009" || status.NextRetryAt.Sub(status.At) < time.Minute {
			t.Errorf("the status is %+v", status)
		}
		// Readers do not make it be asked more often.
		for range 10 {
			s.get("p-7")
			s.pass(31 * time.Second)
		}
		if calls := up.called("p-7"); calls > 4 {
			t.Errorf("%d calls in five minutes", calls)
		}
		ready.Store(true)
		s.until("all are stored", s.stored(slow...))
		s.until("none waits", func() bool { s.pass(time.Minute); return s.Waiting() == 0 })
		if _, _, status := s.snapshot("p-7"); status != nil {
			t.Errorf("the status is %+v", status)
		}
	})
}

// TestWaitsOutliveTheProcess, and are not asked for again before their instant.
func TestWaitsOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		up := preparing(&ready)
		s := newStand(t, up)
		s.start()
		s.want(refresh.Published, high, "p")
		s.until("it waits", func() bool { return s.Waiting() == 1 })
		s.crash()
		s.open()
		s.start()
		s.pass(50 * time.Second)
		if calls := up.called("p"); calls != 1 {
			t.Errorf("%d calls", calls)
		}
		ready.Store(true)
		s.pass(15 * time.Second)
		if !s.stored("p")() || up.called("p") != 2 {
			t.Errorf("after its instant %d calls", up.called("p"))
		}
	})
}

// TestWaitsEnd: what is put off for ever is given up.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := preparing(&atomic.Bool{})
		s := newStand(t, up)
		s.start()
		s.want(refresh.Published, low, "p")
		s.pass(30 * time.Hour)
		s.wantCounts(map[string]int64{"OPENAPI00009": 1})
		if calls := up.called("p"); calls > 40 {
			t.Errorf("%d calls", calls)
		}
		if s.Waiting() != 0 {
			t.Errorf("%d wait", s.Waiting())
		}
	})
}

// TestDoneIsNotCalledAgain: one open record makes the log hand out everything
// behind it again, after a crash. What the store has seen is not called for.
func TestDoneIsNotCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		up := scripted(func(ctx context.Context, key string, _ int) refresh.Fetched {
			switch key {
			case "open":
				select {
				case <-hold:
				case <-ctx.Done():
				}
			case "dead":
				return refresh.Fetched{Verdict: refresh.FetchDead, Code: "NO", Error: "no"}
			}
			return is(`"v"`)
		})
		s := newStand(t, up)
		// All of one partition, behind one that does not end.
		s.check(s.publishTo("one partition", "open", "dead"))
		s.check(s.publishTo("one partition", names(500)...))
		s.start()
		s.until("all but one are stored", s.stored(names(500)...))
		s.until("one is given up", func() bool { return s.Worker().Counters().Dead.Load() == 1 })
		s.crash()
		calls := up.all()
		s.open()
		close(hold)
		s.start()
		s.until("it is stored", s.stored("open"))
		s.pass(time.Minute)
		if again := up.all() - calls; again != 1 {
			t.Errorf("%d calls after the crash, want one", again)
		}
		if taken := s.Worker().Counters().Taken.Load(); taken < 500 {
			t.Errorf("%d were handed out again: the test does not test", taken)
		}
		s.wantCounts(map[string]int64{"NO": 1})
	})
}

// publishTo appends HIGH events of keys to the partition of a word.
func (s *stand) publishTo(partition string, keys ...string) error {
	var messages []refresh.Message
	for _, key := range keys {
		grants, err := s.parts.Coalescer.Acquire(s.Context(), refresh.Ask{Entity: entity(key), Priority: high})
		if err != nil {
			return err
		}
		event := refresh.Event{
			SchemaVersion: refresh.SchemaVersion, EventID: key, Entity: entity(key), Priority: high, Reason: refresh.ReasonUserRequest,
			RequestedAt: s.now(), Version: grants[0].Version,
		}
		text, err := event.Encode()
		if err != nil {
			return err
		}
		messages = append(messages, refresh.Message{Key: partition, Value: text})
	}
	return s.parts.Log.Publish(s.Context(), refresh.TopicHigh, messages...)
}

// TestStopFinishesWhatIsUnderWay: what was paid for is stored, and nothing is
// called for again.
func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := scripted(func(ctx context.Context, _ string, _ int) refresh.Fetched {
			select {
			case <-time.After(3 * time.Second):
				return is(`"v"`)
			case <-ctx.Done():
				return refresh.Fetched{Verdict: refresh.FetchRetry, Code: "STOPPED", Error: "stopped"}
			}
		})
		s := newStand(t, up, func(s *stand) { s.settings.HighInFlight = 100 })
		keys := names(250)
		_, err := s.ask(high, keys...)
		s.check(err)
		s.start()
		s.pass(time.Second)
		began := time.Now()
		_ = s.Stop(s.Context())
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("stopping took %s", took)
		}
		called := up.all()
		if called != 100 {
			t.Fatalf("%d calls were under way", called)
		}
		stored := 0
		for _, key := range keys {
			if _, found, _ := s.snapshot(key); found {
				stored++
			}
		}
		if stored != called {
			t.Errorf("%d of %d calls are stored", stored, called)
		}
		s.close()
		s.open()
		s.start()
		s.until("the others are stored", s.stored(keys...))
		if up.all() != len(keys) {
			t.Errorf("%d calls for %d keys", up.all(), len(keys))
		}
	})
}

// TestStopIsBounded: what does not end is given up.
func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := scripted(func(ctx context.Context, _ string, _ int) refresh.Fetched {
			<-ctx.Done()
			return refresh.Fetched{Verdict: refresh.FetchRetry, Code: "STOPPED", Error: "stopped"}
		})
		s := newStand(t, up, func(s *stand) { s.settings.StopTimeout = 7 * time.Second })
		s.want(refresh.Published, high, "key")
		s.start()
		s.pass(time.Second)
		began := time.Now()
		_ = s.Stop(s.Context())
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("stopping took %s", took)
		}
	})
}

// TestPollingReadersDoNotStopTheLane: a backlog that is longer than a lock lasts,
// with readers that ask again and again, is worked off without a pause, and is
// not called for twice.
func TestPollingReadersDoNotStopTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := plenty
		limits.Hard, limits.Rate, limits.Burst, limits.LowRate, limits.LowBurst = 10, 2, 1, 2, 1
		up := always(`"v"`)
		s := newStand(t, up, func(s *stand) { s.limits = limits })
		keys := names(200)
		_, err := s.ask(high, keys...)
		s.check(err)
		s.start()
		last := 0
		for range 9 { // 90 of 100 s
			s.pass(10 * time.Second)
			if done := up.all() - last; done < 18 {
				t.Errorf("%d calls in ten seconds", done)
			}
			last = up.all()
			for _, key := range keys {
				s.get(key)
			}
		}
		s.pass(2 * time.Minute)
		s.until("all are stored", s.stored(keys...))
		// One that is asked for again in the moment of its call is called for again.
		if calls := up.all(); calls < len(keys) || calls > len(keys)+len(keys)/50 {
			t.Errorf("%d calls for %d keys", calls, len(keys))
		}
	})
}

// TestAskedAgainAfterItsLock: an unrelated request is served at once.
func TestAskedAgainAfterItsLock(t *testing.T) {
	for _, p := range []domain.Priority{high, low} {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := always(`"v"`)
				s := newStand(t, up)
				s.want(refresh.Published, p, "key")
				s.pass(61 * time.Second)
				s.want(refresh.Published, p, "key")
				s.want(refresh.Published, p, "other")
				s.start()
				s.pass(time.Second)
				if !s.stored("key", "other")() || up.all() != 2 {
					t.Errorf("after a second: %d calls", up.all())
				}
			})
		})
	}
}

// TestClockSetBack between two starts: what is paid for is stored, and a look in
// the future is not fresh.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shift := time.Duration(0)
		up := scripted(func(_ context.Context, _ string, n int) refresh.Fetched { return is(fmt.Sprint(n)) })
		s := newStand(t, up, func(s *stand) { s.now = func() time.Time { return later().Add(shift) } })
		s.start()
		first := s.want(refresh.Published, high, "key")
		s.until("it is stored", s.stored("key"))
		s.close()
		shift = -24 * time.Hour
		s.open()
		s.pass(time.Second)
		s.start()
		if a := s.get("key"); a.Freshness != refresh.Stale {
			t.Errorf("a look in the future is %s", a.Freshness)
		}
		s.pass(time.Second)
		second := s.want(refresh.Published, high, "key")
		if second.Version <= first.Version {
			t.Errorf("version %d follows %d", second.Version, first.Version)
		}
		s.pass(time.Second)
		got, _, _ := s.snapshot("key")
		if string(got.Body) != fmt.Sprint(up.all()) || got.CheckedAt.After(s.now()) {
			t.Errorf("stored is %s, looked at %v; it is %v", got.Body, got.CheckedAt, s.now())
		}
		if a := s.get("key"); a.Freshness != refresh.Fresh {
			t.Errorf("then it is %s", a.Freshness)
		}
	})
}

// TestVersionOfTheStoreIsAhead although nobody knows: the value is the newest.
func TestVersionOfTheStoreIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"new"`))
		f := is(`"old"`)
		ahead := s.now().Add(time.Hour).UnixMicro()
		_, err := s.parts.Snapshots.Save(t.Context(), []refresh.Refreshed{{Entity: entity("key"), Version: ahead, At: s.now(), Body: f.Body, Hash: f.Hash}})
		s.check(err)
		s.pass(time.Second)
		// The event's version is of before: only the last look decides.
		s.start()
		s.check(s.publishTo("key", "other"))
		s.until("another is stored", s.stored("other"))
		s.pass(time.Second)
		s.want(refresh.Published, high, "key")
		s.pass(5 * time.Second)
		if got, _, _ := s.snapshot("key"); string(got.Body) != `"new"` {
			t.Errorf("stored is %s", got.Body)
		}
	})
}

// TestForeignEvents: an event as another program writes it, of a character.
func TestForeignEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		s := newStand(t, up)
		s.start()
		text := `{"schemaVersion":"1.1","eventId":"uuid","characterId":123456789,"ocid":"abc123","priority":"HIGH","reason":"CACHE_MISS",
			"requestedAt":"2026-01-27T12:00:00Z","correlationId":"trace","version":128734}`
		for range 2 {
			s.check(s.parts.Log.Publish(t.Context(), refresh.TopicHigh, refresh.Message{Key: "123456789", Value: []byte(text)}))
			s.until("it is stored", s.stored("abc123"))
			s.pass(time.Minute)
		}
		if up.called("abc123") != 2 || len(s.letters()) != 0 {
			t.Errorf("%d calls, %d letters", up.called("abc123"), len(s.letters()))
		}
	})
}
