package memory_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
)

// quotaBench is a keeper with a hand-driven clock and a store that survives it.
type quotaBench struct {
	cfg quota.Config
	// keepRecent also stores what the process was about when it ended.
	keepRecent bool

	mu     sync.Mutex
	now    time.Time
	stored map[[2]string]domain.QuotaWindow
	keeper *memory.Quota
}

func newQuotaBench(cfg quota.Config, keepRecent bool) *quotaBench {
	b := &quotaBench{
		cfg: cfg, keepRecent: keepRecent,
		now:    time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC),
		stored: make(map[[2]string]domain.QuotaWindow),
	}
	b.keeper = memory.NewQuota(cfg, memory.QuotaOptions{Now: b.Now})
	return b
}

func (b *quotaBench) Keeper() quota.Keeper { return b.keeper }

func (b *quotaBench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *quotaBench) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *quotaBench) Persist(w *domain.QuotaWindow) {
	if w == nil {
		return
	}
	key := [2]string{w.Owner, w.Bucket}
	if w.Seq > b.stored[key].Seq {
		b.stored[key] = *w
	}
}

func (b *quotaBench) Crash() {
	stored := slices.Collect(maps.Values(b.stored))
	for i := range stored {
		if !b.keepRecent {
			stored[i].InFlight, stored[i].Points, stored[i].Touched = 0, 0, time.Time{}
		}
	}
	b.keeper = memory.NewQuota(b.cfg, memory.QuotaOptions{Now: b.Now, Restore: stored})
}

func TestQuotaConformance(t *testing.T) {
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
					return newQuotaBench(cfg, c.keepRecent)
				},
			})
		})
	}
}
