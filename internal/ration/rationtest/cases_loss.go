package rationtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// restart: a process that begins anew goes on with what was spent.
func restart(s *suite) {
	hour, day := make1("hour", ration.Sliding, 100, time.Hour), make1("day", ration.Fixed, 1000, 24*time.Hour)
	s.spend(95, ask(hour, day))
	s.Restart(0)
	granted := 0
	for d := s.decide(ask(hour, day)); d.Granted; d = s.decide(ask(hour, day)) {
		granted++
		s.settle(d.Permit, keeper.Outcome{})
	}
	if granted > 5 || granted < 3 {
		s.Errorf("%d calls were granted after a restart, of 5 that were left", granted)
	}
	s.clock.Advance(time.Hour + time.Minute)
	s.spend(100, ask(hour, day))
	s.refuse(ask(hour, day))
}

// loss: what a server forgets is stored.
func loss(s *suite) {
	rations := []*ration.Ration{
		make1("sliding", ration.Sliding, 20, time.Minute), make1("fixed", ration.Fixed, 20, time.Hour), make1("bucket", ration.Bucket, 20, 10*time.Minute),
		make1("brief", ration.Sliding, 20, time.Second), make1("brief_bucket", ration.Bucket, 20, time.Second),
	}
	for _, r := range rations {
		s.spend(20, ask(r))
	}
	told := reading(make1("told", ration.Fixed, 5, time.Hour))
	for i := range 5 {
		s.settle(s.grant(ask(told)), keeper.Outcome{Answers: []keeper.Answer{{HasLeft: true, Left: 4 - i, In: 2 * time.Minute}}})
	}
	s.Lose()
	for _, r := range append(rations, told) {
		s.refuse(ask(r))
	}
	s.clock.Advance(2*time.Minute + 5*time.Second)
	s.spend(20, ask(rations[0]))
	s.spend(20, ask(rations[3]))
	s.spend(1, ask(told))
	s.refuse(ask(rations[1]))
}

// pauseOutlives: whoever was told to stay away does, whatever is lost.
func pauseOutlives(s *suite) {
	r := make1("minute", ration.Sliding, 100, time.Minute)
	s.settle(s.grant(gated(r)), keeper.Outcome{RetryAfter: 10 * time.Minute})
	s.Lose()
	if d := s.refuse(gated(r)); d.Reason != keeper.ReasonParked || d.RetryAt.Sub(s.clock.Now()) != 10*time.Minute {
		s.Errorf("refused by %+v", d)
	}
	s.clock.Advance(10 * time.Minute)
	s.grant(gated(r))
}

// storeFails: what cannot be stored is not granted.
func storeFails(s *suite) {
	r := make1("hour", ration.Sliding, 1000, time.Hour)
	s.spend(1, ask(r))
	s.store.Fail(errors.New("no disk"))
	granted := 0
	for {
		d, err := s.first().Reserve(s.Context(), ask(r))
		if err != nil {
			if domain.CodeOf(err) != domain.CodeUnavailable {
				s.Errorf("the error is %v", err)
			}
			break
		}
		if granted++; !d.Granted || granted > 10 {
			s.Fatalf("%d calls were granted, then %+v", granted, d)
		}
	}
	s.store.Fail(nil)
	s.clock.Advance(2 * time.Second) // a store that failed is left alone for a while
	s.grant(ask(r))
}

// tookMore: what a call took beyond what was thought of it is not forgotten either.
func tookMore(s *suite) {
	for _, shape := range []ration.Shape{ration.Sliding, ration.Fixed, ration.Bucket} {
		r := make1(string(shape), shape, 10_000, time.Hour)
		s.settle(s.grant(ask(r)), keeper.Outcome{Answers: []keeper.Answer{{Cost: 9_990}}})
		other := ask(r)
		other.Draws[0].Part = "bob"
		s.settle(keeper.Permit{Ask: other, GrantedAt: s.clock.Now()}, keeper.Outcome{Answers: []keeper.Answer{{Cost: 9_990}}})
		s.Lose()
		for _, a := range []keeper.Ask{ask(r), other} {
			a.Draws[0].Cost = 200
			if d := s.refuse(a); d.Reason != keeper.ReasonSpent {
				s.Errorf("%s refuses with %+v", shape, d)
			}
		}
	}
}

// storeSeldom: a window is stored a hundred times, not with every call.
func storeSeldom(s *suite) {
	r := make1("day", ration.Fixed, 10_000, 24*time.Hour)
	before := s.store.Saves()
	s.spend(1000, ask(r))
	if n := s.store.Saves() - before; n > 12 || n == 0 {
		s.Errorf("1000 calls were stored %d times", n)
	}
}

// clockSet: a clock that is set brings nobody a call, and takes from nobody for long.
func clockSet(s *suite) {
	rations := []*ration.Ration{
		make1("sliding", ration.Sliding, 5, time.Minute), make1("fixed", ration.Fixed, 5, time.Hour), make1("bucket", ration.Bucket, 5, time.Hour),
	}
	for _, r := range rations {
		s.spend(5, ask(r))
	}
	for _, by := range []time.Duration{2 * time.Hour, -5 * time.Hour, 24 * time.Hour} {
		s.clock.Set(by)
		for _, r := range rations {
			if d := s.refuse(ask(r)); d.RetryAt.Sub(s.clock.Now()) > time.Hour+time.Minute {
				s.Errorf("the clock was set by %v: %+v", by, d)
			}
		}
	}
	s.clock.Advance(time.Minute + 2*time.Second)
	s.spend(5, ask(rations[0]))
	s.refuse(ask(rations[0]))
	s.refuse(ask(rations[1]))
}

// clockSetAlways: whoever asks for all that can be had gets it at its pace, in every
// second, while the clock is set again and again, by hours or by less than a period.
func clockSetAlways(s *suite) {
	for n, steps := range [][]time.Duration{{time.Hour}, {-time.Hour}, {300 * time.Millisecond}, {900 * time.Millisecond, -700 * time.Millisecond, 5 * time.Second}} {
		const limit = 20
		r := make1(fmt.Sprintf("second%d", n), ration.Sliding, limit, time.Second)
		var at []time.Duration
		for i := range 300 {
			k := s.Keepers()[i%len(s.Keepers())]
			for d, err := k.Reserve(s.Context(), ask(r)); err != nil || d.Granted; d, err = k.Reserve(s.Context(), ask(r)) {
				if err != nil {
					s.Fatal(err)
				}
				if err := k.Settle(s.Context(), d.Permit, keeper.Outcome{Well: true}); err != nil {
					s.Fatal(err)
				}
				if at = append(at, s.clock.Passed()); len(at) > limit && at[len(at)-1]-at[len(at)-1-limit] < time.Second {
					s.Fatalf("set by %v: %d calls in less than a second", steps, limit+1)
				}
			}
			s.clock.Set(steps[i%len(steps)])
			s.clock.Advance(10 * time.Millisecond)
		}
		if len(at) < 2*limit {
			s.Errorf("set by %v: %d calls in three seconds", steps, len(at))
		}
	}
}

// crowd: many callers of all processes at once get what there is, and no more.
func crowd(s *suite) {
	a, b, c := make1("a", ration.Sliding, 300, time.Hour), make1("b", ration.Fixed, 200, time.Hour), make1("c", ration.Bucket, 250, time.Hour)
	var granted, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			k := s.Keepers()[i%len(s.Keepers())]
			for range 20 {
				d, err := k.Reserve(s.Context(), ask(a, b, c))
				switch {
				case err != nil:
					s.Error(err)
					return
				case d.Granted:
					granted.Add(1)
					if err := k.Settle(s.Context(), d.Permit, keeper.Outcome{Well: true}); err != nil {
						s.Error(err)
					}
				default:
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	if granted.Load() != 200 || refused.Load() != 24*20-200 {
		s.Errorf("%d calls were granted and %d refused", granted.Load(), refused.Load())
	}
	w := s.windows()
	if w["a/alice"].Available != 100 || w["b/alice"].Available != 0 || w["c/alice"].Available != 50 {
		s.Errorf("it shows %+v", w)
	}
}

// givenUp: a caller whose time is over gets nothing.
func givenUp(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	r := make1("hour", ration.Sliding, 1, time.Hour)
	if d, err := s.first().Reserve(ctx, ask(r)); err == nil || d.Granted {
		s.Errorf("it got %+v, %v", d, err)
	}
	p := s.grant(ask(r))
	// A call that was made counts, even if whoever made it is being stopped.
	if err := s.first().Settle(ctx, p, keeper.Outcome{}); err != nil {
		s.Error(err)
	}
	s.refuse(ask(r))
}

// forgotten: what is as good as new takes no room.
func forgotten(s *suite) {
	r, other := make1("minute", ration.Sliding, 2, time.Minute), make1("other", ration.Sliding, 2, time.Second)
	for _, who := range []string{"alice", "bob", "carol"} {
		a := ask(r)
		a.Draws[0].Part = who
		s.spend(1, a)
	}
	if n := len(s.windows()); n != 3 {
		s.Fatalf("%d counts are known", n)
	}
	s.clock.Advance(10 * time.Minute)
	s.spend(1, ask(other))
	if all := s.windows(); len(all) != 1 || all["other/alice"].Limit != 2 {
		s.Errorf("it shows %+v", all)
	}
}
