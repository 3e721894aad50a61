package memory_test

import (
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/quotatest"
	"sluice/internal/ration/rationtest"
)

// quotaBench is a keeper of buckets with a hand-driven clock and a store that survives
// it.
type quotaBench struct {
	cfg   quota.Config
	store *rationtest.Store

	mu     sync.Mutex
	now    time.Time
	passed time.Duration
	keeper *bucketed.Keeper
}

func newQuotaBench(cfg quota.Config, store *rationtest.Store) *quotaBench {
	b := &quotaBench{cfg: cfg, store: store, now: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)}
	b.Crash()
	return b
}

func (b *quotaBench) Keeper() quota.Keeper { return b.keeper }

func (b *quotaBench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// Passed is the time that has passed: a clock that is set back does not undo it.
func (b *quotaBench) Passed() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.passed
}

func (b *quotaBench) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now, b.passed = b.now.Add(d), b.passed+max(d, 0)
}

func (b *quotaBench) Crash() {
	o := memory.RationsOptions{Now: b.Now, Passed: b.Passed, PermitLife: 10_000 * time.Hour}
	var groups bucketed.Options
	if b.store != nil {
		o.Store, groups.Groups = b.store, b.store.Groups
	}
	groups.Now = b.Now
	b.keeper = bucketed.New(b.cfg, memory.NewRations(o), groups)
}

func TestQuotaConformance(t *testing.T) {
	for name, fake := range map[string]bool{
		"windows": true,
		// The short windows that an adapter with a real clock is tested with.
		"short windows": false,
	} {
		t.Run(name, func(t *testing.T) {
			quotatest.Run(t, quotatest.Factory{
				Features: quotatest.Features{FakeClock: fake},
				New: func(_ testing.TB, cfg quota.Config) quotatest.Bench {
					return newQuotaBench(cfg, &rationtest.Store{})
				},
			})
		})
	}
}
