package memory_test

import (
	"testing"

	"sluice/internal/backend/memory"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
)

// rationBench is a keeper whose process can end.
type rationBench struct {
	clock  *rationtest.Clock
	store  *rationtest.Store
	keeper *memory.Rations
}

func (b *rationBench) Keepers() []keeper.Keeper { return []keeper.Keeper{b.keeper} }

func (b *rationBench) Restart(int) { b.Lose() }

func (b *rationBench) Lose() {
	if b.keeper != nil {
		b.keeper.Wait()
	}
	b.keeper = memory.NewRations(memory.RationsOptions{Store: b.store, Now: b.clock.Now, Passed: b.clock.Passed})
}

func TestRationConformance(t *testing.T) {
	rationtest.Run(t, func(_ testing.TB, c *rationtest.Clock, s *rationtest.Store) rationtest.Bench {
		b := &rationBench{clock: c, store: s}
		b.Lose()
		return b
	})
}
