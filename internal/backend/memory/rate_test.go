package memory_test

import (
	"strings"
	"testing"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// rateBench is a keeper whose process can end.
type rateBench struct {
	testing.TB
	limits rate.Limits
	clock  *ratetest.Clock
	store  *ratetest.Store
	keeper *memory.Rate
}

func newRateBench(t testing.TB, l rate.Limits, clock *ratetest.Clock, store *ratetest.Store) ratetest.Bench {
	b := &rateBench{TB: t, limits: l, clock: clock, store: store}
	b.Lose()
	return b
}

func (b *rateBench) Keepers() []rate.Keeper { return []rate.Keeper{b.keeper} }

func (b *rateBench) Restart(int) { b.Lose() }

func (b *rateBench) Lose() {
	b.Helper()
	k, err := memory.NewRate(map[string]rate.Limits{ratetest.Upstream: b.limits}, memory.RateOptions{
		Store: b.store, Now: b.clock.Now, Passed: b.clock.Passed,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.keeper = k
}

func TestRateConformance(t *testing.T) { ratetest.Run(t, newRateBench) }

func TestRateLimitsAreChecked(t *testing.T) {
	l := ratetest.Maple()
	l.Burst = 450
	_, err := memory.NewRate(map[string]rate.Limits{"maple": l}, memory.RateOptions{})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "upstream maple") {
		t.Fatalf("error is %v", err)
	}
}
