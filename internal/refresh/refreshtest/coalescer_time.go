package refreshtest

import (
	"math/rand/v2"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

func locksEnd(s *suite) {
	lives := refresh.CoalescerTTLs{High: 10 * time.Minute, Low: 20 * time.Minute}
	s.start(1, lives)
	for _, p := range []domain.Priority{high, low} {
		first := s.want(p.String(), p, refresh.Published)
		s.Pass(lives.Lock(p))
		second := s.want(p.String(), p, refresh.Published)
		if second.Version <= first.Version {
			s.Fatalf("version %d after %d", second.Version, first.Version)
		}
		s.release(first) // too late
		if g := s.ask(p.String(), p); g.Result != refresh.AlreadyProcessing {
			s.Fatalf("the lock of another was released: %+v", g)
		}
	}
}

// eachItsLife is about the defaults.
func eachItsLife(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	s.want("high", high, refresh.Published)
	lower := s.want("low", low, refresh.Published)
	s.Pass(30*time.Second - time.Microsecond)
	s.want("high", high, refresh.AlreadyProcessing)
	s.Pass(time.Microsecond)
	s.want("high", low, refresh.Published)
	s.want("low", low, refresh.AlreadyProcessing)
	s.Pass(29 * time.Second)
	s.want("low", high, refresh.Upgraded) // for as long as HIGH lasts
	s.Pass(29 * time.Second)
	s.want("low", low, refresh.AlreadyProcessing)
	s.Pass(time.Second)
	s.want("low", low, refresh.Published)
	s.Pass(45*time.Minute - time.Microsecond)
	if v := s.versions("low"); v[0] <= lower.Version {
		s.Fatalf("version %d", v[0])
	}
	s.Pass(time.Microsecond)
	if v := s.versions("low"); v[0] != 0 {
		s.Fatalf("version %d after its life", v[0])
	}
}

func versionsForgotten(s *suite) {
	lives := refresh.CoalescerTTLs{High: 10 * time.Minute, Low: 10 * time.Minute, Version: 30 * time.Minute}
	s.start(1, lives)
	first := s.want("a", low, refresh.Published)
	s.Pass(lives.Version)
	if v := s.versions("a"); v[0] != 0 {
		s.Fatalf("version %d after its life", v[0])
	}
	if second := s.want("a", low, refresh.Published); second.Version <= first.Version {
		s.Fatalf("version %d after %d, which is forgotten", second.Version, first.Version)
	}
}

// coalescerModel is what an entity is taken to be like.
type coalescerModel struct {
	held refresh.Lock
	last int64
}

// randomly holds random sequences against a model of each entity.
func randomly(s *suite) {
	rng := rand.New(rand.NewPCG(testkit.Seed(s), 0))
	s.start(3, forHours)
	entities := make(map[string]*coalescerModel)
	var granted []refresh.Lock
	for step := range 3000 {
		c := s.Processes()[rng.IntN(len(s.Processes()))]
		key := strconv.Itoa(rng.IntN(5))
		m := entities[key]
		if m == nil {
			m = &coalescerModel{}
			entities[key] = m
		}
		switch n := rng.IntN(100); {
		case n < 60:
			p := []domain.Priority{high, low}[rng.IntN(2)]
			grants, err := c.Acquire(s.Context(), refresh.Ask{Entity: entity(key), Priority: p})
			if err != nil {
				s.Fatal(err)
			}
			m.check(s, step, grants[0], p)
			granted = append(granted, grants[0].Lock)
		case n < 98 && len(granted) > 0:
			l := granted[max(0, len(granted)-1-rng.IntN(8))]
			if err := c.Release(s.Context(), l); err != nil {
				s.Fatal(err)
			}
			if of := entities[l.Key]; of.held == l {
				of.held = refresh.Lock{}
			}
		case n >= 98:
			s.Lose()
			for _, m := range entities {
				m.held = refresh.Lock{}
			}
		}
	}
}

func (m *coalescerModel) check(s *suite, step int, g refresh.Grant, p domain.Priority) {
	s.Helper()
	want := refresh.Published
	switch {
	case m.held.Priority >= p:
		want = refresh.AlreadyProcessing
	case m.held.Priority != 0:
		want = refresh.Upgraded
	}
	if g.Result != want {
		s.Fatalf("step %d: %+v, want %s over %+v", step, g, want, m.held)
	}
	if want == refresh.AlreadyProcessing {
		if g.Lock != m.held {
			s.Fatalf("step %d: %+v, want %+v", step, g, m.held)
		}
		return
	}
	if g.Version <= m.last || g.Priority != p {
		s.Fatalf("step %d: %+v after version %d", step, g, m.last)
	}
	m.held, m.last = g.Lock, g.Version
}
