package memory_test

import (
	"testing"

	"sluice/internal/dispatch"
	"sluice/internal/dispatch/dispatchtest"
	"sluice/internal/dispatch/memory"
)

func TestConformance(t *testing.T) {
	dispatchtest.Run(t, dispatchtest.Factory{
		Features: dispatchtest.Features{FakeClock: true, LaneLimit: true},
		NewQueue: func(_ dispatchtest.T, c dispatchtest.Config) dispatchtest.Open {
			d := memory.New(memory.Options{Lease: c.Lease, LaneLimit: c.LaneLimit})
			return func(dispatchtest.T) dispatch.Dispatcher { return d }
		},
	})
}
