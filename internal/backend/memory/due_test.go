package memory_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/due"
	"sluice/internal/due/duetest"
)

func TestDueSetConformance(t *testing.T) {
	duetest.Run(t, duetest.Factory{
		Features: duetest.Features{FakeClock: true},
		New: func(_ *testing.T, c duetest.Config) duetest.Open {
			return func(*testing.T) due.Set {
				return memory.NewDueSet(memory.DueSetOptions{Grace: c.Grace, MaxWait: c.MaxWait})
			}
		},
	})
}

func set(t *testing.T, waiting *memory.DueSet, at time.Time, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := waiting.Put(t.Context(), due.Entry{ID: id, At: at}); err != nil {
			t.Fatal(err)
		}
	}
}

// A clock that is set forward is noticed when the wait is over.
func TestDueSetClockSetForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall memory.SkewedClock
		waiting := memory.NewDueSet(memory.DueSetOptions{Now: wall.Now})
		set(t, waiting, wall.Now().Add(time.Hour), "a")
		began := time.Now()
		done := make(chan due.Batch)
		go func() {
			batch, _ := waiting.Take(t.Context(), 1)
			done <- batch
		}()
		synctest.Wait()
		wall.By.Store(int64(time.Hour))
		batch := <-done
		if waited := time.Since(began); len(batch.Taken) != 1 || waited > due.MaxWait {
			t.Errorf("took %v after %v, want a at the latest after %v", batch.Taken, waited, due.MaxWait)
		}
	})
}

// A clock that is set back fires nothing early.
func TestDueSetClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall memory.SkewedClock
		waiting := memory.NewDueSet(memory.DueSetOptions{Now: wall.Now})
		at := wall.Now().Add(10 * time.Second)
		set(t, waiting, at, "a")
		began := time.Now()
		time.AfterFunc(5*time.Second, func() { wall.By.Store(-int64(time.Minute)) })
		for {
			batch, err := waiting.Take(t.Context(), 1)
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
func TestDueSetIdleDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall memory.SkewedClock
		waiting := memory.NewDueSet(memory.DueSetOptions{Now: wall.Now})
		before := runtime.NumGoroutine()
		set(t, waiting, wall.Now().Add(time.Second), "a")
		wall.Looks.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if looks := wall.Looks.Load(); looks != 0 || runtime.NumGoroutine() > before {
			t.Fatalf("while nobody called the clock was read %d times by %d goroutines", looks, runtime.NumGoroutine()-before)
		}
		if err := waiting.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		wall.Looks.Store(0)
		if batch, err := waiting.Take(t.Context(), 1); err != nil || len(batch.Taken) > 0 {
			t.Fatalf("took %v, %v", batch.Taken, err)
		}
		if looks := wall.Looks.Load(); looks != 2 {
			t.Errorf("a wait for nothing looked %d times, want once when it began and once at its end", looks)
		}
	})
}

func TestDueSetAMillionWaiting(t *testing.T) {
	const n = 1_000_000
	before := memory.HeapInUse()
	waiting := memory.NewDueSet(memory.DueSetOptions{})
	at := time.Now().Add(time.Hour)
	for i := range n {
		id := fmt.Sprintf("reminder-%07d", i)
		set(t, waiting, at.Add(time.Duration(i*7919%n)*time.Millisecond), id)
	}
	each := (memory.HeapInUse() - before) / n
	t.Logf("a waiting timer takes %d bytes, 16 of them its id", each)
	if each > 120 {
		t.Errorf("a waiting timer takes %d bytes", each)
	}
	runtime.KeepAlive(waiting)
}

func BenchmarkDueSetPutTakeDone(b *testing.B) {
	waiting := memory.NewDueSet(memory.DueSetOptions{})
	for i := range 100_000 {
		_ = waiting.Put(b.Context(), due.Entry{ID: fmt.Sprint("far-", i), At: time.Now().Add(time.Hour)})
	}
	for b.Loop() {
		_ = waiting.Put(b.Context(), due.Entry{ID: "near", At: time.Unix(0, 0)})
		batch, err := waiting.Take(b.Context(), 1)
		if err != nil {
			b.Fatal(err)
		}
		_ = waiting.Done(b.Context(), batch.Taken...)
	}
}
