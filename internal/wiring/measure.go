package wiring

import (
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/engine"
	"sluice/internal/notify"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/state"
	"sluice/internal/timer"
)

// Meter measures the parts of a service. What it is given it returns as one that
// does the same and is measured.
type Meter interface {
	engine.Observer
	CollectionMeter
	RefreshMeter
	Firings(f timer.Firings) timer.Firings
	// Notified is told what became of an attempt to tell somebody something.
	Notified(targetType string, became notify.Outcome)
	// Carried is told how many rows a batch of a sink had.
	Carried(sink string, rows int)
	// RedisCommand is told how long Redis took to answer.
	RedisCommand(command string, took time.Duration, failed error)
}

// CollectionMeter measures what collections work with.
type CollectionMeter interface {
	Jobs(jobs state.Jobs) state.Jobs
	Documents(documents document.Writer) document.Writer
	// Dispatch is also told whether the dispatcher is the process's own, which is
	// then its own scheduler.
	Dispatch(d dispatch.Dispatcher, alone bool) dispatch.Dispatcher
	SchedulerLeads(leads bool)
	SchedulerSlept(d time.Duration)
}

// RefreshMeter measures what refreshes work with.
type RefreshMeter interface {
	Upstream(name string, u refresh.Upstream) refresh.Upstream
	Entities(entities refresh.Entities) refresh.Entities
	DeadLetters(letters refresh.DeadLetters) refresh.DeadLetters
	Coalescer(c refresh.Coalescer) refresh.Coalescer
	Rate(k rate.Keeper, limits map[string]rate.Limits) rate.Keeper
	Log(log refresh.EventLog) refresh.EventLog
}

// measureEngine has the engine measured.
func (s *Service) measureEngine(o *Options, ports *parts) {
	if o.Meter == nil {
		return
	}
	o.Engine.Observer = o.Meter
	ports.State.Jobs = o.Meter.Jobs(ports.State.Jobs)
	ports.Dispatch = o.Meter.Dispatch(ports.Dispatch, !s.shared)
	if ports.Documents != nil {
		ports.Documents = o.Meter.Documents(ports.Documents)
	}
}

// measuredSnapshots is a store of which some parts are measured.
type measuredSnapshots struct {
	refresh.Entities
	refresh.Requests
	refresh.Marks
	refresh.DeadLetters
	refresh.History
	refresh.Past
}

// measureRefreshes has the refresh pipeline measured.
func measureRefreshes(m Meter, limits map[string]rate.Limits, p *refresh.Parts) {
	if m == nil {
		return
	}
	store := p.Snapshots
	p.Snapshots = measuredSnapshots{m.Entities(store), store, store, m.DeadLetters(store), store, store}
	p.Coalescer, p.Rate, p.Log = m.Coalescer(p.Coalescer), m.Rate(p.Rate, limits), m.Log(p.Log)
	upstreams := make(map[string]refresh.Upstream, len(p.Upstreams))
	for name, u := range p.Upstreams {
		upstreams[name] = m.Upstream(name, u)
	}
	p.Upstreams = upstreams
}

// measuredTimers is a store of timers of which the firing is measured.
type measuredTimers struct {
	timer.Register
	timer.Firings
	timer.Feed
	timer.History
}

// measureTimers has the firing of timers measured.
func measureTimers(m Meter, store timer.Store) timer.Store {
	if m == nil {
		return store
	}
	return measuredTimers{store, m.Firings(store), store, store}
}
