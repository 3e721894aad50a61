package main

import (
	"time"

	"sluice/internal/cli"
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source/maplestory"
	"sluice/internal/wiring"
)

const mapleStory = "maplestory"

// refreshOf says whose snapshots are kept: those of the game API, if there is a
// key for it.
func refreshOf(o cli.ServiceOptions) (wiring.Refresh, error) {
	m := o.MapleStory
	if m.Key == "" {
		return wiring.Refresh{}, nil
	}
	source, err := maplestory.New(maplestory.Options{BaseURL: m.URL, Key: m.Key})
	if err != nil {
		return wiring.Refresh{}, err
	}
	limits, err := mapleStoryLimits(m)
	if err != nil {
		return wiring.Refresh{}, err
	}
	settings := refresh.Settings{
		Works: o.Roles.Refresh, FreshFor: m.FreshFor, Prefetches: o.Roles.Scheduler && m.Prefetch != 0, DailyReserve: m.Reserve,
	}
	if m.Prefetch > 0 {
		settings.PerSecond = func(int) int { return m.Prefetch }
	}
	return wiring.Refresh{
		Upstreams: map[string]refresh.Upstream{mapleStory: source}, Limits: map[string]rate.Limits{mapleStory: limits},
		Settings: settings, Kafka: m.Kafka, Archive: m.Archive,
	}, nil
}

// mapleStoryLimits keeps a tenth of the second away from the limit, as calls
// take different times to arrive: of 500 calls 450 are granted a second and 25 at
// once, of which LOW has 350.
func mapleStoryLimits(m cli.MapleStory) (rate.Limits, error) {
	// Days are Korea's.
	zone, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		return rate.Limits{}, err
	}
	part := func(percent int) int { return max(1, m.PerSecond*percent/100) }
	// Of a small burst LOW leaves what it can.
	reserve := min(part(3), part(5)-1)
	l := rate.Limits{
		Hard: m.PerSecond, Rate: part(90), Burst: part(5), LowRate: part(70), LowBurst: part(5), Reserve: reserve,
		Daily: m.PerDay, DailyReserve: m.Reserve, Zone: zone,
	}
	return l, l.Check()
}

// refreshMetrics and refreshAPI are nil, not a pipeline that is nil, where no
// snapshots are kept.
func refreshMetrics(svc *wiring.Service) metrics.Refreshes {
	if svc.Refreshes == nil {
		return nil
	}
	return svc.Refreshes
}

func refreshAPI(svc *wiring.Service) httpapi.Refreshes {
	if svc.Refreshes == nil {
		return nil
	}
	return svc.Refreshes
}
