package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// Progress is a run as people want to see it: how far it is, what it waits
// for, and when it will end.
type Progress struct {
	domain.Run
	// Waits are the reasons why nothing, or not everything, is being called.
	Waits []LaneWait `json:"waits,omitempty"`
	// Quota is what is known about the owner whose ration the run draws on.
	Quota []quota.Window `json:"quota,omitempty"`
	// Forecast is what is left and when it will be done; nil once the run has
	// ended, or while it waits for a person.
	Forecast *Forecast `json:"forecast,omitempty"`
	// ETA is the forecast's end.
	ETA time.Time `json:"eta,omitzero"`
}

// LaneWait is a wait of one of the run's lanes, or of the store.
type LaneWait struct {
	Lane string `json:"lane"`
	Wait
}

// allWaits adds to what this process knows the lanes that others have parked.
func (e *Engine) allWaits(ctx context.Context, windows []quota.Window) (map[string]Wait, error) {
	waits := e.waits.all()
	if !e.cfg.Shared {
		return waits, nil
	}
	stats, err := e.Dispatch.Stats(ctx)
	if err != nil {
		return nil, err
	}
	for _, lane := range stats.Lanes {
		if _, known := waits[lane.Lane]; known || lane.ParkedUntil.IsZero() {
			continue
		}
		w := Wait{Reason: string(quota.ReasonPrimary), Until: lane.ParkedUntil}
		for _, window := range windows {
			if Lane(window.Owner, window.Bucket) == lane.Lane && window.Parked != "" {
				w.Reason = string(window.Parked)
			}
		}
		waits[lane.Lane] = w
	}
	return waits, nil
}

// Progress describes a run. The account may be paused; then that is a wait
// without an end.
func (e *Engine) Progress(ctx context.Context, run domain.Run) (Progress, error) {
	p := Progress{Run: run}
	if !run.Status.Active() {
		return p, nil
	}
	a, err := e.State.Account(ctx, run.AccountID)
	if err != nil {
		return p, err
	}
	if a.State == domain.AccountPaused {
		p.Waits = append(p.Waits, LaneWait{Lane: a.Login, Wait: Wait{Reason: a.Reason}})
		return p, nil
	}
	if p.Quota, err = e.Quota.Windows(ctx, a.Owner); err != nil {
		return p, err
	}
	waits, err := e.allWaits(ctx, p.Quota)
	if err != nil {
		return p, err
	}
	if w, ok := waits[waitStore]; ok {
		p.Waits = append(p.Waits, LaneWait{Lane: waitStore, Wait: w})
	}
	for _, lane := range slices.Sorted(maps.Keys(waits)) {
		if strings.HasPrefix(lane, Lane(a.Owner, "")) {
			p.Waits = append(p.Waits, LaneWait{Lane: lane, Wait: waits[lane]})
		}
	}
	forecast, err := e.forecast(ctx, run, a.Owner, p.Quota)
	if err != nil {
		return p, err
	}
	p.Forecast, p.ETA = &forecast, forecast.Ends
	return p, nil
}
