package memory_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
)

// coalescerBench is a coalescer with a clock driven by hand.
type coalescerBench struct {
	ttls      refresh.CoalescerTTLs
	coalescer *memory.Coalescer
	processes int

	mu  sync.Mutex
	now time.Time
}

func newCoalescerBench(processes int, l refresh.CoalescerTTLs) *coalescerBench {
	b := &coalescerBench{ttls: l, processes: processes, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.coalescer = memory.NewCoalescer(l, b.Now)
	return b
}

func (b *coalescerBench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *coalescerBench) Pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// Processes are all the one that there is: nothing is shared between others.
func (b *coalescerBench) Processes() []refresh.Coalescer {
	all := make([]refresh.Coalescer, b.processes)
	for i := range all {
		all[i] = b.coalescer
	}
	return all
}

// Lose begins another process, some time later.
func (b *coalescerBench) Lose() {
	b.Pass(time.Second)
	b.coalescer = memory.NewCoalescer(b.ttls, b.Now)
}

func TestCoalescerConformance(t *testing.T) {
	refreshtest.RunCoalescer(t, refreshtest.CoalescerFactory{
		FakeClock: true,
		New: func(_ testing.TB, processes int, l refresh.CoalescerTTLs) refreshtest.CoalescerBench {
			return newCoalescerBench(processes, l)
		},
	})
}

// TestCoalescerForgets: a coalescer that ran for long remembers what it has to, and not
// every entity that there ever was.
func TestCoalescerForgets(t *testing.T) {
	b := newCoalescerBench(1, refresh.CoalescerTTLs{})
	most := 0
	for i := range 200_000 {
		if _, err := b.coalescer.Acquire(t.Context(), refresh.Ask{
			Entity: refresh.Entity{Source: "maple", Key: strconv.Itoa(i)}, Priority: domain.PriorityLow,
		}); err != nil {
			t.Fatal(err)
		}
		b.Pass(100 * time.Millisecond) // 27,000 in the life of a version
		most = max(most, b.coalescer.Remembered())
	}
	if most < 27_000 || most > 30_000 {
		t.Fatalf("%d entities were remembered at once, want those of 45 minutes: 27000", most)
	}
}

// TestCoalescerVersionsRiseWhenTheClockIsSetBack although the entity is forgotten.
func TestCoalescerVersionsRiseWhenTheClockIsSetBack(t *testing.T) {
	b := newCoalescerBench(1, refresh.CoalescerTTLs{})
	last := int64(0)
	for i := range 5000 {
		g, err := b.coalescer.Acquire(t.Context(), refresh.Ask{Entity: refresh.Entity{Source: "a", Key: "b"}, Priority: domain.PriorityHigh})
		if err != nil {
			t.Fatal(err)
		}
		if g[0].Version <= last {
			t.Fatalf("version %d after %d", g[0].Version, last)
		}
		last = g[0].Version
		if err := b.coalescer.Release(t.Context(), g[0].Lock); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			b.Pass(-time.Minute)
		}
	}
}

func BenchmarkCoalescerAcquire(b *testing.B) {
	c := memory.NewCoalescer(refresh.CoalescerTTLs{}, nil)
	asks := make([]refresh.Ask, 1<<16)
	for i := range asks {
		asks[i] = refresh.Ask{Entity: refresh.Entity{Source: "maple", Key: strconv.Itoa(i)}, Priority: domain.PriorityLow}
	}
	b.RunParallel(func(each *testing.PB) {
		for i := 0; each.Next(); i++ {
			grants, err := c.Acquire(b.Context(), asks[i%len(asks)])
			if err == nil {
				err = c.Release(b.Context(), grants[0].Lock)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_second")
}
