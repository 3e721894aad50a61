package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/logs"
	"sluice/internal/quota"
)

// shortWait is how long a job waits at most for calls under way to be counted,
// and not for the next window.
const shortWait = time.Second

// parkOwner closes the lane of an owner whose ration does not allow the call. The
// job goes back to the front of it. If others of the lane may be lent what this
// job may not, it waits alone.
func (p *pool) parkOwner(ctx context.Context, t task, a account, d offer) {
	spent := (d.Reason == quota.ReasonPrimary || d.Reason == quota.ReasonFloor || d.Reason == quota.ReasonFloorAll) && d.RetryAt.Sub(p.cfg.Now()) > shortWait
	until := d.RetryAt
	if spent {
		until = until.Add(p.planner.quotaMargin(ctx, a))
		p.cfg.Notices.FloorReached(a.Account, string(d.Reason), d.RetryAt)
	}
	if wait := until.Sub(p.cfg.Now()); wait > shortWait {
		p.cfg.Log.Info("a job waits for its quota", "run", t.job.RunID, "job", t.job.ID, "account", t.job.AccountID, "owner", a.Owner,
			"reason", d.Reason, "wait", wait, logs.CorrelationAttribute, t.origin.ID)
	}
	lane, wait := dispatch.Lane(a.Owner, t.job.Bucket), Wait{Reason: string(d.Reason), Until: until}
	if spent && d.alone || d.Alone {
		p.waits.set(lane, wait)
		p.delivery.release(ctx, []dispatch.Lease{t.lease}, until)
		return
	}
	p.delivery.closeLane(ctx, lane, wait)
	raised := spent && t.lease.Priority == domain.PriorityLow && p.raisePriority(ctx, t.job.RunID)
	p.delivery.release(ctx, []dispatch.Lease{t.lease}, time.Time{})
	if raised || lane != t.lease.Lane {
		p.delivery.requeueJob(ctx, t.job)
	}
}

// raisePriority lets a run that waits for its ration go on before others when it is
// there again. It reports whether the run has priority then.
func (p *pool) raisePriority(ctx context.Context, id int64) bool {
	run, err := p.runs.get(ctx, id)
	if err == nil && run.Priority != domain.PriorityHigh {
		_, err = p.control.SetRunPriority(ctx, id, domain.PriorityHigh)
	}
	if err != nil && ctx.Err() == nil {
		// It waits all the same, only not before others.
		p.cfg.Log.Warn("a run that waits for quota could not be raised", "run", id, "error", err)
	}
	return err == nil
}
