package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/state"
)

// Signup names an account to collect and the credential to do it with.
type Signup struct {
	Source, Login, Token string
}

// credentialOwner is the record a credential is sealed for.
func credentialOwner(source, login string) string { return source + ":" + strings.ToLower(login) }

// PutAccount stores an account and its credential, or renews the credential of
// one that exists; if that was paused, its jobs go on. It makes no call and
// starts no run.
func (e *Engine) PutAccount(ctx context.Context, s Signup) (domain.Account, error) {
	src, err := e.source(s.Source)
	if err != nil {
		return domain.Account{}, err
	}
	if err := src.CheckLogin(s.Login); err != nil {
		return domain.Account{}, err
	}
	if s.Token == "" {
		return domain.Account{}, domain.Errorf(domain.CodeInvalid, "account %s needs a token", s.Login)
	}
	if checker, ok := src.(source.CredentialChecker); ok {
		if s.Token, err = checker.CheckCredential(s.Token); err != nil {
			return domain.Account{}, err
		}
	}
	sealed, err := e.Vault.Seal(s.Token, credentialOwner(s.Source, s.Login))
	if err != nil {
		return domain.Account{}, err
	}
	a, err := e.State.PutAccount(ctx, state.AccountSpec{
		Source: s.Source, Login: s.Login, Name: e.Vault.Name(s.Source + ":" + s.Token), Credential: sealed,
	})
	if err != nil {
		return domain.Account{}, err
	}
	e.accounts.forget(a.ID)
	e.watchers.Notify()
	// Jobs that were paused for the old credential go on with the new one.
	if err := e.ResumeAccount(ctx, a.ID); err != nil {
		return domain.Account{}, err
	}
	return a, nil
}

// Signup stores an account and starts its first run.
func (e *Engine) Signup(ctx context.Context, s Signup) (domain.Account, domain.Run, error) {
	a, err := e.PutAccount(ctx, s)
	if err != nil {
		return domain.Account{}, domain.Run{}, err
	}
	run, err := e.StartRun(ctx, a.ID, domain.TriggerSignup, domain.PriorityHigh)
	return a, run, err
}

// StartRun begins a collection of an account: every trigger ends up here. If
// one is under way it is returned with an error of code conflict.
func (e *Engine) StartRun(ctx context.Context, account int64, by domain.Trigger, p domain.Priority) (domain.Run, error) {
	if !by.Valid() {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "%q is not a trigger", by)
	}
	a, err := e.State.Account(ctx, account)
	if err != nil {
		return domain.Run{}, err
	}
	if a.State != domain.AccountActive {
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "account %s is %s: %s", a.Login, a.State, a.Reason)
	}
	if _, err := e.source(a.Source); err != nil {
		return domain.Run{}, err
	}
	done, err := e.guard(ctx, account)
	if err != nil {
		return domain.Run{}, err
	}
	run, err := e.createRun(ctx, state.RunSpec{AccountID: account, Trigger: by, Priority: p, Anchor: e.cfg.Now()})
	if err != nil {
		if run.Status == domain.RunCreated || run.Status == domain.RunPlanning {
			// Whoever created it may not have come to planning it.
			err = errors.Join(err, e.planSoon(ctx, run, done))
		} else if domain.CodeOf(err) != domain.CodeUnavailable {
			done()
		}
		return run, err
	}
	e.counters.RunsStarted.Add(1)
	if err := e.planSoon(ctx, run, done); err != nil {
		return run, err
	}
	// It was started, whether or not its row can be read now.
	if planned, err := e.State.Run(ctx, run.ID); err == nil {
		run = planned
	}
	return run, nil
}

// createTries bounds how often a run is tried to be created: somebody waits
// for the answer.
const createTries = 4

// createRun creates a run. When the store's answer is lost, the run that
// collects up to the same instant is the one that was created.
func (e *Engine) createRun(ctx context.Context, spec state.RunSpec) (domain.Run, error) {
	// Stores keep microseconds.
	spec.Anchor = spec.Anchor.Truncate(time.Microsecond)
	run, err := e.State.CreateRun(ctx, spec)
	for try, delay := 1, firstDelay; try < createTries && domain.CodeOf(err) == domain.CodeUnavailable; try, delay = try+1, 2*delay {
		if !pause(ctx, delay) {
			return run, err
		}
		run, err = e.State.CreateRun(ctx, spec)
		if domain.CodeOf(err) == domain.CodeConflict && run.Anchor.Equal(spec.Anchor) {
			return run, nil
		}
	}
	return run, err
}

// planSoon plans a run, now or as soon as the store allows, and calls done
// then. It returns an error only if the run cannot be planned at all.
func (e *Engine) planSoon(ctx context.Context, run domain.Run, done func()) error {
	err := e.plan(ctx, run)
	if domain.CodeOf(err) != domain.CodeUnavailable {
		done()
		return err
	}
	e.cfg.Log.Error("plan", "run", run.ID, "error", err)
	e.errands.add("plan", func(ctx context.Context) error {
		if err := e.plan(ctx, run); domain.CodeOf(err) == domain.CodeUnavailable {
			return err
		}
		done()
		return nil
	})
	return nil
}

// plan creates a run's first jobs. It can be repeated after an interruption.
func (e *Engine) plan(ctx context.Context, run domain.Run) error {
	src, err := e.source(run.Source)
	if err != nil {
		return err
	}
	specs, err := src.Plan(run)
	if err != nil {
		ended, failErr := e.State.FailRun(ctx, run.ID, err.Error())
		if failErr != nil {
			return failErr
		}
		e.ended(ended)
		return errors.Join(err, e.afterEnd(ctx, run.AccountID))
	}
	refs, err := e.State.PlanRun(ctx, run.ID, specs)
	if err != nil {
		return err
	}
	e.cfg.Log.Info("run started", "run", run.ID, "account", run.Login, "trigger", run.Trigger, "jobs", len(refs))
	e.watchers.Notify()
	return e.push(ctx, refs)
}

// CancelRun ends a run; calls under way finish and their results are dropped.
func (e *Engine) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	run, err := e.State.CancelRun(ctx, id, reason)
	if err != nil {
		return run, err
	}
	e.ended(run)
	e.deliverSoon(ctx, func(ctx context.Context) error { return e.afterEnd(ctx, run.AccountID) })
	return run, nil
}

// PauseAccount keeps an account's jobs from being begun until it is resumed.
func (e *Engine) PauseAccount(ctx context.Context, id int64, reason string) error {
	refs, err := e.State.SetAccountState(ctx, id, domain.AccountPaused, reason)
	if err != nil {
		return err
	}
	ids := make([]int64, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	e.watchers.Notify()
	return e.Dispatch.Remove(ctx, ids...)
}

// DeleteAccount collects an account no more: its run is canceled, its harvest
// skipped. What was collected stays, and signing up again brings it back.
func (e *Engine) DeleteAccount(ctx context.Context, id int64) error {
	if _, err := e.State.SetAccountState(ctx, id, domain.AccountDeleted, "deleted on request; signing up again brings it back"); err != nil {
		return err
	}
	e.accounts.forget(id)
	runs, err := e.State.Runs(ctx, state.RunQuery{AccountID: id, ActiveOnly: true, Limit: 1})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if _, err := e.CancelRun(ctx, run.ID, "its account was deleted"); err != nil && domain.CodeOf(err) != domain.CodeIllegalMove {
			return err
		}
	}
	e.watchers.Notify()
	return nil
}

// ResumeAccount lets a paused account's jobs go on.
func (e *Engine) ResumeAccount(ctx context.Context, id int64) error {
	done, err := e.guard(ctx, id)
	if err != nil {
		return err
	}
	if _, err := e.State.SetAccountState(ctx, id, domain.AccountActive, ""); err != nil {
		return err
	}
	e.accounts.forget(id)
	// All that wait, not only those that waited no more until now: an earlier
	// call may have been made whose answer was lost.
	e.deliverSoon(ctx, func(ctx context.Context) error {
		if err := e.deliverWaiting(ctx, id); err != nil {
			return err
		}
		if err := e.ensureHarvest(ctx, id); err != nil {
			return err
		}
		done()
		return nil
	})
	e.watchers.Notify()
	return nil
}

// ReserveForOwner sets what the owner of an account keeps for himself: calls
// of every window, and hours of the day.
func (e *Engine) ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (domain.Account, error) {
	if floor < 0 {
		return domain.Account{}, domain.Errorf(domain.CodeInvalid, "a floor cannot be negative; it is %d", floor)
	}
	a, err := e.State.ReserveForOwner(ctx, id, floor, hours)
	if err != nil {
		return domain.Account{}, err
	}
	e.accounts.forget(id)
	// What waits for the old hours or the old floor is to ask again.
	stats, err := e.Dispatch.Stats(ctx)
	if err != nil {
		return a, err
	}
	for _, lane := range stats.Lanes {
		if lane.ParkedUntil.IsZero() || !strings.HasPrefix(lane.Lane, Lane(a.Owner, "")) {
			continue
		}
		e.waits.clear(lane.Lane)
		if err := e.Dispatch.Resume(ctx, lane.Lane); err != nil {
			return a, err
		}
	}
	e.watchers.Notify()
	return a, nil
}

// RetryJob brings a failed job back, and its run with it.
func (e *Engine) RetryJob(ctx context.Context, id int64) (domain.Job, error) {
	job, err := e.State.Job(ctx, id)
	if err != nil {
		return domain.Job{}, err
	}
	done, err := e.guard(ctx, job.AccountID)
	if err != nil {
		return domain.Job{}, err
	}
	deliver := func(ctx context.Context) error {
		if err := e.deliverIfWaiting(ctx, id); err != nil {
			return err
		}
		done()
		return nil
	}
	ref, err := e.State.RetryJob(ctx, id)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnavailable {
			// It may have been done; then the job waits for a worker.
			e.errands.add("dispatch", deliver)
		} else {
			done()
		}
		return domain.Job{}, err
	}
	e.runs.forget(ref.RunID)
	e.deliverSoon(ctx, deliver)
	e.watchers.Notify()
	return e.State.Job(ctx, id)
}

func (e *Engine) source(name string) (source.Source, error) {
	src, ok := e.sources[name]
	if !ok {
		return nil, domain.Errorf(domain.CodeInvalid, "there is no source %q", name)
	}
	return src, nil
}
