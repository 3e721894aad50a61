package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// A chore is work that is no upstream call: a run's statistics, an account's
// next run, what a process that died left undone, rebuilding dispatch. It travels through
// dispatch like a job: one process at a time has its lease, another gets it
// when that one dies, and it is acknowledged when it is done.
type choreKind int64

const (
	// choreFinish computes the statistics of a run in FINALIZING.
	choreFinish choreKind = iota + 1
	// choreReconcile dispatches what the active run of an account waits for.
	choreReconcile
	// choreRebuild fills dispatch from the state.
	choreRebuild
	// choreHarvest begins the next run of an account.
	choreHarvest
	// choreHarvests plans the next runs of accounts that have none planned.
	choreHarvests
	// choreEnded plans what follows a run that ended without statistics.
	choreEnded

	// choreKinds leaves room: ids that wait must mean the same after an upgrade.
	choreKinds = 16
)

// choreLane is where chores wait; no ration is called so.
const choreLane = "sluice/chores"

// choreID names a chore among the jobs, whose ids are positive.
func choreID(kind choreKind, subject int64) int64 {
	return -(subject*choreKinds + int64(kind))
}

// choreOf is the inverse of choreID.
func choreOf(id int64) (kind choreKind, subject int64) {
	return choreKind(-id % choreKinds), -id / choreKinds
}

func choreEntry(kind choreKind, subject int64, at time.Time) dispatch.Entry {
	return dispatch.Entry{
		Job: choreID(kind, subject), Lane: choreLane, Priority: domain.PriorityHigh, Class: domain.ClassChild, NotBefore: at,
	}
}

// OnLoss is what a dispatcher that several processes share hands out when it
// finds itself empty: whoever gets it fills it from the state.
func OnLoss() dispatch.Entry { return choreEntry(choreRebuild, 0, time.Time{}) }

// do carries out a chore and lays its lease down, or hands it back for later.
func (e *Engine) do(ctx context.Context, l dispatch.Lease) {
	kind, subject := choreOf(l.Job)
	var again time.Time
	var err error
	switch kind {
	case choreFinish:
		again, err = e.finishRun(ctx, subject)
	case choreReconcile:
		err = e.reconcile(ctx, subject)
	case choreRebuild:
		err = e.refill(ctx)
	case choreHarvest:
		again, err = e.harvest(ctx, subject)
	case choreHarvests:
		err = e.ensureHarvests(ctx)
	case choreEnded:
		err = e.ensureHarvest(ctx, subject)
	}
	if err != nil {
		if ctx.Err() == nil {
			e.cfg.Log.Error("chore", "chore", l.Job, "error", err)
		}
		again = e.cfg.Now().Add(e.cfg.BackoffBase)
	}
	if !again.IsZero() {
		e.release(context.WithoutCancel(ctx), []dispatch.Lease{l}, again)
		return
	}
	e.acknowledge(ctx, l)
	// Dispatch ignored what was pushed for the same subject while the chore was
	// leased: it is looked at once more.
	switch kind {
	case choreFinish:
		e.deliverSoon(ctx, func(ctx context.Context) error { return e.finishIfClosed(ctx, subject) })
	case choreHarvest:
		e.deliverSoon(ctx, func(ctx context.Context) error { return e.ensureHarvest(ctx, subject) })
	}
}

// reconcile makes up for a process that died between a change of the state and
// telling dispatch about it.
func (e *Engine) reconcile(ctx context.Context, account int64) error {
	runs, err := e.State.Runs(ctx, state.RunQuery{AccountID: account, ActiveOnly: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return e.ensureHarvest(ctx, account)
	}
	if runs[0].Status == domain.RunRunning {
		return e.deliverWaiting(ctx, account)
	}
	_, err = e.resume(ctx, runs[0])
	return err
}

// guard has an account reconciled unless the change that follows is completed:
// the returned function says so. Between the two, dispatch owes nothing that a
// dead process alone knew of. A process that has dispatch to itself needs none,
// as its next start makes up for everything.
func (e *Engine) guard(ctx context.Context, account int64) (done func(), err error) {
	if !e.cfg.Shared {
		return func() {}, nil
	}
	if err := e.Dispatch.Push(ctx, choreEntry(choreReconcile, account, e.cfg.Now().Add(e.cfg.Lease))); err != nil {
		return nil, err
	}
	return func() {
		if err := e.Dispatch.Remove(context.WithoutCancel(ctx), choreID(choreReconcile, account)); err != nil {
			// Reconciling what is right already changes nothing.
			e.cfg.Log.Warn("remove chore", "account", account, "error", err)
		}
	}, nil
}
