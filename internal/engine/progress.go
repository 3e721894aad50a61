package engine

import (
	"context"
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
	// ETA is when the run will end by what is known now; zero if it cannot
	// be said.
	ETA time.Time `json:"eta,omitzero"`
}

// LaneWait is a wait of one of the run's lanes, or of the store.
type LaneWait struct {
	Lane string `json:"lane"`
	Wait
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
	waits := e.waits.all()
	if w, ok := waits[waitStore]; ok {
		p.Waits = append(p.Waits, LaneWait{Lane: waitStore, Wait: w})
	}
	for _, w := range p.Quota {
		lane := Lane(a.Owner, w.Bucket)
		if wait, ok := waits[lane]; ok {
			p.Waits = append(p.Waits, LaneWait{Lane: lane, Wait: wait})
		}
	}
	p.ETA = estimate(run, p.Quota, e.cfg.Now())
	return p, nil
}

// estimate says when a run ends if the calls it knows of are all there are:
// at the pace so far while the ration lasts, and then at the ration's pace.
func estimate(run domain.Run, windows []quota.Window, now time.Time) time.Time {
	left := run.Known - run.Done()
	elapsed := now.Sub(run.CreatedAt)
	if left <= 0 || run.Done() == 0 || elapsed <= 0 {
		return time.Time{}
	}
	pace := elapsed / time.Duration(run.Done())
	available, tightest := int64(0), quota.Window{}
	for _, w := range windows {
		available += int64(max(w.Available, 0))
		if !w.Reset.IsZero() && (tightest.Reset.IsZero() || w.Available < tightest.Available) {
			tightest = w
		}
	}
	if left <= available || tightest.Reset.Before(now) {
		return now.Add(time.Duration(left) * pace)
	}
	return tightest.Reset.Add(time.Duration(left-available) * pace)
}
