package refreshtest

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// CoalescerBench is one adapter under test.
type CoalescerBench interface {
	// Processes are coalescers that share what they know.
	Processes() []refresh.Coalescer
	// Pass lets time pass, at least as much.
	Pass(d time.Duration)
	// Lose loses everything that is known.
	Lose()
}

// CoalescerFactory makes test benches for one adapter.
type CoalescerFactory struct {
	// FakeClock is set when no time passes but by Pass.
	FakeClock bool
	New       func(t testing.TB, processes int, lives refresh.CoalescerTTLs) CoalescerBench
}

// RunCoalescer runs every case against the adapter.
func RunCoalescer(t *testing.T, f CoalescerFactory) {
	for name, run := range map[string]func(*suite){
		"one at a time":                        oneAtATime,
		"HIGH overtakes LOW":                   highOvertakes,
		"release":                              release,
		"release of another's lock":            releaseOfAnother,
		"many in one ask":                      manyInOne,
		"the same entity twice in one ask":     twiceInOne,
		"entities that look alike":             lookAlike,
		"versions":                             versions,
		"versions rise for ever":               versionsRise,
		"versions are raised":                  versionsAreRaised,
		"locks end":                            locksEnd,
		"versions are forgotten":               versionsForgotten,
		"asks that are wrong":                  wrongAsks,
		"a thousand ask at once":               thousandAtOnce,
		"ten processes and a thousand keys":    tenProcesses,
		"upgrades race":                        upgradesRace,
		"random asks, releases and forgetting": randomly,
	} {
		t.Run(name, func(t *testing.T) { run(&suite{T: t, factory: f}) })
	}
	if f.FakeClock {
		t.Run("each lock as long as its priority", func(t *testing.T) { eachItsLife(&suite{T: t, factory: f}) })
	}
}

// suite is one case under way.
type suite struct {
	*testing.T
	CoalescerBench
	factory CoalescerFactory
}

func (s *suite) start(processes int, l refresh.CoalescerTTLs) {
	s.CoalescerBench = s.factory.New(s, processes, l)
}

func (s *suite) ask(key string, p domain.Priority) refresh.Grant {
	s.Helper()
	grants, err := s.Processes()[0].Acquire(s.Context(), refresh.Ask{Entity: entity(key), Priority: p})
	if err != nil || len(grants) != 1 {
		s.Fatalf("Acquire: %v, %v", grants, err)
	}
	return grants[0]
}

func (s *suite) want(key string, p domain.Priority, result refresh.Coalesced) refresh.Lock {
	s.Helper()
	g := s.ask(key, p)
	if g.Result != result || g.Entity != entity(key) || g.Version <= 0 {
		s.Fatalf("%s %s: %+v, want %s", key, p, g, result)
	}
	return g.Lock
}

func (s *suite) release(locks ...refresh.Lock) {
	s.Helper()
	if err := s.Processes()[0].Release(s.Context(), locks...); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) versions(keys ...string) []int64 {
	s.Helper()
	entities := make([]refresh.Entity, len(keys))
	for i, key := range keys {
		entities[i] = entity(key)
	}
	all, err := s.Processes()[0].Versions(s.Context(), entities...)
	if err != nil {
		s.Fatal(err)
	}
	return all
}

func oneAtATime(s *suite) {
	s.start(2, refresh.CoalescerTTLs{})
	for _, p := range []domain.Priority{high, low} {
		key := p.String()
		first := s.want(key, p, refresh.Published)
		if first.Priority != p {
			s.Fatalf("lock %+v", first)
		}
		for _, c := range s.Processes() {
			grants, err := c.Acquire(s.Context(), refresh.Ask{Entity: entity(key), Priority: p}, refresh.Ask{Entity: entity(key), Priority: low})
			if err != nil {
				s.Fatal(err)
			}
			for _, g := range grants {
				if g.Result != refresh.AlreadyProcessing || g.Lock != first {
					s.Fatalf("%+v, want the lock that is held: %+v", g, first)
				}
			}
		}
	}
}

func highOvertakes(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	lower := s.want("a", low, refresh.Published)
	higher := s.want("a", high, refresh.Upgraded)
	if higher.Version <= lower.Version || higher.Priority != high {
		s.Fatalf("%+v after %+v", higher, lower)
	}
	for _, p := range []domain.Priority{high, low} {
		if held := s.want("a", p, refresh.AlreadyProcessing); held != higher {
			s.Fatalf("held is %+v, want %+v", held, higher)
		}
	}
	s.release(lower) // obsolete
	s.want("a", high, refresh.AlreadyProcessing)
}

func release(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	first := s.want("a", low, refresh.Published)
	s.release(first)
	s.release(first) // again changes nothing
	second := s.want("a", low, refresh.Published)
	if second.Version <= first.Version {
		s.Fatalf("version %d after %d", second.Version, first.Version)
	}
	s.release(first)
	s.want("a", low, refresh.AlreadyProcessing)
	s.release()
	s.release(refresh.Lock{Entity: entity("nobody asked for this"), Priority: low, Version: 1})
}

func releaseOfAnother(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	held := s.want("a", high, refresh.Published)
	for _, other := range []refresh.Lock{
		{Entity: held.Entity, Priority: low, Version: held.Version},
		{Entity: held.Entity, Priority: high, Version: held.Version + 1},
		{Entity: held.Entity, Priority: high, Version: held.Version / 10},
		{Entity: entity("b"), Priority: high, Version: held.Version},
	} {
		s.release(other)
		s.want("a", high, refresh.AlreadyProcessing)
	}
	if v := s.versions("a"); v[0] != held.Version {
		s.Fatalf("version is %d, want %d", v[0], held.Version)
	}
}

func manyInOne(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	const n = 1500
	asks := make([]refresh.Ask, n)
	for i := range asks {
		asks[i] = refresh.Ask{Entity: entity(strconv.Itoa(i)), Priority: []domain.Priority{high, low}[i%2]}
	}
	for _, want := range []refresh.Coalesced{refresh.Published, refresh.AlreadyProcessing} {
		grants, err := s.Processes()[0].Acquire(s.Context(), asks...)
		if err != nil || len(grants) != n {
			s.Fatalf("%d grants, %v", len(grants), err)
		}
		locks := make([]refresh.Lock, n)
		for i, g := range grants {
			if g.Entity != asks[i].Entity || g.Priority != asks[i].Priority || g.Result != want {
				s.Fatalf("grant %d is %+v, want %s", i, g, want)
			}
			locks[i] = g.Lock
		}
		if want == refresh.AlreadyProcessing {
			s.release(locks...)
		}
	}
	for i := range 10 {
		s.want(strconv.Itoa(i*100), low, refresh.Published)
	}
	if none, err := s.Processes()[0].Acquire(s.Context()); err != nil || len(none) != 0 {
		s.Fatalf("asking for nothing: %v, %v", none, err)
	}
}

func twiceInOne(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	a := refresh.Ask{Entity: entity("a"), Priority: low}
	grants, err := s.Processes()[0].Acquire(s.Context(), a, a, a)
	if err != nil {
		s.Fatal(err)
	}
	published := 0
	for _, g := range grants {
		if g.Result == refresh.Published {
			published++
		}
	}
	if published != 1 || grants[0].Version != grants[1].Version || grants[1].Version != grants[2].Version {
		s.Fatalf("%+v", grants)
	}
}

// lookAlike: what parts a source from its key may be in either, and so may
// whatever names of keys are made of.
func lookAlike(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	for _, e := range []refresh.Entity{
		{Source: "a/b", Key: "c"}, {Source: "a", Key: "b/c"}, {Source: "a%2Fb", Key: "c"}, {Source: "a", Key: "b%2Fc"},
		{Source: "a", Key: "}x{"}, {Source: "a", Key: "}y{"}, {Source: "{}", Key: "세계"}, {Source: "a", Key: " \n\x00"},
	} {
		grants, err := s.Processes()[0].Acquire(s.Context(), refresh.Ask{Entity: e, Priority: low})
		if err != nil || grants[0].Result != refresh.Published {
			s.Fatalf("%q: %+v, %v", e, grants, err)
		}
	}
}

func versions(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	a, b := s.want("a", low, refresh.Published), s.want("b", high, refresh.Published)
	if got := s.versions("b", "nobody", "a"); !slices.Equal(got, []int64{b.Version, 0, a.Version}) {
		s.Fatalf("versions %v, want %d, 0, %d", got, b.Version, a.Version)
	}
	s.release(a)
	if got := s.versions("a"); got[0] != a.Version {
		s.Fatalf("after the release: %d", got[0])
	}
	if got := s.versions(); len(got) != 0 {
		s.Fatalf("of nothing: %v", got)
	}
}

// versionsRise also when everything was forgotten in between.
func versionsRise(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	last := int64(0)
	for range 200 {
		g := s.ask("a", low)
		if g.Result != refresh.Published || g.Version <= last {
			s.Fatalf("%+v after version %d", g, last)
		}
		last = g.Version
		s.Lose()
		if v := s.versions("a"); v[0] != 0 {
			s.Fatalf("version %d of what is forgotten", v[0])
		}
	}
}

// versionsAreRaised above what was given out before, by a clock that was ahead.
func versionsAreRaised(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	first := s.want("a", low, refresh.Published)
	mark := first.Version + 3_600_000_000
	c := s.Processes()[0]
	c.Raise(mark)
	c.Raise(1) // never back
	s.release(first)
	if again := s.want("a", low, refresh.Published); again.Version <= mark {
		s.Fatalf("version %d, want more than %d", again.Version, mark)
	}
	if other := s.want("b", high, refresh.Published); other.Version <= mark {
		s.Fatalf("version %d, want more than %d", other.Version, mark)
	}
}

func wrongAsks(s *suite) {
	s.start(1, refresh.CoalescerTTLs{})
	c := s.Processes()[0]
	for _, wrong := range []refresh.Ask{
		{Priority: high}, {Entity: refresh.Entity{Source: "a"}, Priority: high},
		{Entity: entity("a")}, {Entity: entity("a"), Priority: 7},
	} {
		if _, err := c.Acquire(s.Context(), refresh.Ask{Entity: entity("good"), Priority: low}, wrong); domain.CodeOf(err) != domain.CodeInvalid {
			s.Errorf("%+v: %v", wrong, err)
		}
	}
	s.want("good", low, refresh.Published)
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := c.Acquire(ctx, refresh.Ask{Entity: entity("b"), Priority: low}); err == nil {
		s.Error("a caller that is stopped was granted a lock")
	}
}
