package memory_test

import (
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/memory"
	"sluice/internal/quota/rate/ratetest"
)

// bench is a keeper whose process can end.
type bench struct {
	testing.TB
	limits rate.Limits
	clock  *ratetest.Clock
	store  *ratetest.Store
	keeper *memory.Keeper
}

func newBench(t testing.TB, l rate.Limits, clock *ratetest.Clock, store *ratetest.Store) ratetest.Bench {
	b := &bench{TB: t, limits: l, clock: clock, store: store}
	b.Lose()
	return b
}

func (b *bench) Keepers() []rate.Keeper { return []rate.Keeper{b.keeper} }

func (b *bench) Restart(int) { b.Lose() }

func (b *bench) Lose() {
	b.Helper()
	k, err := memory.New(map[string]rate.Limits{ratetest.Upstream: b.limits}, memory.Options{
		Store: b.store, Now: b.clock.Now, Passed: b.clock.Passed,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.keeper = k
}

func TestConformance(t *testing.T) { ratetest.Run(t, newBench) }

func TestLimitsAreChecked(t *testing.T) {
	l := ratetest.Maple()
	l.Burst = 450
	_, err := memory.New(map[string]rate.Limits{"maple": l}, memory.Options{})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "upstream maple") {
		t.Fatalf("error is %v", err)
	}
}
