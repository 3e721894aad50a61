package redis_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

func quotaAsk() quota.Ask {
	return quota.Ask{Owner: "alice", Bucket: "core", Endpoint: "list", Cost: 1, Points: 1}
}

func (s *quotaStand) decide(a quota.Ask) quota.Decision {
	s.Helper()
	d, err := s.keeper.Reserve(s.Context(), a)
	if err != nil {
		s.Fatalf("Reserve: %v", err)
	}
	s.Persist(d.Window)
	return d
}

// grant reserves n calls.
func (s *quotaStand) grant(n int) []quota.Permit {
	s.Helper()
	var permits []quota.Permit
	for range n {
		d := s.decide(quotaAsk())
		if !d.Granted {
			s.Fatalf("refused for %s until %v", d.Reason, d.RetryAt)
		}
		permits = append(permits, d.Permit)
	}
	return permits
}

func (s *quotaStand) settle(p quota.Permit, r quota.Response) {
	s.Helper()
	w, err := s.keeper.Settle(s.Context(), p, r)
	if err != nil {
		s.Fatalf("Settle: %v", err)
	}
	s.Persist(w)
}

// drain makes calls until one is refused, and returns how many and what the
// refusal said.
func (s *quotaStand) drain(u *quotatest.Upstream) (int, quota.Decision) {
	s.Helper()
	for n := 0; ; n++ {
		d := s.decide(quotaAsk())
		if !d.Granted {
			return n, d
		}
		s.settle(d.Permit, u.Count(s.Now(), d.Permit.Ask))
	}
}

func lossConfig(limit, concurrency int) quota.Config {
	return quota.Config{Concurrency: concurrency, Buckets: map[string]quota.Limits{
		"core": {Limit: limit, Window: time.Hour}, "graphql": {Limit: limit, Window: time.Hour},
	}}
}

// TestFlushInTheMiddleOfAWindow: what is left of the window is not known then.
// The answers to calls that were under way tell it.
func TestFlushInTheMiddleOfAWindow(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.StartRedis(t).URL()), lossConfig(100, 10), noon)
	u := &quotatest.Upstream{Limit: 100, Window: time.Hour}
	for _, p := range s.grant(1) {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	for _, p := range s.grant(9) {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	flying := s.grant(10)
	var answers []quota.Response
	for _, p := range flying[:5] {
		answers = append(answers, u.Count(s.Now(), p.Ask))
	}
	c := s.db.Client
	if err := c.Do(t.Context(), c.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if d := s.decide(quotaAsk()); d.Granted || d.Reason != quota.ReasonPrimary {
		t.Fatalf("after the loss: %+v, want a refusal: nothing is known to be left", d)
	}
	// 85 are left, and of the forty that are taken to be under way ten are
	// known: the answers of half of them open what is certain.
	for i, r := range answers {
		s.settle(flying[i], r)
		s.settle(flying[i], r) // repeated, as its answer was lost
	}
	if w, err := s.keeper.Windows(t.Context(), "alice"); err != nil || len(w) != 1 || w[0].InFlight != 35 {
		t.Fatalf("Windows: %+v, %v, want 35 in flight: each of five counts once", w, err)
	}
	for _, p := range flying[5:] {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	d := s.decide(quotaAsk())
	if !d.Granted {
		t.Fatalf("after the answers: %+v, want a call", d)
	}
	s.settle(d.Permit, u.Count(s.Now(), d.Permit.Ask))
	s.Advance(31 * time.Second) // no call lasts so long
	n, d := s.drain(u)
	if u.TooMany != 0 || u.Usage[0].Used < 100-40 || d.Reason != quota.ReasonPrimary {
		t.Fatalf("%d more calls, used %d of 100, %d too many, refused for %s", n, u.Usage[0].Used, u.TooMany, d.Reason)
	}
	s.Advance(d.RetryAt.Sub(s.Now()))
	if n, _ := s.drain(u); n != 100 || u.TooMany != 0 {
		t.Fatalf("%d calls in the next window, %d too many", n, u.TooMany)
	}
}

// TestCallsOutliveShortWindows: a call that was granted when everything is lost may
// arrive after its window and the next one are over.
func TestCallsOutliveShortWindows(t *testing.T) {
	cfg := quota.Config{Concurrency: 4, Buckets: map[string]quota.Limits{"core": {Limit: 3, Window: 2 * time.Second}}}
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), cfg, noon)
	u := &quotatest.Upstream{Limit: 3, Window: 2 * time.Second}
	permits := s.grant(2)
	s.settle(permits[0], u.Count(s.Now(), permits[0].Ask))
	s.Advance(8 * time.Second)
	s.forget()
	s.drain(u)
	u.Count(s.Now(), permits[1].Ask)
	if u.TooMany != 0 {
		t.Errorf("%d calls too many", u.TooMany)
	}
}

// TestLossWithNothingUnderWay: nobody can tell what is left, so that the
// window is over for us, and no later.
func TestLossWithNothingUnderWay(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 10), noon)
	u := &quotatest.Upstream{Limit: 100, Window: time.Hour}
	for _, p := range s.grant(10) {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	s.forget()
	s.Advance(time.Minute)
	for {
		d := s.decide(quotaAsk())
		if d.Granted {
			break
		}
		s.Advance(d.RetryAt.Sub(s.Now()))
	}
	if late := s.Now().Sub(u.Usage[0].End); late < 0 || late > 1100*time.Millisecond {
		t.Fatalf("the first call comes %v after the reset, want 0 to 1.1s", late)
	}
}

// TestAnswerOfTheWindowBefore: it tells nothing about what is left of the one
// that Redis lost.
func TestAnswerOfTheWindowBefore(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 2), noon)
	u := &quotatest.Upstream{Limit: 100, Window: time.Hour}
	slow := s.grant(1)[0]
	answer := u.Count(s.Now(), slow.Ask)
	first := s.grant(1)[0]
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.Advance(61 * time.Minute)
	for range 95 {
		p := s.grant(1)[0]
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	s.forget()
	s.settle(slow, answer)
	s.Advance(time.Minute)
	if d := s.decide(quotaAsk()); d.Granted {
		t.Fatal("an answer of the window before opened this one")
	}
}

// TestDeleteWhileManyReserve deletes the state again and again while callers
// reserve and settle.
func TestDeleteWhileManyReserve(t *testing.T) {
	const callers = 20
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(1000, callers), noon)
	u := &quotatest.Upstream{Limit: 1000, Window: time.Hour}
	for _, p := range s.grant(1) {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	var counting sync.Mutex
	var all sync.WaitGroup
	deleting := make(chan struct{}, 1)
	for i := range callers {
		all.Go(func() {
			for n := range 40 {
				if err := s.call(u, &counting); err != nil {
					t.Error(err)
				}
				if i == 0 && n%10 == 5 {
					deleting <- struct{}{}
				}
			}
			if i == 0 {
				close(deleting)
			}
		})
	}
	for range deleting {
		s.forget()
	}
	all.Wait()
	if u.TooMany != 0 {
		t.Fatalf("%d calls too many", u.TooMany)
	}
	s.Advance(2 * time.Hour)
	if n, _ := s.drain(u); n != 1000 || u.TooMany != 0 {
		t.Fatalf("%d calls in a new window, want 1000; %d too many", n, u.TooMany)
	}
}

// call makes one call if it is granted.
func (s *quotaStand) call(u *quotatest.Upstream, counting sync.Locker) error {
	d, err := s.keeper.Reserve(s.Context(), quotaAsk())
	if err != nil || !d.Granted {
		return err
	}
	s.Persist(d.Window)
	counting.Lock()
	r := u.Count(s.Now(), d.Permit.Ask)
	counting.Unlock()
	w, err := s.keeper.Settle(s.Context(), d.Permit, r)
	s.Persist(w)
	return err
}

func TestSequenceIsAboveWhatIsStored(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 10), noon)
	// A keeper in a process counted in nanoseconds, on a clock that was ahead.
	stored := domain.QuotaWindow{
		Owner: "alice", Bucket: "core", Limit: 100, Started: noon.Add(-10 * time.Hour),
		Reset: noon.Add(-9 * time.Hour), Seq: uint64(noon.Add(time.Minute).UnixNano()),
	}
	s.Persist(&stored)
	last := stored.Seq
	for range 3 {
		d := s.decide(quotaAsk())
		for !d.Granted {
			s.Advance(d.RetryAt.Sub(s.Now()))
			d = s.decide(quotaAsk())
		}
		if d.Window == nil || d.Window.Seq <= last {
			t.Fatalf("the window is %+v, want one with a sequence above %d", d.Window, last)
		}
		last = d.Window.Seq
		s.forget()
	}
}

func TestQuotaFailsClosed(t *testing.T) {
	server := testkit.StartRedis(t)
	s := newQuotaStand(t, connectOwn(t, server.URL()), lossConfig(3, 10), noon)
	p := s.grant(1)[0]
	server.Kill()
	if d, err := s.keeper.Reserve(t.Context(), quotaAsk()); domain.CodeOf(err) != domain.CodeUnavailable || d.Granted {
		t.Fatalf("Reserve without Redis: %+v, %v", d, err)
	}
	if _, err := s.keeper.Settle(t.Context(), p, quota.Response{}); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("Settle without Redis: %v", err)
	}
	if _, err := s.keeper.Windows(t.Context(), ""); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("Windows without Redis: %v", err)
	}
	server.Start()
	// The server begins empty, and the window is known to be in use.
	var d quota.Decision
	for {
		var err error
		if d, err = s.keeper.Reserve(t.Context(), quotaAsk()); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if d.Granted || d.Reason != quota.ReasonPrimary {
		t.Fatalf("after the restart: %+v, want a refusal", d)
	}
}

func TestNoCallWhenNothingCanBeRestored(t *testing.T) {
	broken := errors.New("the store does not answer")
	k := redis.NewQuota(connectOwn(t, testkit.Redis(t)), lossConfig(3, 10), redis.QuotaOptions{
		Restore: func(context.Context, string) ([]domain.QuotaWindow, error) { return nil, broken },
	})
	d, err := k.Reserve(t.Context(), quotaAsk())
	if d.Granted || domain.CodeOf(err) != domain.CodeUnavailable || !errors.Is(err, broken) {
		t.Fatalf("Reserve: %+v, %v", d, err)
	}
}

// TestQuotaClockOfTheServerIsSetBack: what was written by a clock that was ahead binds
// nobody until the clock is there again. The permits of the dead end after their
// life, and a window and a park last about as long as they would have.
func TestQuotaClockOfTheServerIsSetBack(t *testing.T) {
	t.Parallel()
	server, clock := testkit.StartRedisWithClock(t)
	clock.Set(10 * time.Hour)
	s := newQuotaStand(t, connectOwn(t, server.URL()), quota.Config{Concurrency: 2, Buckets: map[string]quota.Limits{
		"core": {Limit: 10, Window: time.Hour}, "graphql": {Limit: 10, Window: time.Hour},
	}}, time.Time{})
	s.life = 20 * time.Second // of a clock that is set: nobody waits for it
	s.keeper = s.newKeeper()
	s.grant(2) // and never given back
	parked := quotaAsk()
	parked.Owner = "bob"
	p := s.decide(parked).Permit
	s.settle(p, quota.Response{RetryAfter: 2 * time.Minute})
	soon := func(a quota.Ask, why quota.Reason, longest time.Duration) {
		t.Helper()
		d := s.decide(a)
		if wait := time.Until(d.RetryAt); d.Granted || d.Reason != why || wait > longest {
			t.Fatalf("to be asked again in %v, want %v at most: %+v", wait, longest, d)
		}
	}
	// Whoever asks waits by a clock of his own.
	for _, ahead := range []time.Duration{10 * time.Hour, 0} {
		clock.Set(ahead)
		soon(quotaAsk(), quota.ReasonConcurrency, s.life)
		soon(parked, quota.ReasonRetryAfter, 4*time.Minute)
	}
	clock.Set(2 * s.life)
	// The first to ask finds out that something is to be swept.
	s.decide(quotaAsk())
	if d := s.decide(quotaAsk()); !d.Granted {
		t.Fatalf("the permits of the dead are held: %+v", d)
	}
	for _, w := range s.stored {
		if ahead := time.Until(w.Started); ahead > time.Minute {
			t.Errorf("stored by the wrong clock: %+v", w)
		}
	}
}
