package rationtest

import (
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// lowPriority: what is not urgent leaves a share to what is.
func lowPriority(s *suite) {
	r := make1("minute", ration.Sliding, 10, time.Minute)
	r.Low = 70
	low := ask(r)
	low.Low = true
	s.spend(7, low)
	if d := s.refuse(low); d.Reason != keeper.ReasonKept {
		s.Errorf("refused by %+v", d)
	}
	s.spend(3, ask(r))
	if d := s.refuse(ask(r)); d.Reason != keeper.ReasonSpent {
		s.Errorf("refused by %+v", d)
	}
}

// keepAndUse: a share is used, some of it stays for the owner, who may say how much.
func keepAndUse(s *suite) {
	r := make1("hour", ration.Fixed, 100, time.Hour)
	r.Use, r.Keep = 50, 40
	s.spend(10, ask(r))
	if d := s.refuse(ask(r)); d.Reason != keeper.ReasonKept {
		s.Errorf("refused by %+v", d)
	}
	own := ask(r)
	own.Draws[0].Keep = 30
	s.spend(10, own)
	s.refuse(own)
	if w := s.windows()["hour/alice"]; w.Kept != 80 || w.Available != 0 || w.Limit != 100 {
		s.Errorf("it shows %+v", w)
	}
}

// zonedDay: a day ends at midnight of its zone.
func zonedDay(s *suite) {
	every, err := ration.ParsePeriod("day", "Asia/Seoul")
	if err != nil {
		s.Fatal(err)
	}
	r := make1("day", ration.Fixed, 3, 0)
	r.Every = every
	s.spend(3, ask(r))
	midnight := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	d := s.refuse(ask(r))
	if late := d.RetryAt.Sub(midnight); late < 0 || late > 2*time.Second {
		s.Errorf("it comes back %v after midnight", late)
	}
	s.clock.Advance(midnight.Add(-time.Second).Sub(s.clock.Now()))
	s.refuse(ask(r))
	s.clock.Advance(3 * time.Second)
	p := s.grant(ask(r))
	s.spend(2, ask(r))
	s.settle(p, keeper.Outcome{})
	if late := s.refuse(ask(r)).RetryAt.Sub(midnight.Add(24 * time.Hour)); late < 0 || late > 2*time.Second {
		s.Errorf("it comes back %v after the next midnight", late)
	}
}

// points: what a call takes is thought before and known after.
func points(s *suite) {
	r := make1("points", ration.Sliding, 100, time.Minute)
	r.Unit = ration.UnitPoints
	dear := ask(r)
	dear.Draws[0].Cost = 60
	p := s.grant(dear)
	s.refuse(dear)
	s.settle(p, keeper.Outcome{Answers: []keeper.Answer{{Cost: 10}}})
	p = s.grant(dear)
	s.settle(p, keeper.Outcome{Answers: []keeper.Answer{{Cost: 90}}})
	s.refuse(ask(r))
}

// freeCalls: what never left, or was answered for nothing, takes nothing.
func freeCalls(s *suite) {
	for _, shape := range []ration.Shape{ration.Sliding, ration.Fixed, ration.Bucket} {
		r := make1(string(shape), shape, 2, time.Minute)
		for range 5 {
			s.settle(s.grant(ask(r)), keeper.Outcome{Answers: []keeper.Answer{{Free: true}}})
		}
		s.spend(2, ask(r))
		s.refuse(ask(r))
	}
}

func gated(r *ration.Ration) keeper.Ask {
	a := ask(r)
	a.Gate = "alice"
	return a
}

// pause: whoever is told to stay away does, and one call goes first then.
func pause(s *suite) {
	r := make1("minute", ration.Sliding, 100, time.Minute)
	s.settle(s.grant(gated(r)), keeper.Outcome{RetryAfter: 5 * time.Second})
	d := s.refuse(gated(r))
	if d.Reason != keeper.ReasonParked || d.Refused != keeper.GatePrefix+"alice" || d.RetryAt.Sub(s.clock.Now()) != 5*time.Second {
		s.Errorf("refused by %+v", d)
	}
	s.spend(1, ask(r))
	s.clock.Advance(5 * time.Second)
	pilot := s.grant(gated(r))
	if d := s.refuse(gated(r)); d.Reason != keeper.ReasonTrial {
		s.Errorf("refused by %+v", d)
	}
	s.settle(pilot, keeper.Outcome{Well: true})
	s.spend(3, gated(r))
	if err := s.first().Park(s.Context(), Group, "alice", time.Minute); err != nil {
		s.Fatal(err)
	}
	s.refuse(gated(r))
}

// backoff: a limit that does not say when it ends is left alone for longer each time.
func backoff(s *suite) {
	r := make1("minute", ration.Sliding, 100, time.Minute)
	stray := s.grant(gated(r))
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		s.settle(s.grant(gated(r)), keeper.Outcome{Backoff: true})
		if i == 0 {
			// It was made before the pause: what it says is no news.
			s.settle(stray, keeper.Outcome{Backoff: true})
		}
		d := s.refuse(gated(r))
		if wait := d.RetryAt.Sub(s.clock.Now()); wait != want || d.Reason != keeper.ReasonBackoff {
			s.Errorf("pause %d is %v, not %v: %+v", i, wait, want, d)
		}
		s.clock.Advance(want)
	}
	s.settle(s.grant(gated(r)), keeper.Outcome{Well: true})
	s.settle(s.grant(gated(r)), keeper.Outcome{Backoff: true})
	if d := s.refuse(gated(r)); d.RetryAt.Sub(s.clock.Now()) != time.Minute {
		s.Errorf("it does not begin again: %+v", d)
	}
}

// lift: a pause can be ended; one call goes first.
func lift(s *suite) {
	r := make1("minute", ration.Sliding, 100, time.Minute)
	s.settle(s.grant(gated(r)), keeper.Outcome{RetryAfter: time.Hour})
	s.refuse(gated(r))
	if err := s.first().Lift(s.Context(), Group); err != nil {
		s.Fatal(err)
	}
	s.grant(gated(r))
	if d := s.refuse(gated(r)); d.Reason != keeper.ReasonTrial {
		s.Errorf("refused by %+v", d)
	}
}

// twice: a permit ends once.
func twice(s *suite) {
	busy, day := make1("busy", ration.Concurrent, 2, 0), make1("day", ration.Sliding, 10, 24*time.Hour)
	first := s.grant(ask(busy, day))
	s.grant(ask(busy, day))
	for range 3 {
		s.settle(first, keeper.Outcome{})
	}
	s.grant(ask(busy, day))
	s.refuse(ask(busy, day))
	if w := s.windows()["day/alice"]; w.Available != 7 {
		s.Errorf("it shows %+v", w)
	}
}

// elsewhere: a call that was granted on other counts takes something of those that it
// drew on in truth.
func elsewhere(s *suite) {
	r := make1("day", ration.Sliding, 3, 24*time.Hour)
	other := ask(r)
	other.Draws[0].Part = "bob"
	p := s.grant(ask(r))
	s.settle(p, keeper.Outcome{})
	s.settle(keeper.Permit{Ask: other, GrantedAt: p.GrantedAt}, keeper.Outcome{})
	s.settle(keeper.Permit{Ask: other, GrantedAt: p.GrantedAt}, keeper.Outcome{Answers: []keeper.Answer{{Free: true}}})
	s.spend(2, other)
	s.refuse(other)
}

// larger: what can never be had at once is asked for as all that there is.
func larger(s *suite) {
	r := make1("points", ration.Sliding, 10, time.Minute)
	dear := ask(r)
	dear.Draws[0].Cost = 1000
	p := s.grant(dear)
	s.refuse(ask(r))
	s.settle(p, keeper.Outcome{})
	d := s.refuse(dear)
	s.clock.Advance(d.RetryAt.Sub(s.clock.Now()))
	s.grant(dear)
}

// look: what is known is told, of gates too.
func look(s *suite) {
	r, b := make1("minute", ration.Sliding, 10, time.Minute), make1("bucket", ration.Bucket, 10, time.Second)
	s.spend(3, ask(r, b))
	s.grant(ask(r, b))
	s.settle(s.grant(gated(r)), keeper.Outcome{RetryAfter: time.Minute})
	all := s.windows()
	w := all["minute/alice"]
	if w.Limit != 10 || w.Available != 5 || w.InFlight != 1 || w.Ration != "minute" || w.Part != "alice" || w.Reset.Sub(s.clock.Now()) != time.Minute {
		s.Errorf("it shows %+v", w)
	}
	if w := all["bucket/alice"]; w.Available != 6 || w.InFlight != 1 || w.Reset.Sub(s.clock.Now()) != 300*time.Millisecond {
		s.Errorf("it shows %+v", w)
	}
	if w := all[keeper.GatePrefix+"alice"]; w.Parked != keeper.ReasonParked || w.ParkedUntil.Sub(s.clock.Now()) != time.Minute {
		s.Errorf("it shows %+v", w)
	}
}

// bucketRefills: how fast a bucket refills may be told. It holds from then on, for what
// was taken before too, and survives a loss.
func bucketRefills(s *suite) {
	r := make1("bucket", ration.Bucket, 40, time.Second)
	r.Read.Refill = ration.Field{Header: "X-Refill"}
	s.spend(39, ask(r))
	s.settle(s.grant(ask(r)), keeper.Outcome{Answers: []keeper.Answer{{Refill: 2}}})
	if wait := s.refuse(ask(r)).RetryAt.Sub(s.clock.Now()); wait < 500*time.Millisecond || wait > 501*time.Millisecond {
		s.Errorf("the next one comes back in %v, want half a second", wait)
	}
	s.clock.Advance(5 * time.Second)
	s.spend(10, ask(r))
	s.refuse(ask(r))
	s.Lose()
	s.refuse(ask(r))
	s.clock.Advance(5 * time.Second)
	granted := 0
	for ; granted <= 10 && s.decide(ask(r)).Granted; granted++ {
		continue
	}
	if granted > 10 {
		s.Errorf("%d were granted of 10 that came back after a loss", granted)
	}
}

// toldLength: of a ration that does not say how long its windows are answers do.
func toldLength(s *suite) {
	told := func(in, length time.Duration) keeper.Outcome {
		return keeper.Outcome{Answers: []keeper.Answer{{HasLeft: true, Left: 0, Limit: 5, In: in, Window: length}}}
	}
	r := reading(make1("hour", ration.Fixed, 5, 0))
	s.settle(s.grant(ask(r)), told(50*time.Minute, time.Hour))
	if wait := s.refuse(ask(r)).RetryAt.Sub(s.clock.Now()); wait < 50*time.Minute || wait > 51*time.Minute {
		s.Errorf("it comes back in %v", wait)
	}
	s.clock.Advance(49 * time.Minute)
	s.refuse(ask(r))
	s.clock.Advance(2 * time.Minute)
	s.spend(5, ask(r))
	s.refuse(ask(r))
	slides := reading(make1("slides", ration.Sliding, 5, 0))
	s.settle(s.grant(ask(slides)), told(0, 10*time.Minute))
	s.clock.Advance(9 * time.Minute)
	s.refuse(ask(slides))
	s.clock.Advance(2 * time.Minute)
	s.spend(5, ask(slides))
}
