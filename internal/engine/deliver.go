package engine

import (
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/logs"
	"sluice/internal/source"
	"sluice/internal/state"
)

// Deliver carries out what an event of a source asks for: of each account that it
// is about, the few jobs that bring it up to date join the run that is under way, or
// are a run of their own, with high priority. What is returned was stored. A
// delivery that comes again changes nothing and gets the runs that it went into.
func (r *runControl) Deliver(ctx context.Context, from string, e source.Event) ([]domain.Run, error) {
	src, err := r.source(from)
	if err != nil {
		return nil, err
	}
	hooked, ok := src.(source.Hooked)
	if !ok {
		return nil, domain.Errorf(domain.CodeNotFound, "%s tells of no changes", from)
	}
	var runs []domain.Run
	for _, n := range hooked.Notices(e) {
		a, err := r.State.Accounts.AccountByLogin(ctx, from, n.Login)
		if domain.CodeOf(err) == domain.CodeNotFound || err == nil && a.State != domain.AccountActive {
			continue
		}
		if err != nil {
			return nil, err
		}
		run, err := r.notify(ctx, a, e.Delivery, n.Jobs)
		if err != nil && domain.CodeOf(err) != domain.CodeConflict {
			return nil, err
		}
		// It may have been paused in this moment: then there is none.
		if run.ID != 0 {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// notify does what an event means for one account. One that was never collected has
// nothing that could be brought up to date: it is collected.
func (r *runControl) notify(ctx context.Context, a domain.Account, delivery string, jobs []domain.JobSpec) (domain.Run, error) {
	before, err := r.State.Runs.Runs(ctx, state.RunQuery{AccountID: a.ID, Except: domain.TriggerWebhook, Limit: 1})
	switch {
	case err != nil:
		return domain.Run{}, err
	case len(before) == 0:
		return r.startRun(ctx, a.ID, domain.TriggerSignup, domain.PriorityHigh, delivery)
	case len(jobs) == 0:
		return r.startRun(ctx, a.ID, domain.TriggerWebhook, domain.PriorityHigh, delivery)
	}
	if err := r.pauseUnreadable(ctx, a.ID); err != nil {
		return domain.Run{}, err
	}
	done, err := r.delivery.recordIntent(ctx, a.ID)
	if err != nil {
		return domain.Run{}, err
	}
	run, made, err := r.storeDelivered(ctx, state.Delivered{Jobs: jobs, RunSpec: state.RunSpec{
		AccountID: a.ID, Trigger: domain.TriggerWebhook, Priority: domain.PriorityHigh, Anchor: r.cfg.Now().Truncate(time.Microsecond), Delivery: delivery,
	}})
	if err != nil {
		// What may have been stored is found by the note.
		if domain.CodeOf(err) != domain.CodeUnavailable {
			done()
		}
		return run, err
	}
	r.noteOrigin(ctx, run.ID)
	r.cfg.Log.Info("an event was taken in", "run", run.ID, "account", a.ID, "login", a.Login, "jobs", len(made),
		logs.CorrelationAttribute, r.originOf(ctx, run.ID).ID)
	r.dispatchOrRetry(ctx, func(ctx context.Context) error {
		if err := r.delivery.pushJobs(ctx, made); err != nil {
			return err
		}
		done()
		return nil
	})
	r.watchers.Notify()
	return run, nil
}

// deliverTries bounds how often an event looks for a run to go into: one that is
// being planned or finished takes none, which lasts for a moment.
const deliverTries = 12

// deliverDelays are for somebody who waits for the answer.
var deliverDelays = backoff.Delays{First: 20 * time.Millisecond, Longest: 500 * time.Millisecond, Spread: backoff.Upper}

// storeDelivered stores an event's jobs in the account's active run, or in a new one.
func (r *runControl) storeDelivered(ctx context.Context, d state.Delivered) (domain.Run, []domain.JobRef, error) {
	for try := 1; ; try++ {
		active, err := r.State.Runs.Runs(ctx, state.RunQuery{AccountID: d.AccountID, ActiveOnly: true, Limit: 1})
		if err != nil {
			return domain.Run{}, nil, err
		}
		if d.Into = 0; len(active) > 0 {
			d.Into = active[0].ID
		}
		run, made, err := r.State.Runs.Deliver(ctx, d)
		switch {
		case domain.CodeOf(err) != domain.CodeStale:
			if err == nil && d.Into == 0 {
				r.counters.RunsStarted.Add(1)
			}
			return run, made, err
		case try >= deliverTries || !backoff.Sleep(ctx, deliverDelays.Delay(try-1)):
			return run, nil, domain.Errorf(domain.CodeUnavailable, "the run of this account is just being planned or finished; send this again in a few seconds")
		}
	}
}

// afterEvents tries to begin a run again that one of a few jobs is in the way of:
// that is over in a moment, and is not what was asked for.
func (r *runControl) afterEvents(ctx context.Context, run domain.Run, err error, create func() (domain.Run, error)) (domain.Run, error) {
	for try := 1; try < deliverTries && domain.CodeOf(err) == domain.CodeConflict && run.Trigger == domain.TriggerWebhook && run.Status.Active(); try++ {
		if !backoff.Sleep(ctx, deliverDelays.Delay(try-1)) {
			break
		}
		run, err = create()
	}
	return run, err
}
