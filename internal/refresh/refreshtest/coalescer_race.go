package refreshtest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// forHours is longer than the slowest machine takes for a crowd.
var forHours = refresh.CoalescerTTLs{High: time.Hour, Low: time.Hour, Version: 2 * time.Hour}

func thousandAtOnce(s *suite) {
	s.start(1, forHours)
	var published, already atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range 1000 {
		all.Go(func() {
			<-begin
			grants, err := s.Processes()[0].Acquire(s.Context(), refresh.Ask{Entity: entity("a"), Priority: low})
			switch {
			case err != nil:
				s.Error(err)
			case grants[0].Result == refresh.Published:
				published.Add(1)
			case grants[0].Result == refresh.AlreadyProcessing:
				already.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	if published.Load() != 1 || already.Load() != 999 {
		s.Fatalf("%d published, %d already processing", published.Load(), already.Load())
	}
}

// tenProcesses all ask for the same thousand keys, some one by one and some
// many in one ask.
func tenProcesses(s *suite) {
	s.start(10, forHours)
	var published atomic.Int64
	var all sync.WaitGroup
	for i, c := range s.Processes() {
		many := 1
		if i%2 == 0 {
			many = 100
		}
		all.Go(func() {
			for first := 0; first < 1000; first += many {
				asks := make([]refresh.Ask, many)
				for k := range asks {
					asks[k] = refresh.Ask{Entity: entity(strconv.Itoa(first + k)), Priority: low}
				}
				grants, err := c.Acquire(s.Context(), asks...)
				if err != nil {
					s.Error(err)
					return
				}
				for _, g := range grants {
					if g.Result == refresh.Published {
						published.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	if n := published.Load(); n != 1000 {
		s.Fatalf("%d published, want 1000", n)
	}
}

// upgradesRace: LOW and HIGH ask for the same entity at once. Whoever comes
// first, one HIGH is under way at the end, it has the newest version, and
// nothing was published twice.
func upgradesRace(s *suite) {
	s.start(4, forHours)
	for round := range 50 {
		key := strconv.Itoa(round)
		results := make(chan refresh.Grant, 40)
		var all sync.WaitGroup
		for i := range 40 {
			p := []domain.Priority{high, low}[i%2]
			c := s.Processes()[i%len(s.Processes())]
			all.Go(func() {
				grants, err := c.Acquire(s.Context(), refresh.Ask{Entity: entity(key), Priority: p})
				if err != nil {
					s.Error(err)
					return
				}
				results <- grants[0]
			})
		}
		all.Wait()
		close(results)
		count := make(map[refresh.Coalesced]int)
		var newest refresh.Lock
		for g := range results {
			count[g.Result]++
			if g.Version > newest.Version {
				newest = g.Lock
			}
		}
		if count[refresh.Published] != 1 || count[refresh.Upgraded] > 1 || newest.Priority != high {
			s.Fatalf("round %d: %v, the newest is %+v", round, count, newest)
		}
		if v := s.versions(key); v[0] != newest.Version {
			s.Fatalf("version is %d, want %d", v[0], newest.Version)
		}
	}
}
