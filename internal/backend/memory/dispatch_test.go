package memory_test

import (
	"testing"

	"sluice/internal/backend/memory"
	"sluice/internal/dispatch"
	"sluice/internal/dispatch/dispatchtest"
	"sluice/internal/due"
	"sluice/internal/due/duetest"
)

func TestDispatcherConformance(t *testing.T) {
	dispatchtest.Run(t, dispatchtest.Factory{
		Features: dispatchtest.Features{FakeClock: true, LaneLimit: true, Scheduled: true},
		NewQueue: func(_ dispatchtest.T, c dispatchtest.Config) dispatchtest.Open {
			d := memory.NewDispatcher(memory.DispatcherOptions{Lease: c.Lease, LaneLimit: c.LaneLimit})
			return func(dispatchtest.T) dispatch.Dispatcher { return d }
		},
	})
}

// Entries that are due later keep the promises of every due set.
func TestDispatcherDueConformance(t *testing.T) {
	duetest.Run(t, duetest.Factory{
		Features: duetest.Features{FakeClock: true, Unordered: true, Leased: true},
		New: func(_ *testing.T, c duetest.Config) duetest.Open {
			return func(*testing.T) due.Set {
				return duetest.Dispatched{Dispatcher: memory.NewDispatcher(memory.DispatcherOptions{Lease: c.Grace})}
			}
		},
	})
}
