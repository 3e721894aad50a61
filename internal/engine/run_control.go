package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/logs"
	"sluice/internal/state"
)

// runControl begins, changes and ends runs, and pauses accounts.
type runControl struct {
	*core
	delivery *delivery
}

func newRunControl(c *core, d *delivery) *runControl { return &runControl{core: c, delivery: d} }

// ResumeRun lets a run that ended with failures go on from its failed jobs, as
// far as they may succeed now.
func (r *runControl) ResumeRun(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	return r.changeRun(ctx, id, func(a domain.Account) ([]domain.JobRef, error) {
		if a.State.Gone() {
			return nil, domain.Errorf(domain.CodeConflict, "account %s is %s: %s", a.Login, a.State, a.Reason)
		}
		return r.State.Runs.ResumeRun(ctx, id, p, passingFailureKinds())
	})
}

// SetRunPriority raises or lowers an active run, with everything of it that
// waits.
func (r *runControl) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	return r.changeRun(ctx, id, func(domain.Account) ([]domain.JobRef, error) { return r.State.Runs.SetRunPriority(ctx, id, p) })
}

// changeRun changes a run and lets dispatch know what waits of it now.
func (r *runControl) changeRun(ctx context.Context, id int64, change func(domain.Account) ([]domain.JobRef, error)) (domain.Run, error) {
	run, err := r.State.Runs.Run(ctx, id)
	if err != nil {
		return run, err
	}
	a, err := r.State.Accounts.Account(ctx, run.AccountID)
	if err != nil {
		return run, err
	}
	done, err := r.delivery.recordIntent(ctx, run.AccountID)
	if err != nil {
		return run, err
	}
	refs, err := change(a)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnavailable {
			// It may have been done; then jobs wait that dispatch does not know.
			r.retries.add(dispatchOwed, r.delivery.dispatchThen(run.AccountID, done))
		} else {
			done()
		}
		return run, err
	}
	r.runs.forget(id)
	r.dispatchOrRetry(ctx, func(ctx context.Context) error {
		if err := r.delivery.requeueJobs(ctx, refs); err != nil {
			return err
		}
		// It may lack nothing but its statistics.
		if err := r.ensureStatistics(ctx, id); err != nil {
			return err
		}
		done()
		return nil
	})
	r.watchers.Notify()
	return r.State.Runs.Run(ctx, id)
}

// continueRun goes on with a run that waits to be planned or to be finished.
func (r *runControl) continueRun(ctx context.Context, run domain.Run) (did bool, err error) {
	switch run.Status {
	case domain.RunCreated, domain.RunPlanning:
		err = r.planRun(ctx, run)
		if domain.CodeOf(err) == domain.CodeIllegalMove {
			// Another process was quicker.
			return false, nil
		}
		return true, err
	case domain.RunFinalizing:
		return true, r.Dispatch.Push(ctx, choreFor(choreStatistics, run.ID).entry(time.Time{}))
	case domain.RunFailed:
		return false, r.delivery.planHarvestSoon(ctx, run.AccountID)
	}
	return false, nil
}

// StartRun begins a collection of an account: every trigger ends up here. If
// one is under way it is returned with an error of code conflict.
func (r *runControl) StartRun(ctx context.Context, account int64, by domain.Trigger, p domain.Priority) (domain.Run, error) {
	return r.startRun(ctx, account, by, p, "")
}

func (r *runControl) startRun(ctx context.Context, account int64, by domain.Trigger, p domain.Priority, delivery string) (domain.Run, error) {
	if !by.Valid() {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "%q is not a trigger", by)
	}
	a, err := r.State.Accounts.Account(ctx, account)
	if err != nil {
		return domain.Run{}, err
	}
	if a.State != domain.AccountActive {
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "account %s is %s: %s", a.Login, a.State, a.Reason)
	}
	if _, err := r.source(a.Source); err != nil {
		return domain.Run{}, err
	}
	if err := r.pauseUnreadable(ctx, account); err != nil {
		return domain.Run{}, err
	}
	done, err := r.delivery.recordIntent(ctx, account)
	if err != nil {
		return domain.Run{}, err
	}
	run, err := r.createRun(ctx, state.RunSpec{AccountID: account, Trigger: by, Priority: p, Anchor: r.cfg.Now(), Delivery: delivery})
	if by != domain.TriggerWebhook {
		run, err = r.afterEvents(ctx, run, err, func() (domain.Run, error) {
			return r.createRun(ctx, state.RunSpec{AccountID: account, Trigger: by, Priority: p, Anchor: r.cfg.Now(), Delivery: delivery})
		})
	}
	if err != nil {
		if run.Status == domain.RunCreated || run.Status == domain.RunPlanning {
			// Whoever created it may not have come to planning it.
			err = errors.Join(err, r.planRunSoon(ctx, run, done))
		} else if domain.CodeOf(err) != domain.CodeUnavailable {
			done()
		}
		return run, err
	}
	r.counters.RunsStarted.Add(1)
	r.noteOrigin(ctx, run.ID)
	if err := r.planRunSoon(ctx, run, done); err != nil {
		return run, err
	}
	// It was started, whether or not its row can be read now.
	if planned, err := r.State.Runs.Run(ctx, run.ID); err == nil {
		run = planned
	}
	return run, nil
}

// createTries bounds how often a run is tried to be created: somebody waits
// for the answer.
const createTries = 4

// createRun creates a run. When the store's answer is lost, the run that
// collects up to the same instant is the one that was created.
func (r *runControl) createRun(ctx context.Context, spec state.RunSpec) (domain.Run, error) {
	// Stores keep microseconds.
	spec.Anchor = spec.Anchor.Truncate(time.Microsecond)
	run, err := r.State.Runs.CreateRun(ctx, spec)
	for try := 1; try < createTries && domain.CodeOf(err) == domain.CodeUnavailable; try++ {
		if !backoff.Sleep(ctx, backendDelays.Delay(try-1)) {
			return run, err
		}
		run, err = r.State.Runs.CreateRun(ctx, spec)
		if domain.CodeOf(err) == domain.CodeConflict && run.Anchor.Equal(spec.Anchor) {
			return run, nil
		}
	}
	return run, err
}

// planOwed is what is logged while a run waits to be planned.
const planOwed = "a run could not be planned, as the store is unavailable; trying again"

// planRunSoon plans a run, now or as soon as the store allows, and calls done
// then. It returns an error only if the run cannot be planned at all.
func (r *runControl) planRunSoon(ctx context.Context, run domain.Run, done func()) error {
	err := r.planRun(ctx, run)
	if domain.CodeOf(err) != domain.CodeUnavailable {
		done()
		return err
	}
	r.cfg.Log.Error(planOwed, "run", run.ID, "account", run.AccountID, "error", err)
	r.retries.add(planOwed, func(ctx context.Context) error {
		if err := r.planRun(ctx, run); domain.CodeOf(err) == domain.CodeUnavailable {
			return err
		}
		done()
		return nil
	})
	return nil
}

// planRun creates a run's first jobs. It can be repeated after an interruption.
func (r *runControl) planRun(ctx context.Context, run domain.Run) error {
	if _, err := r.source(run.Source); err != nil {
		return err
	}
	a, err := r.accounts.get(ctx, run.AccountID)
	if err != nil {
		return err
	}
	specs, err := r.plan(a, run)
	if err != nil {
		ended, failErr := r.State.Runs.FailRun(ctx, run.ID, err.Error())
		if failErr != nil {
			return failErr
		}
		r.reportRunEnd(ended)
		return errors.Join(err, r.delivery.planHarvestSoon(ctx, run.AccountID))
	}
	refs, err := r.State.Runs.PlanRun(ctx, run.ID, specs)
	if err != nil {
		return err
	}
	r.cfg.Log.Info("a run has started", "run", run.ID, "account", run.AccountID, "login", run.Login, "trigger", run.Trigger, "jobs", len(refs),
		logs.CorrelationAttribute, r.originOf(ctx, run.ID).ID)
	r.watchers.Notify()
	return r.delivery.pushJobs(ctx, refs)
}

// plan are the first jobs of a run.
func (r *runControl) plan(a account, run domain.Run) ([]domain.JobSpec, error) {
	src, err := r.sourceOf(a)
	if err != nil {
		return nil, err
	}
	return src.Plan(run)
}

// CancelRun ends a run; calls under way finish and their results are dropped.
func (r *runControl) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	run, err := r.State.Runs.CancelRun(ctx, id, reason)
	if err != nil {
		return run, err
	}
	r.reportRunEnd(run)
	r.dispatchOrRetry(ctx, func(ctx context.Context) error { return r.delivery.planHarvestSoon(ctx, run.AccountID) })
	return run, nil
}

// PauseAccount keeps an account's jobs from being begun until it is resumed.
func (r *runControl) PauseAccount(ctx context.Context, id int64, reason string) error {
	if err := r.refuseIfPurged(ctx, id); err != nil {
		return err
	}
	refs, err := r.State.Accounts.SetAccountState(ctx, id, domain.AccountPaused, reason)
	if err != nil {
		return err
	}
	ids := make([]int64, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	r.accounts.forget(id)
	r.cfg.Notices.Changed(r.cfg.Now())
	r.watchers.Notify()
	return r.Dispatch.Remove(ctx, dispatch.JobIDs(ids)...)
}

// pauseUnreadable pauses an account whose credential cannot be opened, or must not be
// shown where its source is now, and says why; it returns nil if it can be used.
func (r *runControl) pauseUnreadable(ctx context.Context, id int64) error {
	a, err := r.accounts.get(ctx, id)
	if err != nil {
		return err
	}
	why := a.unreadable
	if why == nil {
		if _, why = r.sourceOf(a); domain.CodeOf(why) != domain.CodeConflict {
			return why
		}
	}
	r.cfg.Log.Error("an account was paused: its credential cannot be used", "account", a.ID, "login", a.Login, "error", why)
	if err := r.PauseAccount(ctx, id, why.Error()); err != nil {
		return fmt.Errorf("pause account %s: %w", a.Login, err)
	}
	return why
}

// storeRunEnd moves a run to its last state.
func (r *runControl) storeRunEnd(ctx context.Context, id int64, move func() (domain.Run, error)) error {
	var run domain.Run
	err := r.retryUntilStored(ctx, id, func() (err error) {
		run, err = move()
		return err
	})
	if err == nil {
		r.reportRunEnd(run)
	}
	return err
}

func (r *runControl) reportRunEnd(run domain.Run) {
	origin := r.runs.origin(run.ID)
	r.runs.forget(run.ID)
	r.cfg.Log.Info("run ended", "run", run.ID, "account", run.AccountID, "login", run.Login, "status", run.Status, "reason", run.Reason,
		"calls", run.Calls, "succeeded_jobs", run.Succeeded, "failed_jobs", run.Failed, "took", run.FinishedAt.Sub(run.CreatedAt),
		logs.CorrelationAttribute, origin.ID)
	if run.Status == domain.RunFailed || run.Failed > 0 {
		r.cfg.Notices.Changed(run.FinishedAt)
	}
	r.counters.RunsEnded.Add(1)
	r.watchers.Notify()
}

// ensureStatistics sees to it that a run whose last job has ended gets its
// statistics: the worker that ended it may have died before it said so.
func (r *runControl) ensureStatistics(ctx context.Context, id int64) error {
	run, err := r.State.Runs.Run(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.continueRun(ctx, run)
	return err
}
