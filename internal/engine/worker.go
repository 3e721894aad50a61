package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/logs"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/state"
)

// claimedJob is a job that is reserved and claimed: its call may be made.
type claimedJob struct {
	task
	permit quota.Permit
	// asked is when the permit was asked for.
	asked time.Time
	// caller is the account whose credential makes the call.
	caller account
	source source.Source
	call   source.Call
	// local says that no call is made.
	local bool
}

// runWorker is one worker: one call at a time until the feeder stops. While the
// outcome of a call is being written the next job is claimed, so that both
// share one fsync; the next call begins when the outcome is on disk.
func (p *pool) runWorker(feed, hard context.Context) {
	var next *claimedJob
	ahead := p.newPreparer(feed, hard)
	defer close(ahead.tasks)
	for {
		if next == nil {
			t, ok := <-p.tasks
			if !ok {
				return
			}
			if next = p.reserveOrReturn(feed, hard, t); next == nil {
				continue
			}
		}
		if feed.Err() != nil || olderThan(staleGrant, next.asked, p.cfg.Now()) {
			p.handBackClaimed(hard, next)
			next = nil
			continue
		}
		began := p.cfg.Now()
		if !next.local {
			p.counters.Calls.Add(1)
		}
		p.startSpan(hard, next)
		result := p.call(hard, next)
		answered := p.cfg.Now()
		outcome := p.policy.toOutcome(hard, next, result)
		prepared := ahead.begin(p.tasks)
		p.commits.commitOutcome(hard, next.task, outcome)
		next.span.End()
		p.freeSlot(next.lease)
		p.recordTurn(next, Turn{Verdict: result.Verdict, To: outcome.To, Began: began, Answered: answered, Ended: p.cfg.Now()})
		p.expects.look(hard, next.job.RunID)
		next = nil
		if prepared {
			next = <-ahead.jobs
		}
	}
}

// staleGrant is how old a grant may be when its call is about to be made. Keepers
// that lose what they know take calls of before to be over after half a minute, and
// holders of permits to be gone after some minutes. A process that stood still
// meanwhile, or waited for its database, would make its call in a window that has
// no place for it.
const staleGrant = 10 * time.Second

// olderThan tells whether more than d passed between two instants, by the clock
// that may be set or by the one that stands still while a machine sleeps.
func olderThan(d time.Duration, from, to time.Time) bool {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0))) > d
}

// startSpan begins the span of a job, below that of the request which began its
// run.
func (p *pool) startSpan(ctx context.Context, b *claimedJob) {
	if p.cfg.Tracer == nil {
		return
	}
	_, b.span = p.cfg.Tracer.StartJob(ctx, "job "+b.job.Type, b.origin.Trace)
	b.span.Int("run", b.job.RunID).Int("job", b.job.ID).Int("attempt", b.job.Attempt).Text("resource", b.job.Resource).
		Text(logs.CorrelationAttribute, b.origin.ID)
}

// call makes the one call of a job.
func (p *pool) call(ctx context.Context, b *claimedJob) source.Result {
	traced, span := p.cfg.Tracer.StartCall(ctx, "call", b.span)
	began := p.cfg.Now()
	result := b.source.Call(traced, b.call)
	b.took = p.cfg.Now().Sub(began)
	span.Text("source", b.call.Run.Source).Text("verdict", result.Verdict.String()).Failed(failureText(result.Failure)).End()
	if p.cfg.Log.Enabled(ctx, slog.LevelDebug) {
		p.cfg.Log.Debug("an upstream call was answered", "run", b.job.RunID, "job", b.job.ID, "type", b.job.Type, "verdict", result.Verdict,
			"took", b.took, logs.CorrelationAttribute, b.origin.ID)
	}
	return result
}

func failureText(f *domain.Failure) string {
	if f == nil {
		return ""
	}
	return f.Message
}

// freeSlot says that a lease is done with, however it went.
func (p *pool) freeSlot(l dispatch.Lease) {
	p.renewer.drop(l)
	p.slots <- struct{}{}
}

// preparer claims the next job of a worker while that writes the outcome of the
// last one. It lives as long as the worker: a goroutine for each job would have to
// grow its stack for each.
type preparer struct {
	tasks chan task
	jobs  chan *claimedJob
}

func (p *pool) newPreparer(feed, hard context.Context) *preparer {
	a := &preparer{make(chan task), make(chan *claimedJob, 1)}
	go func() {
		for t := range a.tasks {
			a.jobs <- p.reserveOrReturn(feed, hard, t)
		}
	}()
	return a
}

// begin takes a task that already waits, if there is one, and reports whether there
// is: what became of it is then to be read from jobs.
func (a *preparer) begin(waiting <-chan task) bool {
	select {
	case t, ok := <-waiting:
		if ok {
			a.tasks <- t
		}
		return ok
	default:
		return false
	}
}

// reserveOrReturn brings one job through reserve and claim. It returns nil when that did
// not work out; the job is then left as it was and the task is done with.
func (p *pool) reserveOrReturn(feed, hard context.Context, t task) *claimedJob {
	var b *claimedJob
	switch {
	case feed.Err() != nil:
		p.delivery.release(hard, []dispatch.Lease{t.lease}, time.Time{})
	case t.job.Status.Ended() || t.job.Status == domain.JobPaused:
		p.completeRedelivered(hard, t)
	default:
		b = p.reserveAndClaim(hard, t)
	}
	if b == nil {
		p.freeSlot(t.lease)
	}
	return b
}

func (p *pool) reserveAndClaim(ctx context.Context, t task) *claimedJob {
	if t.job.Status == domain.JobRunning && p.takeOver(ctx, t) {
		return nil
	}
	account, run, src, err := p.jobContext(ctx, t.job)
	if err != nil {
		p.delivery.postponeForStore(ctx, t, "the account or run of a job could not be read; trying again soon", err)
		return nil
	}
	t.origin = run.origin
	if account.unreadable != nil {
		p.pauseForCredential(ctx, t)
		return nil
	}
	asked, local := p.cfg.Now(), t.job.Bucket == domain.LocalBucket
	decision := offer{Decision: quota.Decision{Granted: true}, caller: account}
	if !local {
		decision, err = p.permits.reserve(ctx, src, t.job.JobSpec, t.lease.Priority, account)
	}
	if err != nil {
		p.delivery.postpone(ctx, t, "the quota keeper did not answer for a job; trying again soon", err)
		return nil
	}
	if !decision.Granted {
		p.parkOwner(ctx, t, account, decision)
		return nil
	}
	claim := state.Claim{Job: t.job.ID, Attempt: t.job.Attempt, Account: account.Version, At: p.cfg.Now(), Local: local}
	if err = p.State.Jobs.Claim(ctx, claim); err != nil {
		p.permits.refund(ctx, decision.Permit)
		p.claimFailed(ctx, t, err)
		return nil
	}
	if t.job.Status == domain.JobRunning {
		// Who vanished may not have told what it did.
		p.cfg.Notices.Changed(time.Time{})
		p.cfg.Log.Warn("a job was taken over from a worker that vanished", "run", t.job.RunID, "job", t.job.ID, "account", t.job.AccountID,
			"owner", t.lease.Lane, "attempt", t.job.Attempt+1, "lost", t.job.Lost+1, logs.CorrelationAttribute, t.origin.ID)
	}
	if due := t.job.NotBefore; !due.IsZero() {
		p.cfg.Log.Debug("a delayed job is due", "run", t.job.RunID, "job", t.job.ID, "account", t.job.AccountID,
			"owner", t.lease.Lane, "not_before", due, "late", p.cfg.Now().Sub(due), logs.CorrelationAttribute, t.origin.ID)
	}
	t.job.Status = domain.JobRunning
	t.job.Attempt++
	call := p.buildCall(ctx, run, t.job)
	call.Token = decision.caller.token
	return &claimedJob{task: t, permit: decision.Permit, asked: asked, caller: decision.caller, source: src, call: call, local: local}
}

// pauseForCredential pauses the account of a job whose credential cannot be opened, and
// the job with it. It goes on when the account is resumed.
func (p *pool) pauseForCredential(ctx context.Context, t task) {
	if err := p.control.pauseUnreadable(ctx, t.job.AccountID); err != nil && domain.CodeOf(err) != domain.CodeConflict {
		p.delivery.postponeForStore(ctx, t, "an account whose credential cannot be opened could not be paused; trying again soon", err)
		return
	}
	p.delivery.deferToOwner(ctx, t)
}

// handBackClaimed undoes a claim whose call will not be made by this process.
func (p *pool) handBackClaimed(ctx context.Context, b *claimedJob) {
	p.permits.refund(ctx, b.permit)
	p.commits.commitOutcome(ctx, b.task, state.Outcome{Job: b.job.ID, Attempt: b.job.Attempt, At: p.cfg.Now(), To: domain.JobReady})
	p.freeSlot(b.lease)
}

// completeRedelivered finishes what a dead worker left undone after its commit: the
// children may not have been dispatched.
func (p *pool) completeRedelivered(ctx context.Context, t task) {
	children, err := p.State.Jobs.Children(ctx, t.job.ID)
	if err != nil {
		p.delivery.postpone(ctx, t, "the jobs that follow a job could not be read; trying again soon", err)
		return
	}
	if err := p.delivery.pushJobs(ctx, children); err != nil {
		p.delivery.postpone(ctx, t, "dispatch does not take the jobs that follow a job; trying again soon", err)
		return
	}
	if err := p.control.ensureStatistics(ctx, t.job.RunID); err != nil {
		p.delivery.postpone(ctx, t, "the run of a job could not be continued; trying again soon", err)
		return
	}
	p.delivery.ackAndRecheck(ctx, t)
}

func (p *pool) claimFailed(ctx context.Context, t task, err error) {
	switch domain.CodeOf(err) {
	case domain.CodeStale:
		// It may be the account that is not what it was.
		p.accounts.forget(t.job.AccountID)
		p.delivery.deferToOwner(ctx, t)
		return
	case domain.CodeCorrupt:
		p.halt(fmt.Errorf("the store does not let job %d of run %d be claimed: %w", t.job.ID, t.job.RunID, err))
	}
	p.delivery.postponeForStore(ctx, t, "the store does not let a job be claimed; trying again soon", err)
}
