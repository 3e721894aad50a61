package memory_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/timer"
	"sluice/internal/timer/memory"
	"sluice/internal/timer/triggertest"
)

func TestConformance(t *testing.T) {
	triggertest.Run(t, triggertest.Factory{
		Features: triggertest.Features{FakeClock: true},
		New: func(_ *testing.T, c triggertest.Config) triggertest.Open {
			return func(*testing.T) timer.Trigger {
				return memory.New(memory.Options{Grace: c.Grace, MaxWait: c.MaxWait})
			}
		},
	})
}

// skewed is a wall clock that can be set.
type skewed struct {
	by    atomic.Int64
	looks atomic.Int64
}

func (s *skewed) now() time.Time {
	s.looks.Add(1)
	// Without its monotonic part, as a clock is that was set.
	return time.Now().Round(0).Add(time.Duration(s.by.Load()))
}

func set(t *testing.T, trigger *memory.Trigger, at time.Time, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := trigger.Set(t.Context(), timer.Due{ID: id, At: at}); err != nil {
			t.Fatal(err)
		}
	}
}

// A clock that is set forward is noticed when the wait is over.
func TestClockSetForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall skewed
		trigger := memory.New(memory.Options{Now: wall.now})
		set(t, trigger, wall.now().Add(time.Hour), "a")
		began := time.Now()
		done := make(chan timer.Batch)
		go func() {
			batch, _ := trigger.Take(t.Context(), 1)
			done <- batch
		}()
		synctest.Wait()
		wall.by.Store(int64(time.Hour))
		batch := <-done
		if waited := time.Since(began); len(batch.Taken) != 1 || waited > dispatch.MaxWait {
			t.Errorf("took %v after %v, want a at the latest after %v", batch.Taken, waited, dispatch.MaxWait)
		}
	})
}

// A clock that is set back fires nothing early.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall skewed
		trigger := memory.New(memory.Options{Now: wall.now})
		at := wall.now().Add(10 * time.Second)
		set(t, trigger, at, "a")
		began := time.Now()
		time.AfterFunc(5*time.Second, func() { wall.by.Store(-int64(time.Minute)) })
		for {
			batch, err := trigger.Take(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(batch.Taken) == 0 {
				continue
			}
			if batch.Now.Before(at) || time.Since(began) != 70*time.Second {
				t.Errorf("taken at %v, after %v, want at %v after 70s", batch.Now, time.Since(began), at)
			}
			return
		}
	})
}

// Without a call there is nothing that wakes, and a wait wakes only for what is
// due in it and at its end.
func TestIdleDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall skewed
		trigger := memory.New(memory.Options{Now: wall.now})
		before := runtime.NumGoroutine()
		set(t, trigger, wall.now().Add(time.Second), "a")
		wall.looks.Store(0)
		<-time.After(time.Hour)
		synctest.Wait()
		if looks := wall.looks.Load(); looks != 0 || runtime.NumGoroutine() > before {
			t.Fatalf("while nobody called the clock was read %d times by %d goroutines", looks, runtime.NumGoroutine()-before)
		}
		if err := trigger.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		wall.looks.Store(0)
		if batch, err := trigger.Take(t.Context(), 1); err != nil || len(batch.Taken) > 0 {
			t.Fatalf("took %v, %v", batch.Taken, err)
		}
		if looks := wall.looks.Load(); looks != 2 {
			t.Errorf("a wait for nothing looked %d times, want once when it began and once at its end", looks)
		}
	})
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func TestAMillionWaiting(t *testing.T) {
	const n = 1_000_000
	before := heapInUse()
	trigger := memory.New(memory.Options{})
	at := time.Now().Add(time.Hour)
	for i := range n {
		id := fmt.Sprintf("reminder-%07d", i)
		set(t, trigger, at.Add(time.Duration(i*7919%n)*time.Millisecond), id)
	}
	each := (heapInUse() - before) / n
	t.Logf("a waiting timer takes %d bytes, 16 of them its id", each)
	if each > 120 {
		t.Errorf("a waiting timer takes %d bytes", each)
	}
	runtime.KeepAlive(trigger)
}

func BenchmarkSetTakeDone(b *testing.B) {
	trigger := memory.New(memory.Options{})
	for i := range 100_000 {
		_ = trigger.Set(b.Context(), timer.Due{ID: fmt.Sprint("far-", i), At: time.Now().Add(time.Hour)})
	}
	for b.Loop() {
		_ = trigger.Set(b.Context(), timer.Due{ID: "near", At: time.Unix(0, 0)})
		batch, err := trigger.Take(b.Context(), 1)
		if err != nil {
			b.Fatal(err)
		}
		_ = trigger.Done(b.Context(), batch.Taken...)
	}
}
