package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/quota"
)

// forecaster tells people how far runs are and when they will end. It decides
// nothing.
type forecaster struct{ *core }

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

// LaneWait is a wait of one of the run's lanes, or of the store. The lane
// "unknown" says that what lanes wait for cannot be told now, and why.
type LaneWait struct {
	Lane string `json:"lane"`
	Wait
}

// allWaits adds to what this process knows the lanes that others have parked.
func (fc *forecaster) allWaits(ctx context.Context, windows []quota.Window) (map[string]Wait, error) {
	waits := fc.waits.all()
	if !fc.cfg.Shared {
		return waits, nil
	}
	stats, err := fc.Dispatch.Stats(ctx)
	if err != nil {
		return nil, err
	}
	for _, lane := range stats.Lanes {
		if _, known := waits[lane.Lane]; known || lane.ParkedUntil.IsZero() {
			continue
		}
		w := Wait{Reason: string(quota.ReasonPrimary), Until: lane.ParkedUntil}
		for _, window := range windows {
			if dispatch.Lane(window.Owner, window.Bucket) == lane.Lane && window.Parked != "" {
				w.Reason = string(window.Parked)
			}
		}
		waits[lane.Lane] = w
	}
	return waits, nil
}

// askTime is how long somebody who looks at a run is kept waiting for what is
// known elsewhere than in the state.
const askTime = 2 * time.Second

// runWaits learns what lanes wait for, and the rations of an owner. If whoever
// knows that does not answer, the run is described without it, as far as this
// process knows: that is when people look.
func (fc *forecaster) runWaits(ctx context.Context, p *Progress, owner string) (waits map[string]Wait, known bool, err error) {
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if p.Quota, err = fc.Quota.Windows(asking, owner); err == nil {
		waits, err = fc.allWaits(asking, p.Quota)
	}
	switch {
	case err == nil:
		return waits, true, nil
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case domain.CodeOf(err) != domain.CodeUnavailable && !errors.Is(err, context.DeadlineExceeded):
		return nil, false, err
	}
	p.Quota = nil
	p.Waits = append(p.Waits, LaneWait{Lane: waitUnknown, Wait: Wait{Reason: "what it waits for is unknown: " + err.Error()}})
	return fc.waits.all(), false, nil
}

// waitUnknown is the lane of a wait that cannot be told.
const waitUnknown = "unknown"

// Progress describes a run. The account may be paused; then that is a wait
// without an end.
func (fc *forecaster) Progress(ctx context.Context, run domain.Run) (Progress, error) {
	p := Progress{Run: run}
	if !run.Status.Active() {
		return p, nil
	}
	a, err := fc.State.Accounts.Account(ctx, run.AccountID)
	if err != nil {
		return p, err
	}
	if a.State == domain.AccountPaused {
		p.Waits = append(p.Waits, LaneWait{Lane: a.Login, Wait: Wait{Reason: a.Reason}})
		return p, nil
	}
	waits, known, err := fc.runWaits(ctx, &p, a.Owner)
	if err != nil {
		return p, err
	}
	if w, ok := waits[waitStore]; ok {
		p.Waits = append(p.Waits, LaneWait{Lane: waitStore, Wait: w})
	}
	local := dispatch.Lane(a.Owner, domain.LocalBucket)
	for _, lane := range slices.Sorted(maps.Keys(waits)) {
		others := strings.HasPrefix(lane, local) && lane != localWait(local, run.ID)
		if strings.HasPrefix(lane, dispatch.Lane(a.Owner, "")) && !others {
			p.Waits = append(p.Waits, LaneWait{Lane: lane, Wait: waits[lane]})
		}
	}
	if !known {
		// Without the rations nobody can tell when it ends.
		return p, nil
	}
	ahead, err := fc.forecast(ctx, run, a.Owner, p.Quota)
	if err != nil {
		return p, err
	}
	p.Forecast, p.ETA = &ahead, ahead.Ends
	return p, nil
}
