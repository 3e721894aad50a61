package memory_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/refresh/coalesce"
	"sluice/internal/refresh/coalesce/coalescetest"
	"sluice/internal/refresh/coalesce/memory"
)

// bench is a coalescer with a clock driven by hand.
type bench struct {
	lives     coalesce.Lives
	coalescer *memory.Coalescer
	processes int

	mu  sync.Mutex
	now time.Time
}

func newBench(processes int, l coalesce.Lives) *bench {
	b := &bench{lives: l, processes: processes, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.coalescer = memory.New(l, b.Now)
	return b
}

func (b *bench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) Pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// Processes are all the one that there is: nothing is shared between others.
func (b *bench) Processes() []refresh.Coalescer {
	all := make([]refresh.Coalescer, b.processes)
	for i := range all {
		all[i] = b.coalescer
	}
	return all
}

// Lose begins another process, some time later.
func (b *bench) Lose() {
	b.Pass(time.Second)
	b.coalescer = memory.New(b.lives, b.Now)
}

func TestConformance(t *testing.T) {
	coalescetest.Run(t, coalescetest.Factory{
		FakeClock: true,
		New: func(_ testing.TB, processes int, l coalesce.Lives) coalescetest.Bench {
			return newBench(processes, l)
		},
	})
}

// TestForgets: a coalescer that ran for long remembers what it has to, and not
// every entity that there ever was.
func TestForgets(t *testing.T) {
	b := newBench(1, coalesce.Lives{})
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

// TestVersionsRiseWhenTheClockIsSetBack although the entity is forgotten.
func TestVersionsRiseWhenTheClockIsSetBack(t *testing.T) {
	b := newBench(1, coalesce.Lives{})
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

func BenchmarkAcquire(b *testing.B) {
	c := memory.New(coalesce.Lives{}, nil)
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
