package engine

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// runHarvest begins or resumes the run of an account whose turn has come. It
// returns when to look at the account again.
func (cr *choreRunner) runHarvest(ctx context.Context, account int64) (again time.Time, err error) {
	a, err := cr.State.Accounts.Account(ctx, account)
	if err != nil {
		return time.Time{}, err
	}
	if _, harvested := cr.cfg.Harvests[a.Source]; !harvested {
		return time.Time{}, nil
	}
	now := cr.cfg.Now()
	switch a.State {
	case domain.AccountDeleted, domain.AccountPurged:
		cr.cfg.Log.Info("a planned run was skipped: the account is deleted", "account", a.ID, "login", a.Login)
		return time.Time{}, cr.State.Harvests.DropHarvest(ctx, account)
	case domain.AccountPaused:
		return time.Time{}, nil
	}
	last, err := cr.planner.lastRun(ctx, account)
	if err != nil {
		return time.Time{}, err
	}
	if last.Status.Active() {
		// Its end plans what follows. Whoever began it may not have come to
		// planning its jobs.
		_, err = cr.control.continueRun(ctx, last)
		return time.Time{}, err
	}
	h, found, err := cr.State.Harvests.Harvest(ctx, account)
	if err == nil && (!found || overtaken(h, last)) {
		// Whoever ended the run did not come to planning the next.
		h, err = cr.planner.planHarvest(ctx, a)
		found = !h.At.IsZero()
	}
	switch {
	case err != nil:
		return time.Time{}, err
	case !found:
		return time.Time{}, nil
	case h.At.After(now):
		return h.At, nil
	}
	return cr.beginHarvest(ctx, h)
}

// beginHarvest does what was planned for now. It returns when to see whether it
// has ended: that may be before the chore is done with.
func (cr *choreRunner) beginHarvest(ctx context.Context, h domain.Harvest) (again time.Time, err error) {
	soon := cr.cfg.Now().Add(cr.cfg.Lease)
	if h.Resume > 0 {
		_, err = cr.control.ResumeRun(ctx, h.Resume, h.Priority)
		if domain.CodeOf(err) != domain.CodeConflict {
			return soon, err
		}
		// Nothing of it can go on; a new run collects what is missing.
	}
	_, err = cr.control.StartRun(ctx, h.AccountID, domain.TriggerSchedule, h.Priority)
	if domain.CodeOf(err) == domain.CodeConflict {
		// One is under way; its end plans what follows.
		return time.Time{}, nil
	}
	return soon, err
}
