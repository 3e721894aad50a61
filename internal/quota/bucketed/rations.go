package bucketed

import (
	"strings"

	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

const (
	// groupPrefix begins the names of groups, one for each owner.
	groupPrefix = "quota\x1f"
	// gate is what a pause of an owner closes.
	gate = "owner"
	// busyName is the ration of calls at once, and pointsSuffix ends the names of those of
	// points.
	busyName, pointsSuffix = "at once", " points"
)

// Group names the group of rations of an owner.
func Group(owner string) string { return groupPrefix + owner }

// IsGroup says whether a group of rations is that of an owner's buckets.
func IsGroup(name string) bool { return strings.HasPrefix(name, groupPrefix) }

// bucket is what one bucket allows, as rations.
type bucket struct {
	name string
	// bit is what tells it apart among buckets; of more than there are bits some are nobody's.
	bit uint64
	// window is what is granted in a window that the upstream dates, points what an
	// endpoint gets a minute, and busy what an owner may have under way in all of his
	// buckets; the latter two may be nil.
	window, points, busy *ration.Ration
	// shared says that all endpoints have the points together.
	shared bool
}

// atOnce is the ration of calls at once, nil if there is no limit.
func atOnce(calls int) *ration.Ration {
	if calls <= 0 {
		return nil
	}
	return &ration.Ration{Name: busyName, Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: ration.Concurrent, Calls: calls}
}

// newBucket makes rations of limits. A hundredth of a window is written down ahead, and a
// tenth of what an endpoint gets a minute.
func newBucket(name string, l quota.Limits, busy *ration.Ration) *bucket {
	b := &bucket{name: name, busy: busy, shared: l.PointsShared}
	b.window = &ration.Ration{
		Name: name, Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: ration.Fixed, Calls: l.Limit, Keep: l.Floor,
		Every: ration.Period{Length: l.Window}, Dated: true, Ahead: max(l.Limit/100, 1),
	}
	if l.PointsPerMinute > 0 {
		b.points = &ration.Ration{
			Name: name + pointsSuffix, Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitPoints, Shape: ration.Sliding, Calls: l.PointsPerMinute, Cost: 1,
			Every: ration.Period{Length: quota.PeriodOf(l)}, Patient: true, Ahead: max(l.PointsPerMinute/10, 1),
		}
	}
	return b
}

// ask is a call as rations are asked. Of several that refuse for as long the first one is
// told.
func (b *bucket) ask(group string, ask *quota.Ask) keeper.Ask {
	draws := make([]keeper.Draw, 0, 3)
	if b.busy != nil {
		draws = append(draws, keeper.Draw{Ration: b.busy, Cost: 1})
	}
	if b.points != nil {
		part := ask.Endpoint
		if b.shared {
			part = ""
		}
		draws = append(draws, keeper.Draw{Ration: b.points, Part: part, Cost: ask.Points})
	}
	draws = append(draws, keeper.Draw{Ration: b.window, Cost: ask.Cost, Keep: ask.Floor})
	return keeper.Ask{Group: group, Gate: gate, Draws: draws}
}

// reason says why a call may not be made.
func (b *bucket) reason(d *keeper.Decision) quota.Reason {
	switch d.Reason {
	case keeper.ReasonParked, keeper.ReasonBackoff:
		return parked(d.Reason)
	case keeper.ReasonTrial:
		return quota.ReasonTrial
	case keeper.ReasonConcurrent:
		return quota.ReasonConcurrency
	case keeper.ReasonKept:
		return quota.ReasonFloor
	case keeper.ReasonKeptAll:
		return quota.ReasonFloorAll
	case keeper.ReasonSpent:
	}
	if d.Refused != b.name {
		return quota.ReasonPoints
	}
	return quota.ReasonPrimary
}

// parked says why nobody is served.
func parked(why keeper.Reason) quota.Reason {
	if why == keeper.ReasonBackoff {
		return quota.ReasonBackoff
	}
	return quota.ReasonRetryAfter
}
