package engine

import (
	"context"
	"strings"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/state"
)

// requests are what people ask for: accounts, rations and single jobs. Runs are
// asked of runControl, schedules of harvestPlanner.
type requests struct {
	*core
	delivery *delivery
	control  *runControl
	planner  *harvestPlanner
}

// Signup names an account to collect and the credential to do it with.
type Signup struct {
	Source, Login, Token string
	// Set are values of the source's config that are the account's own; nil keeps those
	// that it has.
	Set map[string]string
}

// CredentialOwner is the record a credential is sealed for.
func CredentialOwner(source, login string) string { return source + ":" + strings.ToLower(login) }

// PutAccount stores an account and its credential, or renews the credential of
// one that exists; if that was paused, its jobs go on. It makes no call and
// starts no run.
func (r *requests) PutAccount(ctx context.Context, s Signup) (domain.Account, error) {
	src, err := r.source(s.Source)
	if err != nil {
		return domain.Account{}, err
	}
	if err := src.CheckLogin(s.Login); err != nil {
		return domain.Account{}, err
	}
	before, err := r.stored(ctx, s)
	if err != nil {
		return domain.Account{}, err
	}
	if s, src, err = r.complete(s, before); err != nil {
		return domain.Account{}, err
	}
	if s.Token = orPublic(src, s.Token); s.Token == "" {
		return domain.Account{}, domain.Errorf(domain.CodeInvalid, "account %s needs a token", s.Login)
	}
	if checker, ok := src.(source.CredentialChecker); ok {
		if s.Token, err = checker.CheckCredential(s.Token); err != nil {
			return domain.Account{}, err
		}
	}
	plain, name, err := r.bind(src, s)
	if err != nil {
		return domain.Account{}, err
	}
	sealed, err := r.Vault.Seal(plain, CredentialOwner(s.Source, s.Login))
	if err != nil {
		return domain.Account{}, err
	}
	a, err := r.State.Accounts.PutAccount(ctx, state.AccountSpec{
		Source: s.Source, Login: s.Login, Name: r.Vault.Name(name), Credential: sealed,
	})
	if err != nil {
		return domain.Account{}, err
	}
	r.accounts.forget(a.ID)
	r.watchers.Notify()
	// Jobs that were paused for the old credential go on with the new one, and
	// those that wait for the ration of another owner need not wait for it.
	if err := r.resumeAccount(ctx, a.ID, before.ID != 0 && before.Owner != a.Owner); err != nil {
		return domain.Account{}, err
	}
	return a, nil
}

// stored is an account as it is, if it is there and was not purged.
func (r *requests) stored(ctx context.Context, s Signup) (account, error) {
	before, err := r.State.Accounts.AccountByLogin(ctx, s.Source, s.Login)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return account{}, nil
	}
	if err == nil {
		err = refusePurged(before)
	}
	if err != nil {
		return account{}, err
	}
	return r.accounts.get(ctx, before.ID)
}

// Signup stores an account and starts its first run.
func (r *requests) Signup(ctx context.Context, s Signup) (domain.Account, domain.Run, error) {
	a, err := r.PutAccount(ctx, s)
	if err != nil {
		return domain.Account{}, domain.Run{}, err
	}
	run, err := r.control.StartRun(ctx, a.ID, domain.TriggerSignup, domain.PriorityHigh)
	return a, run, err
}

// DeleteAccount collects an account no more: its run is canceled, its harvest
// skipped. What was collected stays, and signing up again brings it back.
func (r *requests) DeleteAccount(ctx context.Context, id int64) error {
	if err := r.refuseIfPurged(ctx, id); err != nil {
		return err
	}
	if _, err := r.State.Accounts.SetAccountState(ctx, id, domain.AccountDeleted, "deleted on request; signing up again brings it back"); err != nil {
		return err
	}
	r.accounts.forget(id)
	runs, err := r.State.Runs.Runs(ctx, state.RunQuery{AccountID: id, ActiveOnly: true, Limit: 1})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if _, err := r.control.CancelRun(ctx, run.ID, "its account was deleted"); err != nil && domain.CodeOf(err) != domain.CodeIllegalMove {
			return err
		}
	}
	r.watchers.Notify()
	return nil
}

// ResumeAccount lets a paused account's jobs go on.
func (r *requests) ResumeAccount(ctx context.Context, id int64) error {
	if err := r.refuseIfPurged(ctx, id); err != nil {
		return err
	}
	return r.resumeAccount(ctx, id, false)
}

// resumeAccount lets the jobs of an account go on; moved says that they wait in
// other lanes than they belong to.
func (r *requests) resumeAccount(ctx context.Context, id int64, moved bool) error {
	done, err := r.delivery.recordIntent(ctx, id)
	if err != nil {
		return err
	}
	if _, err := r.State.Accounts.SetAccountState(ctx, id, domain.AccountActive, ""); err != nil {
		return err
	}
	r.accounts.forget(id)
	// All that wait, not only those that waited no more until now: an earlier
	// call may have been made whose answer was lost.
	deliver := r.delivery.dispatchWaiting
	if moved {
		deliver = r.delivery.requeueWaiting
	}
	r.dispatchOrRetry(ctx, func(ctx context.Context) error {
		if err := deliver(ctx, id); err != nil {
			return err
		}
		if err := r.planner.ensureHarvest(ctx, id); err != nil {
			return err
		}
		done()
		return nil
	})
	r.watchers.Notify()
	return nil
}

// ReserveForOwner sets what the owner of an account keeps for himself: calls
// of every window, and hours of the day.
func (r *requests) ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (domain.Account, error) {
	if floor < 0 {
		return domain.Account{}, domain.Errorf(domain.CodeInvalid, "a floor cannot be negative; it is %d", floor)
	}
	if err := r.checkFloor(ctx, id, floor); err != nil {
		return domain.Account{}, err
	}
	a, err := r.State.Accounts.ReserveForOwner(ctx, id, floor, hours)
	if err != nil {
		return domain.Account{}, err
	}
	r.accounts.forget(id)
	// What waits for the old hours or the old floor is to ask again.
	stats, err := r.Dispatch.Stats(ctx)
	if err != nil {
		return a, err
	}
	for _, lane := range stats.Lanes {
		if lane.ParkedUntil.IsZero() || !strings.HasPrefix(lane.Lane, dispatch.Lane(a.Owner, "")) {
			continue
		}
		r.waits.clear(lane.Lane)
		if err := r.Dispatch.Resume(ctx, lane.Lane); err != nil {
			return a, err
		}
	}
	r.watchers.Notify()
	return a, nil
}

// RetryJob brings a failed job back, and its run with it.
func (r *requests) RetryJob(ctx context.Context, id int64) (domain.Job, error) {
	job, err := r.State.Jobs.Job(ctx, id)
	if err != nil {
		return domain.Job{}, err
	}
	if err := r.refuseIfPurged(ctx, job.AccountID); err != nil {
		return domain.Job{}, err
	}
	done, err := r.delivery.recordIntent(ctx, job.AccountID)
	if err != nil {
		return domain.Job{}, err
	}
	deliver := func(ctx context.Context) error {
		if err := r.delivery.dispatchIfUnfinished(ctx, id); err != nil {
			return err
		}
		done()
		return nil
	}
	ref, err := r.State.Jobs.RetryJob(ctx, id)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnavailable {
			// It may have been done; then the job waits for a worker.
			r.retries.add(dispatchOwed, deliver)
		} else {
			done()
		}
		return domain.Job{}, err
	}
	r.runs.forget(ref.RunID)
	r.dispatchOrRetry(ctx, deliver)
	r.watchers.Notify()
	return r.State.Jobs.Job(ctx, id)
}
