package engine

import (
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/state"
)

// accountPauser keeps the jobs of an account from being begun.
type accountPauser interface {
	PauseAccount(ctx context.Context, id int64, reason string) error
}

// outcomePolicy decides what becomes of a job whose call was answered.
type outcomePolicy struct {
	*core
	delivery *delivery
	permits  *permits
	control  accountPauser
	outages  *outages
}

func newOutcomePolicy(c *core, d *delivery, ps *permits, control accountPauser) *outcomePolicy {
	return &outcomePolicy{core: c, delivery: d, permits: ps, control: control, outages: newOutages(c.cfg)}
}

// toOutcome returns the permit and turns a result into the outcome to commit.
func (op *outcomePolicy) toOutcome(ctx context.Context, b *claimedJob, r source.Result) state.Outcome {
	r.RetryAfter = min(r.RetryAfter, quota.LongestPark)
	r.Quota.RetryAfter = max(r.Quota.RetryAfter, ownerBackoff(r))
	r.Quota.Succeeded = r.Verdict == source.Done
	if b.local {
		return op.localOutcome(b, r)
	}
	lent := b.caller.ID != b.job.AccountID
	if r.Verdict == source.PauseAccount && lent {
		// Before the permit is given back, with which others might be lent it.
		op.permits.loans.refused(b.caller, op.cfg.Now())
	}
	// The count must be right even when the engine is being stopped.
	op.permits.endPermit(context.WithoutCancel(ctx), b.permit, r.Quota, r.Free)
	if r.Verdict == source.PauseAccount && lent {
		r = op.lenderRefused(ctx, b, r)
	} else if r.Verdict == source.PauseAccount && op.credentialRenewed(ctx, b) {
		r.Verdict = source.Wait
	}
	// Without a ration permits have no number, and lanes a pace nevertheless.
	if !b.permit.GrantedAt.IsZero() {
		op.paces.Observe(b.lease.Lane, b.permit.GrantedAt, op.cfg.Now(), resetOf(r.Quota, op.cfg.Now()))
	}
	o := op.applyRetryPolicy(b.lease.Lane, b.job, r)
	if o.FailRun != "" && r.Failure.Kind == domain.FailureNotFound && op.accountStaysMissing(ctx, b.job) {
		o.PauseAccount = r.Failure.Message + "; sign up under the right login, or resume the account when it exists"
	}
	o.Owner = op.ownerOf(ctx, b, r)
	if a, err := op.accounts.get(ctx, b.job.AccountID); err == nil && a.Target != r.Target {
		o.Target = r.Target
	}
	if o.To == domain.JobReady && !o.CountFailure && o.NotBefore.After(o.At) {
		w := Wait{Reason: string(quota.ReasonRetryAfter), Until: o.NotBefore}
		if r.Failure != nil {
			w.Reason = r.Failure.Message
		}
		op.delivery.closeLane(ctx, b.lease.Lane, w)
	}
	return o
}

// localOutcome is toOutcome for a job that makes no call: there is no permit, and what
// it waits for is nothing that others of its lane wait for.
func (op *outcomePolicy) localOutcome(b *claimedJob, r source.Result) state.Outcome {
	o := op.applyRetryPolicy(b.lease.Lane, b.job, r)
	if r.WaitsFor != "" && o.To == domain.JobReady {
		op.waits.set(localWait(b.lease.Lane, b.job.RunID), Wait{Reason: r.WaitsFor, Until: o.NotBefore})
	}
	return o
}

// accountStaysMissing tells whether to believe that there is nobody to be collected:
// in an account's first run, whose login may be mistyped, at once; in later
// ones when the run before found nobody either. Asking on and on would not
// change it.
func (op *outcomePolicy) accountStaysMissing(ctx context.Context, job domain.Job) bool {
	runs, err := op.State.Runs.Runs(ctx, state.RunQuery{AccountID: job.AccountID, BeforeID: job.RunID, Limit: 1})
	return err == nil && (len(runs) == 0 || runs[0].Status == domain.RunFailed)
}

// ownerOf is the owner that the answer names, "" if it is the one that the call
// was counted with. What the answer said about the ration is about that owner.
func (op *outcomePolicy) ownerOf(ctx context.Context, b *claimedJob, r source.Result) string {
	if r.Owner == "" {
		return ""
	}
	owner := op.Vault.Name(b.call.Run.Source + ":" + r.Owner)
	if owner == b.permit.Owner {
		return ""
	}
	ask := b.permit.Ask
	ask.Owner = owner
	ctx = context.WithoutCancel(ctx)
	op.permits.endPermit(ctx, quota.Permit{Ask: ask, GrantedAt: b.permit.GrantedAt}, r.Quota, r.Free)
	return owner
}

// credentialRenewed tells whether the account has got another credential since the call
// was begun: the upstream's verdict is about the old one then.
func (op *outcomePolicy) credentialRenewed(ctx context.Context, b *claimedJob) bool {
	op.accounts.forget(b.job.AccountID)
	a, err := op.accounts.get(ctx, b.job.AccountID)
	return err == nil && a.unreadable == nil && a.token != b.call.Token
}

// resetOf is when a window ends by our clock as an answer told that came now, zero if it
// did not.
func resetOf(r quota.Response, now time.Time) time.Time {
	if r.Reset.IsZero() || r.Date.IsZero() {
		return r.Reset
	}
	return now.Add(r.Reset.Sub(r.Date))
}

// ownerBackoff is how long the whole owner is to be left alone after a limit.
func ownerBackoff(r source.Result) time.Duration {
	if r.Verdict == source.Wait {
		return r.RetryAfter
	}
	return 0
}

// applyRetryPolicy applies the retry policy: see retryTable.
func (op *outcomePolicy) applyRetryPolicy(lane string, job domain.Job, r source.Result) state.Outcome {
	now := op.cfg.Now()
	o := state.Outcome{Job: job.ID, Attempt: job.Attempt, At: now, Failure: r.Failure}
	switch r.Verdict {
	case source.Done:
		op.outages.over(lane)
		o.To, o.Items, o.Pages = domain.JobSucceeded, r.Items, r.Pages
		o.Documents, o.Next, o.Cursors, o.Stored, o.DropResource = r.Documents, r.Next, r.Cursors, r.Stored, r.Drop
		o.Absences = r.Absences
	case source.Wait:
		o.To, o.NotBefore = domain.JobReady, now.Add(r.RetryAfter)
	case source.Retry:
		op.decideRetry(&o, lane, job, r, now)
	case source.FailRun:
		o.To, o.FailRun = domain.JobFailed, r.Failure.Message
	case source.PauseAccount:
		o.To, o.PauseAccount = domain.JobPaused, r.Failure.Message
	default:
		o.To, o.DropResource = domain.JobFailed, r.Drop
	}
	return o
}

// decideRetry decides about a fault that the source thinks may pass. An upstream that
// cannot be reached at all is nobody's fault: its lane waits and no retry budget
// is used.
func (op *outcomePolicy) decideRetry(o *state.Outcome, lane string, job domain.Job, r source.Result, now time.Time) {
	rule := retryTable[r.Failure.Kind]
	if rule.freeIfUnsent && r.Free {
		o.To, o.NotBefore = domain.JobReady, op.outages.retryAt(lane, now)
		return
	}
	op.outages.over(lane)
	if !rule.retryable || job.Failures+1 >= op.cfg.MaxAttempts {
		o.To, o.CountFailure = domain.JobFailed, true
		return
	}
	delay := max(r.RetryAfter, op.cfg.backoff(job.Failures))
	o.To, o.CountFailure, o.NotBefore = domain.JobReady, true, now.Add(delay)
}

// backoff doubles with every failure and is jittered over its upper half, so
// that jobs that failed together do not come back together.
func (c Config) backoff(failures int) time.Duration {
	return backoff.Delays{First: c.BackoffBase, Longest: c.BackoffMax, Spread: backoff.Upper, Random: c.Random}.Delay(failures)
}

// lenderRefused deals with a lent credential that the upstream does not accept:
// the account that it belongs to is paused, and the job goes on without it.
func (op *outcomePolicy) lenderRefused(ctx context.Context, b *claimedJob, r source.Result) source.Result {
	ctx = context.WithoutCancel(ctx)
	op.accounts.forget(b.caller.ID)
	lender, err := op.accounts.get(ctx, b.caller.ID)
	if err == nil && lender.token == b.call.Token && lender.State == domain.AccountActive {
		reason := "the token of " + lender.Login + " is not accepted any more: a call that it was lent for to " + b.call.Run.Login +
			" was refused; renew it to go on"
		if err = op.control.PauseAccount(ctx, lender.ID, reason); err == nil {
			op.cfg.Log.Warn("an account was paused: its lent credential is not accepted", "account", lender.ID, "login", lender.Login, "reason", reason)
		}
	}
	if err != nil {
		op.cfg.Log.Error("the account of a lent credential that is not accepted could not be paused", "account", b.caller.ID, "error", err)
	}
	return source.Result{Verdict: source.Wait, Quota: r.Quota}
}
