package duetest

import (
	"context"
	"sync"
	"time"

	"sluice/internal/due"
)

var crowdCases = []testCase{
	{name: "TwoTakersShare", check: twoTakersShare},
	{name: "ManyInOneInstant", check: manyInOneInstant},
}

// twoTakersShare: within the grace nobody gets what another one has.
func twoTakersShare(x *stand) {
	const n = 500
	for i, name := range names(n) {
		x.put(time.Now().Add(x.unit+time.Duration(i%50)*x.unit/50), name)
	}
	x.expectEachOnce(n, 7, false)
}

func manyInOneInstant(x *stand) {
	const n = 10_000
	x.put(x.in(2), names(n)...)
	x.expectEachOnce(n, 300, true)
}

// expectEachOnce takes entries with several takers until all are taken, and a
// little longer.
func (x *stand) expectEachOnce(n, most int, finish bool) {
	var (
		mu    sync.Mutex
		times = make(map[string]int, n)
		all   sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	taker := func(from due.Set) {
		for {
			got := x.takeFrom(ctx, from, most)
			if ctx.Err() != nil {
				return
			}
			if got.err != nil {
				x.Errorf("take: %v", got.err)
				cancel()
				return
			}
			mu.Lock()
			for _, one := range got.Taken {
				times[one.ID]++
			}
			over := len(times) == n
			mu.Unlock()
			if over {
				cancel()
			}
			if finish {
				if err := from.Done(x.Context(), got.Taken...); err != nil {
					x.Errorf("done: %v", err)
				}
			}
		}
	}
	here, there := x.Set, x.another()
	for range 2 {
		all.Go(func() { taker(here) })
		all.Go(func() { taker(there) })
	}
	all.Wait()
	x.expectNone(2)
	if len(times) != n {
		x.Errorf("%d of %d were handed out", len(times), n)
	}
	for id, count := range times {
		if count != 1 {
			x.Fatalf("%s was handed out %d times", id, count)
		}
	}
}
