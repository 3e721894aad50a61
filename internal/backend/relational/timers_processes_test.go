package relational_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/timer"
	"sluice/internal/timer/timertest"
)

// timersStore has another name than its method.
type timersStore = relational.Timers

// timersTwins are two processes on one database that take turns.
type timersTwins struct {
	*timersStore
	other *relational.Timers
	turn  atomic.Int64
}

func (t *timersTwins) next() *relational.Timers {
	if t.turn.Add(1)%2 == 0 {
		return t.other
	}
	return t.timersStore
}

func (t *timersTwins) Put(ctx context.Context, specs []timer.Spec, now time.Time) ([]timer.Stored, error) {
	return t.next().Put(ctx, specs, now)
}

func (t *timersTwins) Fire(ctx context.Context, f timer.Firing) ([]timer.FireResult, error) {
	return t.next().Fire(ctx, f)
}

func (t *timersTwins) Settle(ctx context.Context, settled []timer.Settlement) error {
	return t.next().Settle(ctx, settled)
}

func (t *timersTwins) Cancel(ctx context.Context, id string) (timer.Timer, error) {
	return t.next().Cancel(ctx, id)
}

func (t *timersTwins) Reschedule(ctx context.Context, id string, at, now time.Time) (timer.Timer, error) {
	return t.next().Reschedule(ctx, id, at, now)
}

func (t *timersTwins) Timer(ctx context.Context, id string) (timer.Timer, error) {
	return t.next().Timer(ctx, id)
}

// TestTimersConformanceOfTwoProcesses: everything that one process promises, two
// processes promise that do half of it each.
func TestTimersConformanceOfTwoProcesses(t *testing.T) {
	t.Parallel()
	someServer(t, testTimersConformanceOfTwoProcesses)
}

func testTimersConformanceOfTwoProcesses(t *testing.T, on server) {
	var pair func(t *testing.T, url string) *timertest.StoreInstance
	pair = func(t *testing.T, url string) *timertest.StoreInstance {
		return &timertest.StoreInstance{
			Store:  &timersTwins{timersStore: relational.NewTimers(open(t, url)), other: relational.NewTimers(open(t, url))},
			Reopen: func(t *testing.T) *timertest.StoreInstance { return pair(t, url) },
		}
	}
	timertest.RunStore(t, timertest.StoreFactory{New: func(t *testing.T) *timertest.StoreInstance { return pair(t, on.fresh(t)) }})
}

var start = time.Date(2020, 3, 1, 12, 0, 0, 123457000, time.UTC)

// inBoth runs fn for two processes at the same time, and counts what it says.
func inBoth(t *testing.T, stores [2]*relational.Timers, fn func(process int, s *relational.Timers) (int, error)) (count int) {
	t.Helper()
	var all sync.WaitGroup
	var sum atomic.Int64
	for process, s := range stores {
		all.Go(func() {
			n, err := fn(process, s)
			if err != nil {
				t.Errorf("process %d: %v", process, err)
			}
			sum.Add(int64(n))
		})
	}
	all.Wait()
	return int(sum.Load())
}

// backwards turns what the second process gets the other way round.
func backwards(process, i, n int) int {
	if process == 1 {
		return n - 1 - i
	}
	return i
}

// TestTwoProcessesPutTheSameIDs at the same time, each in another order, one by
// one or in one call: each timer is new to one of them, and both are told of
// the timer of that one.
func TestTwoProcessesPutTheSameIDs(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesPutTheSameIDs)
}

func testTwoProcessesPutTheSameIDs(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.Timers{relational.NewTimers(open(t, url)), relational.NewTimers(open(t, url))}
	for round, size := range []int{1, 1, 1, 1, 1, 2, 10, 50, 200, 200, 1000, 1000} {
		answers := [2]map[string]timer.Stored{}
		fresh := inBoth(t, stores, func(process int, s *relational.Timers) (fresh int, err error) {
			specs := make([]timer.Spec, size)
			for i := range specs {
				specs[i] = timer.Spec{ID: fmt.Sprintf("%d-%04d", round, backwards(process, i, size)), At: start.Add(time.Duration(process) * time.Hour)}
			}
			stored, err := s.Put(t.Context(), specs, start)
			answers[process] = map[string]timer.Stored{}
			for _, a := range stored {
				answers[process][a.ID] = a
				if a.New {
					fresh++
					if !a.At.Equal(specs[0].At) {
						t.Errorf("timer %s is new and another's", a.ID)
					}
				}
			}
			return fresh, err
		})
		if fresh != size || len(answers[0]) != size || len(answers[1]) != size {
			t.Fatalf("round %d: %d of %d are new; %d and %d answers", round, fresh, size, len(answers[0]), len(answers[1]))
		}
		for id, a := range answers[0] {
			if b := answers[1][id]; a.New == b.New || !a.At.Equal(b.At) {
				t.Errorf("timer %s: %+v and %+v", id, a, b)
			}
		}
	}
}

// TestTwoProcessesFireTheSameTimers in large and in small sets.
func TestTwoProcessesFireTheSameTimers(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesFireTheSameTimers)
}

func testTwoProcessesFireTheSameTimers(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.Timers{relational.NewTimers(open(t, url)), relational.NewTimers(open(t, url))}
	for round, size := range []int{1, 5, 64, 65, 600} {
		const n = 600
		specs := make([]timer.Spec, n)
		for i := range specs {
			specs[i] = timer.Spec{ID: fmt.Sprintf("%d-%04d", round, i), At: start}
		}
		if _, err := stores[0].Put(t.Context(), specs, start); err != nil {
			t.Fatalf("put: %v", err)
		}
		fresh := inBoth(t, stores, func(process int, s *relational.Timers) (int, error) {
			return fireAll(t.Context(), s, specs, size, process)
		})
		if fresh != n {
			t.Errorf("sets of %d: %d of %d were fired", size, fresh, n)
		}
	}
}

// fireAll fires timers in sets of a size, all at once, and counts the new.
func fireAll(ctx context.Context, s *relational.Timers, specs []timer.Spec, size, process int) (int, error) {
	var all sync.WaitGroup
	var fresh atomic.Int64
	failed := make(chan error, len(specs))
	for first := 0; first < len(specs); first += size {
		all.Go(func() {
			var ids []string
			for i := first; i < min(first+size, len(specs)); i++ {
				ids = append(ids, specs[backwards(process, i, len(specs))].ID)
			}
			fired, err := s.Fire(ctx, timer.Firing{IDs: ids, Now: start, Server: fmt.Sprint("server-", process)})
			if err != nil {
				failed <- err
			}
			for _, f := range fired {
				if f.New {
					fresh.Add(1)
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return int(fresh.Load()), <-failed
}

// TestPruneWhileOthersWrite: what is removed by two at once is counted once.
func TestPruneWhileOthersWrite(t *testing.T) {
	t.Parallel()
	eachServer(t, testPruneWhileOthersWrite)
}

func testPruneWhileOthersWrite(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.Timers{relational.NewTimers(open(t, url)), relational.NewTimers(open(t, url))}
	const n = 2000
	specs := make([]timer.Spec, n)
	for i := range specs {
		specs[i] = timer.Spec{ID: fmt.Sprintf("t-%04d", i), At: start}
	}
	if _, err := stores[0].Put(t.Context(), specs, start); err != nil {
		t.Fatalf("put: %v", err)
	}
	if _, err := fireAll(t.Context(), stores[0], specs[:n/2], 100, 0); err != nil {
		t.Fatalf("fire: %v", err)
	}
	var fired atomic.Int64
	removed := inBoth(t, stores, func(process int, s *relational.Timers) (int, error) {
		if process == 1 {
			fresh, err := fireAll(t.Context(), s, specs[n/2:], 50, 0)
			fired.Add(int64(fresh))
			if err != nil {
				return 0, err
			}
		}
		removed := 0
		for range n / 100 {
			n, err := s.Prune(t.Context(), start.Add(time.Hour), 100)
			if err != nil {
				return 0, err
			}
			removed += n
		}
		return removed, nil
	})
	left, err := stores[0].Timers(t.Context(), timer.Query{Limit: n})
	if err != nil || fired.Load() != n/2 || removed+len(left) != n {
		t.Errorf("%d fired, %d removed, %d left of %d: %v", fired.Load(), removed, len(left), n, err)
	}
}
