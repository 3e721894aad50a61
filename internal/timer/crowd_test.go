package timer_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"sluice/internal/timer"
)

// TestThirtyThousandInOneSecond is on the real clock: it tells how long the
// embedded database takes for that many, and what memory.
func TestThirtyThousandInOneSecond(t *testing.T) {
	const n, most = 30_000, 300 << 20
	w := newWorld(t, nil)
	memory := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	changed, end := w.Watch()
	defer end()
	began := time.Now()
	due := began.Add(5 * time.Second)
	w.setMany(w.Service, n, func(i int) timer.Spec {
		return timer.Spec{ID: fmt.Sprintf("reminder-%06d", i), At: due.Add(time.Duration(i*10) * time.Microsecond), Payload: []byte(`{"n":1}`)}
	})
	setting := time.Since(began)
	w.start(w.Service)
	peak := int64(0)
	for w.Counters().Fired.Load() < n {
		select {
		case <-changed:
			peak = max(peak, memory())
		case <-t.Context().Done():
			t.Fatal("the test's time is over")
		}
	}
	took := time.Since(laterOf(due, began.Add(setting)))
	sum, err := w.Stats(t.Context(), began)
	if err != nil || sum.Completed != n || sum.Succeeded != n {
		t.Errorf("%+v, %v", sum, err)
	}
	w.noneLeft()
	t.Logf("set in %v, fired in %v, late by %v on average and %v at most, with a heap of %d MiB at most", setting, took, sum.Mean, sum.Max, peak>>20)
	if peak > most {
		t.Errorf("%d MiB in use, want at most %d", peak>>20, int64(most)>>20)
	}
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
