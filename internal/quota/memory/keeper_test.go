package memory_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/memory"
	"sluice/internal/quota/quotatest"
)

// bench is a keeper with a hand-driven clock and a store that survives it.
type bench struct {
	cfg quota.Config
	// keepRecent also stores what the process was about when it ended.
	keepRecent bool

	mu     sync.Mutex
	now    time.Time
	stored map[[2]string]domain.QuotaWindow
	keeper *memory.Keeper
}

func newBench(cfg quota.Config, keepRecent bool) *bench {
	b := &bench{
		cfg: cfg, keepRecent: keepRecent,
		now:    time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC),
		stored: make(map[[2]string]domain.QuotaWindow),
	}
	b.keeper = memory.New(cfg, memory.Options{Now: b.Now})
	return b
}

func (b *bench) Keeper() quota.Keeper { return b.keeper }

func (b *bench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) Persist(w *domain.QuotaWindow) {
	if w == nil {
		return
	}
	key := [2]string{w.Owner, w.Bucket}
	if w.Seq > b.stored[key].Seq {
		b.stored[key] = *w
	}
}

func (b *bench) Crash() {
	stored := slices.Collect(maps.Values(b.stored))
	for i := range stored {
		if !b.keepRecent {
			stored[i].InFlight, stored[i].Points, stored[i].Touched = 0, 0, time.Time{}
		}
	}
	b.keeper = memory.New(b.cfg, memory.Options{Now: b.Now, Restore: stored})
}

func TestConformance(t *testing.T) {
	for name, c := range map[string]struct{ keepRecent, fakeClock bool }{
		"windows alone":      {fakeClock: true},
		"windows and recent": {fakeClock: true, keepRecent: true},
		// The short windows that an adapter with a real clock is tested with.
		"short windows": {},
	} {
		t.Run(name, func(t *testing.T) {
			quotatest.Run(t, quotatest.Factory{
				Features: quotatest.Features{FakeClock: c.fakeClock},
				New: func(_ testing.TB, cfg quota.Config) quotatest.Bench {
					return newBench(cfg, c.keepRecent)
				},
			})
		})
	}
}
