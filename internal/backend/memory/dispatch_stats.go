package memory

import (
	"cmp"
	"context"
	"slices"

	"sluice/internal/dispatch"
)

// Stats implements dispatch.Dispatcher. It lists the lanes by name, those that
// have something ready, have something leased, or are parked; the end of a
// parking counts as a waiting instant.
func (d *Dispatcher) Stats(context.Context) (dispatch.Stats, error) {
	now := d.enter()
	defer d.leave(now)
	all := dispatch.Stats{
		Ready:  d.ready,
		Due:    d.records.live - d.ready - d.expiries.Len(),
		Leased: d.expiries.Len(),
	}
	all.NextDue, _ = d.instants.Next()
	for _, l := range d.lanes.byName {
		ready := l.ready[isHigh] + l.ready[isLow]
		if ready == 0 && l.leased == 0 && !l.parked {
			continue
		}
		one := dispatch.LaneStats{Lane: l.name, Ready: ready, Leased: l.leased}
		one.ParkedUntil, _ = d.instants.At(dueLane(l))
		all.Lanes = append(all.Lanes, one)
	}
	slices.SortFunc(all.Lanes, func(a, b dispatch.LaneStats) int { return cmp.Compare(a.Lane, b.Lane) })
	return all, nil
}
