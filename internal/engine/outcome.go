package engine

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/state"
)

// settle returns the permit and turns a result into the outcome to commit.
func (e *Engine) settle(ctx context.Context, b *begun, r source.Result) state.Outcome {
	r.Quota.RetryAfter = max(r.Quota.RetryAfter, e.stayAway(r))
	// The count must be right even when the engine is being stopped.
	window := e.giveBack(context.WithoutCancel(ctx), b.permit, r.Quota, r.Free)
	if r.Verdict == source.PauseAccount && e.renewed(ctx, b) {
		r.Verdict = source.Wait
	}
	if window != nil {
		e.paces.saw(b.lease.Lane, b.permit.GrantedAt, e.cfg.Now(), window.Reset)
	}
	o := e.judge(b.lease.Lane, b.job, r)
	o.Window, o.Owner = window, e.ownerOf(ctx, b, r)
	if o.To == domain.JobReady && !o.CountFailure && o.NotBefore.After(o.At) {
		w := Wait{Reason: string(quota.ReasonRetryAfter), Until: o.NotBefore}
		if r.Failure != nil {
			w.Reason = r.Failure.Message
		}
		e.closeLane(ctx, b.lease.Lane, w)
	}
	return o
}

// ownerOf is the owner that the answer names, "" if it is the one that the call
// was counted with. What the answer said about the ration is about that owner.
func (e *Engine) ownerOf(ctx context.Context, b *begun, r source.Result) string {
	if r.Owner == "" {
		return ""
	}
	owner := e.Vault.Name(b.call.Run.Source + ":" + r.Owner)
	if owner == b.permit.Owner {
		return ""
	}
	ask := b.permit.Ask
	ask.Owner = owner
	ctx = context.WithoutCancel(ctx)
	window := e.giveBack(ctx, quota.Permit{Ask: ask, GrantedAt: b.permit.GrantedAt}, r.Quota, r.Free)
	if window != nil {
		// The outcome stores the window that the call was counted in; this is
		// the other one, and a crash must not forget it.
		if err := e.State.PutQuotaWindow(ctx, *window); err != nil {
			e.cfg.Log.Warn("store window", "owner", owner, "error", err)
		}
	}
	return owner
}

// giveBack ends a permit; one that the keeper does not take now is owed to it.
func (e *Engine) giveBack(ctx context.Context, p quota.Permit, r quota.Response, free bool) *domain.QuotaWindow {
	give := e.Quota.Settle
	if free {
		give = e.Quota.Refund
	}
	window, err := give(ctx, p, r)
	if err != nil {
		e.cfg.Log.Warn("settle", "owner", p.Owner, "error", err)
		e.errands.add("settle", func(ctx context.Context) error {
			_, err := give(ctx, p, r)
			return err
		})
	}
	return window
}

// renewed tells whether the account has got another credential since the call
// was begun: the upstream's verdict is about the old one then.
func (e *Engine) renewed(ctx context.Context, b *begun) bool {
	e.accounts.forget(b.job.AccountID)
	a, err := e.accounts.get(ctx, b.job.AccountID)
	return err == nil && a.token != b.call.Token
}

// stayAway is how long the whole owner is to be left alone after a limit.
func (e *Engine) stayAway(r source.Result) time.Duration {
	if r.Verdict == source.Wait {
		return r.RetryAfter
	}
	return 0
}

// judge applies the retry policy: see retryTable.
func (e *Engine) judge(lane string, job domain.Job, r source.Result) state.Outcome {
	now := e.cfg.Now()
	o := state.Outcome{Job: job.ID, Attempt: job.Attempt, At: now, Failure: r.Failure}
	switch r.Verdict {
	case source.Done:
		e.outages.over(lane)
		o.To, o.Items, o.Pages = domain.JobSucceeded, r.Items, r.Pages
		o.Documents, o.Next, o.Cursors, o.Stored, o.DropResource = r.Documents, r.Next, r.Cursors, r.Stored, r.Drop
		o.Absences = r.Absences
	case source.Wait:
		o.To, o.NotBefore = domain.JobReady, now.Add(r.RetryAfter)
	case source.Retry:
		e.retry(&o, lane, job, r, now)
	case source.FailRun:
		o.To, o.FailRun = domain.JobFailed, r.Failure.Message
	case source.PauseAccount:
		o.To, o.PauseAccount = domain.JobPaused, r.Failure.Message
	default:
		o.To, o.DropResource = domain.JobFailed, r.Drop
	}
	return o
}

// retry decides about a fault that the source thinks may pass. An upstream that
// cannot be reached at all is nobody's fault: its lane waits and no retry budget
// is used.
func (e *Engine) retry(o *state.Outcome, lane string, job domain.Job, r source.Result, now time.Time) {
	rule := retryTable[r.Failure.Kind]
	if rule.free && r.Free {
		o.To, o.NotBefore = domain.JobReady, e.outages.retryAt(lane, now)
		return
	}
	e.outages.over(lane)
	if !rule.tries || job.Failures+1 >= e.cfg.MaxAttempts {
		o.To, o.CountFailure = domain.JobFailed, true
		return
	}
	delay := max(r.RetryAfter, e.cfg.backoff(job.Failures))
	o.To, o.CountFailure, o.NotBefore = domain.JobReady, true, now.Add(delay)
}

// backoff doubles with every failure and is jittered over its upper half, so
// that jobs that failed together do not come back together.
func (c Config) backoff(failures int) time.Duration {
	d := c.BackoffMax
	if failures < 30 {
		d = min(c.BackoffBase<<failures, c.BackoffMax)
	}
	return d/2 + time.Duration(c.Random()*float64(d/2))
}
