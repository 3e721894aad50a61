package rationtest

import (
	"maps"
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// allOrNone: a call that one ration refuses leaves no trace in the others.
func allOrNone(s *suite) {
	wide, narrow, busy := make1("wide", ration.Fixed, 10, time.Hour), make1("narrow", ration.Sliding, 2, time.Minute), make1("busy", ration.Concurrent, 5, 0)
	busy.Every = ration.Period{}
	s.spend(2, ask(wide, narrow, busy))
	before := s.windows()
	for _, a := range []keeper.Ask{ask(wide, narrow, busy), ask(narrow, busy, wide), ask(busy, wide, narrow)} {
		if d := s.refuse(a); d.Refused != "narrow/alice" || d.Reason != keeper.ReasonSpent {
			s.Errorf("refused by %+v", d)
		}
		if after := s.windows(); !maps.Equal(before, after) {
			s.Fatalf("a refused call left a trace: %+v, and before %+v", after, before)
		}
	}
	s.spend(8, ask(wide, busy))
	if d := s.refuse(ask(wide, narrow)); d.Refused != "wide/alice" {
		s.Errorf("the one that refuses for longest is %+v", d)
	}
}

// slidingRate: each unit comes back one period after its answer.
func slidingRate(s *suite) {
	r := make1("minute", ration.Sliding, 3, time.Minute)
	p := s.grant(ask(r))
	s.spend(1, ask(r))
	s.clock.Advance(30 * time.Second)
	s.spend(1, ask(r))
	d := s.refuse(ask(r))
	if wait := d.RetryAt.Sub(s.clock.Now()); wait > time.Second || d.Reason != keeper.ReasonSpent {
		s.Errorf("a call under way may give back what it holds: %+v", d)
	}
	s.settle(p, keeper.Outcome{})
	d = s.refuse(ask(r))
	if wait := d.RetryAt.Sub(s.clock.Now()); wait < 29*time.Second || wait > 31*time.Second {
		s.Errorf("the first comes back in %v", wait)
	}
	s.clock.Advance(d.RetryAt.Sub(s.clock.Now()))
	s.spend(1, ask(r))
	d = s.refuse(ask(r))
	s.clock.Advance(d.RetryAt.Sub(s.clock.Now()))
	s.spend(2, ask(r))
	s.refuse(ask(r))
}

// unknownWindow: wherever the upstream begins its windows, none has too many calls.
func unknownWindow(s *suite) {
	r := make1("hour", ration.Fixed, 2, time.Hour)
	s.spend(1, ask(r))
	s.clock.Advance(59 * time.Minute)
	s.spend(1, ask(r))
	s.clock.Advance(time.Minute + time.Second)
	s.spend(1, ask(r))
	if d := s.refuse(ask(r)); d.RetryAt.Sub(s.clock.Now()) < 58*time.Minute {
		s.Errorf("a window may have begun with the second call: %+v", d)
	}
}

func told(left int, in time.Duration) keeper.Outcome {
	return keeper.Outcome{Well: true, Answers: []keeper.Answer{{HasLeft: true, Left: left, In: in}}}
}

func reading(r *ration.Ration) *ration.Ration {
	r.Read = ration.Read{Remaining: ration.Field{Header: "X-Left"}, Reset: ration.Field{Header: "X-Reset", As: ration.Delta}}
	return r
}

// toldWindow: a window whose end is told comes back then.
func toldWindow(s *suite) {
	r := reading(make1("hour", ration.Fixed, 2, time.Hour))
	s.settle(s.grant(ask(r)), told(1, 10*time.Minute))
	s.settle(s.grant(ask(r)), told(0, 10*time.Minute))
	d := s.refuse(ask(r))
	if wait := d.RetryAt.Sub(s.clock.Now()); wait < 10*time.Minute || wait > 10*time.Minute+5*time.Second {
		s.Errorf("it comes back in %v", wait)
	}
	s.clock.Advance(d.RetryAt.Sub(s.clock.Now()))
	s.spend(2, ask(r))
	s.refuse(ask(r))
}

// laterWindow: an answer that tells of a later window is believed.
func laterWindow(s *suite) {
	r := reading(make1("hour", ration.Fixed, 3, time.Hour))
	s.settle(s.grant(ask(r)), told(2, 10*time.Minute))
	p := s.grant(ask(r))
	s.clock.Advance(9 * time.Minute)
	s.settle(p, told(2, time.Hour))
	s.settle(s.grant(ask(r)), told(1, time.Hour))
	s.settle(s.grant(ask(r)), told(0, time.Hour))
	if d := s.refuse(ask(r)); d.RetryAt.Sub(s.clock.Now()) < time.Hour {
		s.Errorf("the later window ends at %v", d.RetryAt)
	}
}

// lessIsTold: others draw on the ration too; what is under way may not be counted yet.
func lessIsTold(s *suite) {
	r := reading(make1("hour", ration.Fixed, 100, time.Hour))
	first, second := s.grant(ask(r)), s.grant(ask(r))
	s.settle(first, told(3, 10*time.Minute))
	two := []keeper.Permit{s.grant(ask(r)), s.grant(ask(r))}
	s.refuse(ask(r))
	s.settle(second, told(2, 10*time.Minute))
	s.refuse(ask(r))
	s.settle(two[0], keeper.Outcome{})
	s.refuse(ask(r))
	s.settle(two[1], told(0, 10*time.Minute))
	s.refuse(ask(r))
}

// moreIsTold: an answer to a call that was made after the last word counts for more;
// one to an earlier call does not, and none lifts what was spent.
func moreIsTold(s *suite) {
	r := reading(make1("hour", ration.Fixed, 10, time.Hour))
	early := s.grant(ask(r))
	s.settle(s.grant(ask(r)), told(1, 10*time.Minute))
	s.settle(early, told(9, 10*time.Minute))
	p := s.grant(ask(r))
	s.refuse(ask(r))
	s.settle(p, told(50, 10*time.Minute))
	s.spend(7, ask(r))
	s.refuse(ask(r))
}

// learntLimit: of a ration that nothing is declared about one call goes first.
func learntLimit(s *suite) {
	r := reading(make1("learnt", ration.Fixed, 0, time.Minute))
	p := s.grant(ask(r))
	s.refuse(ask(r))
	s.settle(p, keeper.Outcome{Answers: []keeper.Answer{{Limit: 5, HasLeft: true, Left: 4, In: 30 * time.Second}}})
	s.spend(4, ask(r))
	s.refuse(ask(r))
	s.clock.Advance(32 * time.Second)
	s.spend(5, ask(r))
	s.refuse(ask(r))
}

// bucket: what fits at once, and then as it comes back.
func bucket(s *suite) {
	r := make1("bucket", ration.Bucket, 40, time.Second)
	r.Refill = 2
	s.spend(40, ask(r))
	d := s.refuse(ask(r))
	if wait := d.RetryAt.Sub(s.clock.Now()); wait < 490*time.Millisecond || wait > 510*time.Millisecond {
		s.Errorf("one comes back in %v", wait)
	}
	s.clock.Advance(3 * time.Second)
	s.spend(6, ask(r))
	s.refuse(ask(r))
	s.clock.Advance(time.Hour)
	s.spend(40, ask(r))
	s.refuse(ask(r))
}

// bucketTells: less is believed.
func bucketTells(s *suite) {
	r := reading(make1("bucket", ration.Bucket, 100, time.Second))
	r.Refill = 1
	s.settle(s.grant(ask(r)), told(3, 0))
	s.spend(3, ask(r))
	if d := s.refuse(ask(r)); d.RetryAt.Sub(s.clock.Now()) > 2*time.Second {
		s.Errorf("one comes back a second later: %+v", d)
	}
	s.clock.Advance(2 * time.Second)
	s.spend(2, ask(r))
	s.refuse(ask(r))
}

// concurrent: a place comes back when its call ends, however it ended.
func concurrent(s *suite) {
	r := make1("busy", ration.Concurrent, 2, 0)
	first, second := s.grant(ask(r)), s.grant(ask(r))
	if d := s.refuse(ask(r)); d.Reason != keeper.ReasonConcurrent {
		s.Errorf("refused by %+v", d)
	}
	s.settle(first, keeper.Outcome{})
	third := s.grant(ask(r))
	s.refuse(ask(r))
	s.settle(second, keeper.Outcome{Answers: []keeper.Answer{{Free: true}}})
	s.settle(third, keeper.Outcome{})
	s.grant(ask(r))
	s.grant(ask(r))
	s.refuse(ask(r))
}

// leases: the places of a process that is gone come back, and its calls are taken for
// made.
func leases(s *suite) {
	busy, day := make1("busy", ration.Concurrent, 2, 0), make1("day", ration.Sliding, 10, 24*time.Hour)
	s.grant(ask(busy, day))
	s.grant(ask(busy, day))
	s.refuse(ask(busy, day))
	s.clock.Advance(10 * time.Minute)
	s.spend(8, ask(busy, day))
	if d := s.refuse(ask(busy, day)); d.Refused != "day/alice" {
		s.Errorf("refused by %+v", d)
	}
}

// parts: whoever is another has the whole ration.
func parts(s *suite) {
	r, all := make1("each", ration.Sliding, 1, time.Minute), make1("all", ration.Sliding, 3, time.Minute)
	of := func(who string) keeper.Ask {
		return keeper.Ask{Group: Group, Draws: []keeper.Draw{{Ration: r, Part: who, Cost: 1}, {Ration: all, Cost: 1}}}
	}
	s.spend(1, of("alice"))
	s.refuse(of("alice"))
	s.spend(1, of("bob"))
	s.spend(1, of("carol"))
	if d := s.refuse(of("dora")); d.Refused != "all" {
		s.Errorf("refused by %+v", d)
	}
}

// learntPart: a call that drew on another part in truth is counted there.
func learntPart(s *suite) {
	r := make1("route", ration.Sliding, 2, time.Minute)
	of := func(part string) keeper.Ask {
		return keeper.Ask{Group: Group, Draws: []keeper.Draw{{Ration: r, Part: part, Cost: 1}}}
	}
	for range 2 {
		s.settle(s.grant(of("")), keeper.Outcome{Answers: []keeper.Answer{{Moved: true, Part: "abc"}}})
	}
	s.refuse(of("abc"))
	s.spend(2, of(""))
}
