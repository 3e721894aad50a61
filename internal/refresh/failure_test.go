package refresh_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
)

// TestThreeTries: an upstream that fails is asked three times, ever later.
func TestThreeTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		up := scripted(func(context.Context, string, int) refresh.Fetched {
			at = append(at, time.Now())
			return refresh.Fetched{Verdict: refresh.FetchRetry, Code: "HTTP502", Error: "bad gateway", HTTPStatus: http.StatusBadGateway}
		})
		s := newStand(t, up)
		began := s.now()
		grant := s.want(refresh.Published, low, "key")
		s.start()
		s.until("it is tried again", func() bool {
			_, _, status := s.snapshot("key")
			return status != nil && status.Code == refresh.StatusRetrying && status.Error == "bad gateway"
		})
		s.until("it is given up", func() bool { return len(s.letters()) == 1 })
		s.until("that is shown", func() bool {
			_, _, status := s.snapshot("key")
			return status.Code == refresh.StatusFailed && status.Tries == 3
		})
		if len(at) != 3 {
			t.Fatalf("%d calls", len(at))
		}
		for i, most := range []time.Duration{500 * time.Millisecond, time.Second} {
			if gap := at[i+1].Sub(at[i]); gap < most/2 || gap > most+50*time.Millisecond {
				t.Errorf("%s passed before call %d", gap, i+2)
			}
		}
		l := s.letters()[0]
		if l.ID != l.EventID || l.Key != "key" || l.Source != game || l.Version != grant.Version || l.Priority != low ||
			l.Reason != refresh.ReasonUserRequest || l.CorrelationID != "a test" || l.SchemaVersion != refresh.SchemaVersion {
			t.Errorf("the event is %+v", l.Event)
		}
		if l.Why != "HTTP502" || l.Error != "bad gateway" || l.HTTPStatus != http.StatusBadGateway || l.Tries != 3 ||
			l.Topic != string(refresh.TopicLow) || l.Offset <= 0 || l.FirstAt.Before(began) || !l.FailedAt.After(l.FirstAt) || l.RequestedAt.IsZero() {
			t.Errorf("the letter is %+v", l)
		}
		s.want(refresh.Published, high, "key")
	})
}

// TestFailureThatPasses leaves no trace.
func TestFailureThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 1})
		w.FailNext(sim.AnyRequest, 1, sim.HTMLErrorPage(http.StatusBadGateway))
		w.FailNext(sim.AnyRequest, 1, sim.Delayed(time.Minute)) // beyond the time-out
		s := newStand(t, w)
		s.start()
		key := w.keys(1)[0]
		s.want(refresh.Published, high, key)
		s.until("it is stored", s.stored(key))
		if _, _, status := s.snapshot(key); status != nil || len(s.letters()) != 0 || w.Audit().Calls != 3 {
			t.Errorf("status %+v, %d letters, %d calls", status, len(s.letters()), w.Audit().Calls)
		}
	})
}

func TestTriesThatArePointless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 2})
		keys := w.keys(2)
		w.FailNext(sim.ForOcid(strings.TrimPrefix(keys[0], maplestory.DefaultPart+":")), 1, sim.MalformedJSON())
		nobody := maplestory.DefaultPart + ":nobody"
		s := newStand(t, w)
		s.start()
		s.want(refresh.Published, high, nobody)
		s.want(refresh.Published, high, keys[0])
		s.want(refresh.Published, high, keys[1])
		s.until("one is stored", s.stored(keys[1]))
		s.until("two are given up", func() bool { return len(s.letters()) == 2 })
		s.wantCounts(map[string]int64{sim.InvalidIdentifier.Name(): 1, maplestory.WhyUnparsable: 1})
		for _, l := range s.letters() {
			if l.Tries != 1 || l.HTTPStatus == 0 {
				t.Errorf("got %+v", l)
			}
		}
		if calls := w.Audit().Calls; calls != 3 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestMaintenanceIsWaitedOut(t *testing.T) {
	for name, code := range map[string]sim.Code{"game": sim.GameMaintenance, "api": sim.APIMaintenance, "preparing": sim.BeingPrepared} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sim.Options{Characters: 5})
				w.SetMaintenance(code)
				s := newStand(t, w)
				s.start()
				keys := w.keys(5)
				_, err := s.ask(high, keys...)
				s.check(err)
				s.pass(10*time.Minute + 30*time.Second) // between two looks
				calls := w.Audit().Calls
				if calls < 10 || calls > 5*11 || len(s.letters()) != 0 {
					t.Errorf("%d calls and %d letters in ten minutes", calls, len(s.letters()))
				}
				w.SetMaintenance(sim.OK)
				s.until("all are stored", s.stored(keys...))
				if more := w.Audit().Calls - calls; more != 5 {
					t.Errorf("%d calls after it", more)
				}
			})
		})
	}
}

func TestTooManyCallsPauseEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 20})
		fault := sim.Failure(sim.QuotaExceeded)
		fault.Header = http.Header{"Retry-After": {"30"}}
		w.FailNext(sim.AnyRequest, 1, fault)
		s := newStand(t, w)
		s.start()
		keys := w.keys(20)
		s.want(refresh.Published, high, keys[0])
		s.until("it is told to stay away", func() bool { return w.Audit().Calls == 1 })
		_, err := s.ask(high, keys[1:10]...)
		s.check(err)
		_, err = s.ask(low, keys[10:]...)
		s.check(err)
		s.pass(29 * time.Second)
		if calls := w.Audit().Calls; calls != 1 {
			t.Errorf("%d calls during the pause", calls)
		}
		s.until("all are stored", s.stored(keys...))
		if calls := w.Audit().Calls; calls != 21 || len(s.letters()) != 0 {
			t.Errorf("%d calls, %d letters", calls, len(s.letters()))
		}
	})
}

func TestRefusedKeyBuriesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 3})
		w.Forbid(sim.DefaultKey, true)
		s := newStand(t, w)
		s.start()
		keys := w.keys(3)
		_, err := s.ask(high, keys...)
		s.check(err)
		s.pass(10 * time.Minute)
		if calls := w.Audit().Calls; calls > 3*11 || len(s.letters()) != 0 {
			t.Errorf("%d calls and %d letters in ten minutes", calls, len(s.letters()))
		}
		w.Forbid(sim.DefaultKey, false)
		s.until("all are stored", s.stored(keys...))
	})
}

// TestEventsThatNobodyCanCarryOut are kept for a person, and hold nobody up.
func TestEventsThatNobodyCanCarryOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.check(s.parts.Log.Publish(t.Context(), refresh.TopicLow, refresh.Message{Key: "odd", Value: []byte("no event")}))
		strange := refresh.Event{SchemaVersion: refresh.SchemaVersion, EventID: "strange", Entity: refresh.Entity{Source: "gone", Key: "k"}, Priority: low, Version: 7}
		text, err := strange.Encode()
		s.check(err)
		s.check(s.parts.Log.Publish(t.Context(), refresh.TopicLow, refresh.Message{Key: "gone/k", Value: text}))
		s.start()
		s.want(refresh.Published, low, "key")
		s.until("the others go on", s.stored("key"))
		s.until("both are kept", func() bool { return len(s.letters()) == 2 })
		s.wantCounts(map[string]int64{"UNREADABLE_EVENT": 1, "UNKNOWN_SOURCE": 1})
		for _, l := range s.letters() {
			if l.ID == "" || l.Priority != low || l.Tries != 0 {
				t.Errorf("got %+v", l)
			}
			if l.Key == "" {
				if _, err := s.Redrive(t.Context(), l.ID); domain.CodeOf(err) != domain.CodeInvalid {
					t.Errorf("what names nothing was asked for: %v", err)
				}
			}
		}
		n, err := s.RedriveWhy(t.Context(), "UNREADABLE_EVENT")
		if err != nil || n != 0 || len(s.letters()) != 2 {
			t.Errorf("%d were asked for, %v", n, err)
		}
	})
}
