package memory

import (
	"math/rand/v2"
	"runtime"
	"sluice/internal/testkit"
	"sync/atomic"
	"testing"
	"time"
)

func testRand(t *testing.T) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// SkewedClock is a wall clock that can be set apart from the time that goes by.
type SkewedClock struct {
	// By is how far it was set, in nanoseconds; Looks is how often it was read.
	By, Looks atomic.Int64
}

// Now strips the monotonic reading, as a clock that jumps does not go by it.
func (s *SkewedClock) Now() time.Time {
	s.Looks.Add(1)
	return time.Now().Add(time.Duration(s.By.Load())).Round(0)
}

// HeapInUse is what the heap takes after everything unused was collected.
func HeapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}
