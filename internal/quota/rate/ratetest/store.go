package ratetest

import (
	"sync"
	"testing"

	"sluice/internal/quota/rate"
)

// RunStore runs what every rate.Store promises against one that is empty.
func RunStore(t *testing.T, open func(t *testing.T) rate.Store) {
	for name, run := range map[string]func(*storeSuite){
		"a day that was never saved is zero": (*storeSuite).unknownDay,
		"the larger of each count stays":     (*storeSuite).largerStays,
		"days and upstreams are apart":       (*storeSuite).apart,
		"many processes at once":             (*storeSuite).concurrently,
	} {
		t.Run(name, func(t *testing.T) { run(&storeSuite{t, open(t)}) })
	}
}

type storeSuite struct {
	*testing.T
	store rate.Store
}

const firstDay, secondDay = "2026-03-01", "2026-03-02"

func (s *storeSuite) save(upstream, day string, calls, low int64) {
	s.Helper()
	if err := s.store.Save(s.Context(), upstream, day, rate.Spent{Calls: calls, Low: low}); err != nil {
		s.Fatal(err)
	}
}

func (s *storeSuite) want(upstream, day string, calls, low int64) {
	s.Helper()
	got, err := s.store.Load(s.Context(), upstream, day)
	if expected := (rate.Spent{Calls: calls, Low: low}); err != nil || got != expected {
		s.Fatalf("%s on %s: got %+v, %v, want %+v", upstream, day, got, err, expected)
	}
}

func (s *storeSuite) unknownDay() { s.want(Upstream, firstDay, 0, 0) }

// largerStays: each count is a bound of its own, and neither ever sinks.
func (s *storeSuite) largerStays() {
	s.save(Upstream, firstDay, 100, 70)
	s.want(Upstream, firstDay, 100, 70)
	s.save(Upstream, firstDay, 90, 90)
	s.want(Upstream, firstDay, 100, 90)
	s.save(Upstream, firstDay, 101, 60)
	s.want(Upstream, firstDay, 101, 90)
	s.save(Upstream, firstDay, 101, 91)
	s.want(Upstream, firstDay, 101, 91)
	s.save(Upstream, firstDay, 20_000_000_000, 19_999_999_999)
	s.want(Upstream, firstDay, 20_000_000_000, 19_999_999_999)
}

func (s *storeSuite) apart() {
	s.save(Upstream, firstDay, 5, 4)
	s.save(Upstream, secondDay, 3, 2)
	s.save("another", firstDay, 1, 0)
	s.want(Upstream, firstDay, 5, 4)
	s.want(Upstream, secondDay, 3, 2)
	s.want("another", firstDay, 1, 0)
	s.want("another", secondDay, 0, 0)
}

func (s *storeSuite) concurrently() {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			n := int64(i + 1)
			if err := s.store.Save(s.Context(), Upstream, firstDay, rate.Spent{Calls: 10 * n, Low: 210 - 10*n}); err != nil {
				s.Error(err)
			}
		})
	}
	all.Wait()
	s.want(Upstream, firstDay, 200, 200)
}
