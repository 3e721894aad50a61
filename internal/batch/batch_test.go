package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/batch"
)

type item struct{ n, double int }

func TestEveryItemIsAppliedOnce(t *testing.T) {
	var applied atomic.Int64
	g := batch.New(7, func(_ context.Context, items []*item) error {
		if len(items) > 7 {
			t.Errorf("%d items at once", len(items))
		}
		for _, i := range items {
			i.double = 2 * i.n
		}
		applied.Add(int64(len(items)))
		return nil
	})
	var all sync.WaitGroup
	for n := range 1000 {
		all.Go(func() {
			i := &item{n: n}
			if err := g.Do(t.Context(), i); err != nil || i.double != 2*n {
				t.Errorf("item %d: %+v, %v", n, i, err)
			}
		})
	}
	all.Wait()
	if applied.Load() != 1000 {
		t.Errorf("%d items were applied", applied.Load())
	}
}

// TestCallersShareATrip: what comes while a trip is under way goes together.
func TestCallersShareATrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trips := 0
		g := batch.New(100, func(context.Context, []*item) error {
			trips++
			time.Sleep(time.Second)
			return nil
		})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { _ = g.Do(t.Context(), &item{}) })
		}
		all.Wait()
		if trips > 2 {
			t.Errorf("50 callers took %d trips", trips)
		}
	})
}

func TestErrorReachesEveryCaller(t *testing.T) {
	broken := errors.New("broken")
	g := batch.New(100, func(context.Context, []*item) error { return broken })
	for range 3 {
		if err := g.Do(t.Context(), &item{}); !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
	}
}

func TestCallerThatGivesUpLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		applied := 0
		g := batch.New(1, func(ctx context.Context, items []*item) error {
			time.Sleep(time.Minute)
			applied += len(items)
			return ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gone := make(chan error, 1)
		go func() { gone <- g.Do(ctx, &item{}) }()
		synctest.Wait()
		if err := g.Do(t.Context(), &item{}); err != nil {
			t.Errorf("the caller that stayed got %v", err)
		}
		if err := <-gone; !errors.Is(err, context.DeadlineExceeded) || applied != 2 {
			t.Errorf("the caller that left got %v; %d items were applied", err, applied)
		}
	})
}

// TestTripsAtOnce: the next trip begins while the first is under way, once as
// many wait as it can take, and not before.
func TestTripsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under atomic.Int64
		release := make(chan struct{})
		g := batch.New(4, func(_ context.Context, items []*item) error {
			under.Add(1)
			<-release
			for _, i := range items {
				i.double = 2 * i.n
			}
			return nil
		}).Trips(2)
		var all sync.WaitGroup
		do := func(n int) {
			for range n {
				all.Go(func() {
					i := &item{n: 21}
					if err := g.Do(t.Context(), i); err != nil || i.double != 42 {
						t.Errorf("got %d, %v", i.double, err)
					}
				})
				synctest.Wait()
			}
		}
		for _, step := range []struct{ more, trips int }{{1, 1}, {3, 1}, {1, 2}, {9, 2}} {
			do(step.more)
			if got := under.Load(); got != int64(step.trips) {
				t.Fatalf("%d trips are under way, want %d", got, step.trips)
			}
		}
		close(release)
		all.Wait()
	})
}

// TestAddedItemsGather: nobody waits for them; those of a gap go together, and the
// end of their context ends the gap and reaches the trip.
func TestAddedItemsGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trips, ended []int
		g := batch.New(100, func(ctx context.Context, items []*item) error {
			if trips = append(trips, len(items)); ctx.Err() != nil {
				ended = append(ended, len(items))
			}
			return nil
		}).Gap(time.Second)
		for range 5 {
			g.Add(t.Context(), &item{})
			time.Sleep(100 * time.Millisecond)
		}
		g.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		g.Add(ctx, &item{})
		g.Add(ctx, &item{})
		cancel()
		began := time.Now()
		g.Wait()
		if !slices.Equal(trips, []int{5, 2}) || !slices.Equal(ended, []int{2}) || time.Since(began) > 0 {
			t.Errorf("trips of %v, of these %v after the end, which took %v", trips, ended, time.Since(began))
		}
	})
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := make(chan int, 10)
		send := func(n int) {
			for range n {
				from <- 1
			}
		}
		send(5)
		if got := len(batch.Receive(t.Context(), from, 3, 0)); got != 3 {
			t.Errorf("at most three: %d", got)
		}
		if got := len(batch.Receive(t.Context(), from, 10, 0)); got != 2 {
			t.Errorf("what is there: %d", got)
		}
		go func() {
			send(1)
			time.Sleep(500 * time.Millisecond)
			send(1)
			time.Sleep(time.Second)
			send(1)
		}()
		if got := len(batch.Receive(t.Context(), from, 10, time.Second)); got != 2 {
			t.Errorf("what follows within a second: %d", got)
		}
		if got := len(batch.Receive(t.Context(), from, 10, time.Second)); got != 1 {
			t.Errorf("what comes later: %d", got)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got := batch.Receive(ended, from, 10, time.Second); got != nil {
			t.Errorf("after the end: %v", got)
		}
	})
}
