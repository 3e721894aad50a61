package paced_test

import (
	"strings"
	"testing"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// rateBench is a keeper whose process can end.
type rateBench struct {
	testing.TB
	limits rate.Limits
	clock  *ratetest.Clock
	store  *ratetest.Store
	// rations are those of the process.
	rations *memory.Rations
	keeper  *paced.Keeper
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
	if b.rations != nil {
		b.rations.Wait()
	}
	b.rations = memory.NewRations(memory.RationsOptions{Store: b.store, Now: b.clock.Now, Passed: b.clock.Passed})
	k, err := paced.New(map[string]rate.Limits{ratetest.Upstream: b.limits}, b.rations, paced.Options{Now: b.clock.Now, Passed: b.clock.Passed})
	if err != nil {
		b.Fatal(err)
	}
	b.keeper = k
}

func TestRateConformance(t *testing.T) { ratetest.Run(t, newRateBench) }

func TestRateLimitsAreChecked(t *testing.T) {
	l := ratetest.Maple()
	l.Burst = 450
	_, err := paced.New(map[string]rate.Limits{"maple": l}, memory.NewRations(memory.RationsOptions{}), paced.Options{})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "upstream maple") {
		t.Fatalf("error is %v", err)
	}
}
