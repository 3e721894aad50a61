package memory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

func entry(job int64, at time.Time) dispatch.Entry {
	return dispatch.Entry{ID: dispatch.JobID(job), Lane: "a", Priority: domain.PriorityHigh, Class: domain.ClassChild, NotBefore: at}
}

type result struct {
	leases []dispatch.Lease
	at     time.Time
}

// leaseBeside calls Lease beside the test and returns when it waits.
func leaseBeside(t *testing.T, d *Dispatcher) <-chan result {
	done := make(chan result, 1)
	go func() {
		leases, err := d.Lease(t.Context(), 1)
		if err != nil {
			t.Errorf("lease: %v", err)
		}
		done <- result{leases, time.Now()}
	}()
	synctest.Wait()
	return done
}

func mustPush(t *testing.T, d *Dispatcher, entries ...dispatch.Entry) {
	t.Helper()
	if err := d.Push(t.Context(), entries...); err != nil {
		t.Fatalf("push: %v", err)
	}
}

// A timer that rings early by the wall clock hands out nothing early, and the
// wait goes on.
func TestDispatcherClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall SkewedClock
		d := NewDispatcher(DispatcherOptions{Now: wall.Now})
		began := time.Now()
		mustPush(t, d, entry(1, wall.Now().Add(5*time.Second)))
		done := leaseBeside(t, d)
		wall.By.Store(-int64(2 * time.Second))
		got := <-done
		if len(got.leases) != 1 || got.at.Sub(began) != 7*time.Second {
			t.Fatalf("leased %v after %v, want job 1 after 7s", got.leases, got.at.Sub(began))
		}
	})
}

// A wall clock that is set forward is noticed when the wait ends, at MaxWait.
func TestDispatcherClockSetForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall SkewedClock
		d := NewDispatcher(DispatcherOptions{Now: wall.Now})
		mustPush(t, d, entry(1, wall.Now().Add(time.Hour)))
		began := time.Now()
		done := leaseBeside(t, d)
		wall.By.Store(int64(time.Hour))
		got := <-done
		if len(got.leases) != 1 || got.at.Sub(began) != dispatch.MaxWait {
			t.Fatalf("leased %v after %v, want job 1 after %v", got.leases, got.at.Sub(began), dispatch.MaxWait)
		}
	})
}

// Whoever waited first is served first, also when it is a newcomer's call that
// finds something due.
func TestDispatcherNewcomerDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall SkewedClock
		d := NewDispatcher(DispatcherOptions{Now: wall.Now})
		mustPush(t, d, entry(1, wall.Now().Add(time.Hour)))
		first := leaseBeside(t, d)
		wall.By.Store(int64(time.Hour))
		newcomer := leaseBeside(t, d)
		if got := <-first; len(got.leases) != 1 {
			t.Fatalf("the first waiter got %v", got.leases)
		}
		mustPush(t, d, entry(2, time.Time{}))
		if got := <-newcomer; len(got.leases) != 1 || got.leases[0].ID != "job:2" {
			t.Fatalf("the newcomer got %v, want job 2", got.leases)
		}
	})
}

// Without a call there is nothing that wakes, and a wait wakes only for what
// comes due in it and at its end.
func TestDispatcherIdleDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		d := NewDispatcher(DispatcherOptions{Now: func() time.Time { looks++; return time.Now() }})
		mustPush(t, d, entry(1, time.Now().Add(time.Second)))
		looks = 0
		time.Sleep(time.Hour)
		synctest.Wait()
		if looks != 0 {
			t.Fatalf("the clock was read %d times while nobody called", looks)
		}
		if err := d.Remove(t.Context(), "job:1"); err != nil {
			t.Fatal(err)
		}
		looks = 0
		if got := <-leaseBeside(t, d); len(got.leases) != 0 {
			t.Fatalf("leased %v", got.leases)
		}
		if looks != 2 {
			t.Fatalf("a wait for nothing looked %d times, want once when it began and once at its end", looks)
		}
	})
}

func TestDispatcherEmptyLanesAreForgotten(t *testing.T) {
	d := NewDispatcher(DispatcherOptions{})
	ctx := t.Context()
	for job := range int64(100_000) {
		e := entry(job, time.Time{})
		e.Lane = fmt.Sprint("lane ", job)
		mustPush(t, d, e)
	}
	blocks := len(d.records.blocks)
	for left := 100_000; left > 0; {
		leases, err := d.Lease(ctx, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Ack(ctx, leases...); err != nil {
			t.Fatal(err)
		}
		left -= len(leases)
	}
	if len(d.lanes.byName) != 0 || len(d.lanes.free) != len(d.lanes.byID) || d.turns != ([2]ring{}) {
		t.Errorf("%d lanes are kept", len(d.lanes.byName))
	}
	if len(d.records.blocks) >= blocks {
		t.Errorf("%d blocks of records are kept", len(d.records.blocks))
	}
}
