package paced

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/quota/rate"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

const (
	// gate is what a pause closes.
	gate = "upstream"
	// The rations of an upstream.
	secondName, lowName, dayName = "second", "low", "day"
	// dateKept is for how long it is known what was taken on a date. It does not come
	// back, but for a clock that is set.
	dateKept = 8 * 24 * time.Hour
	// aheadTime is for how long calls are written down ahead at the full rate, and
	// aheadLeast for how long at least: half of it is to last while it is written.
	aheadTime, aheadLeast = 5, 2
)

// upstream is what one upstream allows, as rations.
type upstream struct {
	group            string
	limits           rate.Limits
	second, low, day *ration.Ration

	current atomic.Pointer[today]
	mu      sync.Mutex
	// begun are the dates that may not have ended yet.
	begun []date
}

// newUpstream makes rations of limits that were checked. A bucket of so many calls that
// is refilled at so many a second lets no second have more than both together. LOW has a
// bucket of its own besides, and of the others leaves a reserve.
func newUpstream(name string, l rate.Limits) *upstream {
	bucket := func(name string, burst, refill, hard, reserve int) *ration.Ration {
		return &ration.Ration{
			Name: name, Per: []ration.Dimension{ration.PerKey}, Unit: ration.UnitCalls, Shape: ration.Bucket,
			Calls: burst, Refill: refill, Hard: hard, Reserve: reserve, Every: ration.Period{Length: time.Second},
		}
	}
	day := &ration.Ration{
		Name: dayName, Per: []ration.Dimension{ration.PerKey}, Unit: ration.UnitCalls, Shape: ration.Fixed, Calls: ration.Unlimited,
		Every: ration.Period{Length: dateKept},
	}
	if l.Daily > 0 {
		day.Calls, day.Reserve = int(l.Daily), int(l.DailyReserve)
		day.Ahead = max(aheadLeast*l.Rate+l.Burst, min(aheadTime*l.Rate, int(l.Daily/100)))
	}
	return &upstream{
		group: rate.Group(name), limits: l, day: day,
		second: bucket(secondName, l.Burst, l.Rate, l.Hard, l.Reserve),
		low:    bucket(lowName, l.LowBurst, l.LowRate, l.LowRate+l.LowBurst, 0),
	}
}

// asks are what calls of each priority draw on: on dates, on the second, LOW on its
// share of that. Of several that leave as little the first one is told.
func (u *upstream) asks(dates []date) (high, low keeper.Ask) {
	var draws []keeper.Draw
	for _, d := range dates {
		draws = append(draws, keeper.Draw{Ration: u.day, Part: d.String(), Cost: 1})
	}
	draws = append(draws, keeper.Draw{Ration: u.second, Cost: 1})
	high = keeper.Ask{Group: u.group, Gate: gate, Draws: draws}
	low = high
	low.Low, low.Draws = true, append(append([]keeper.Draw(nil), draws...), keeper.Draw{Ration: u.low, Cost: 1})
	return high, low
}

// reasonOf says why not all were granted.
func reasonOf(g *keeper.Grant) rate.Reason {
	switch {
	case strings.HasPrefix(g.Refused, keeper.GatePrefix):
		return rate.ReasonPause
	case strings.HasPrefix(g.Refused, dayName+"/"):
		return rate.ReasonDaily
	case g.Refused == lowName:
		return rate.ReasonLow
	}
	return rate.ReasonRate
}
