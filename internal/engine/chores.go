package engine

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// choreKind is what sort of work a chore is. It begins the id that waits in
// dispatch: it must mean the same after an upgrade.
type choreKind string

const (
	// choreStatistics computes the statistics of a run in FINALIZING.
	choreStatistics choreKind = "statistics"
	// choreReconcile dispatches what the active run of an account waits for.
	choreReconcile choreKind = "reconcile"
	// choreRebuild fills dispatch from the state.
	choreRebuild choreKind = "rebuild"
	// choreHarvest begins the next run of an account.
	choreHarvest choreKind = "harvest"
	// choreHarvests plans the next runs of accounts that have none planned.
	choreHarvests choreKind = "plan-harvests"
	// choreRunEnded plans what follows a run that ended without statistics.
	choreRunEnded choreKind = "plan-harvest"
	// choreRequest does as choreReconcile does, for one request: see recordIntent.
	choreRequest choreKind = "request"
	// choreReconcileAll looks for what dispatch does not know of any account.
	choreReconcileAll choreKind = "reconcile-all"
	// chorePurge goes on with a purge that was interrupted.
	chorePurge choreKind = "purge"
)

// A chore is work that is no upstream call: a run's statistics, an account's
// next run, what a process that died left undone, rebuilding dispatch. It
// travels through dispatch like a job: one process at a time has its lease,
// another gets it when that one dies, and it is acknowledged when it is done.
type chore struct {
	kind choreKind
	// subject is the run or account that it is for, or the term of a leader;
	// zero if it is for all.
	subject int64
	// number is its own beside its subject if it belongs to one request, or one
	// start: what another asks for neither replaces nor removes it.
	number int64
}

func choreFor(kind choreKind, subject int64) chore { return chore{kind: kind, subject: subject} }

// id names the chore in dispatch and in logs: statistics:8 is for run 8,
// harvest:3 for account 3, request:3/17 for account 3 and its request number 17,
// rebuild for all.
func (c chore) id() string {
	id := string(c.kind)
	if c.subject != 0 || c.number != 0 {
		id += ":" + strconv.FormatInt(c.subject, 10)
	}
	if c.number != 0 {
		id += "/" + strconv.FormatInt(c.number, 10)
	}
	return id
}

// choreFromID is the inverse of id. What no chore of this version is called is of
// a kind that it does not know.
func choreFromID(id string) chore {
	kind, rest, _ := strings.Cut(id, ":")
	subject, number, _ := strings.Cut(rest, "/")
	c := chore{kind: choreKind(kind)}
	c.subject, _ = strconv.ParseInt(subject, 10, 64)
	c.number, _ = strconv.ParseInt(number, 10, 64)
	if c.id() != id {
		return chore{kind: choreKind(id)}
	}
	return c
}

// choreOfEarlierVersion understands what a version before this one left in a
// dispatcher that outlasts a process: chores had negative numbers, made of a
// subject and one of sixteen kinds.
func choreOfEarlierVersion(id string) (c chore, ok bool) {
	kinds := [16]choreKind{
		1: choreStatistics, 2: choreReconcile, 3: choreRebuild, 4: choreHarvest, 5: choreHarvests,
		6: choreRunEnded, 7: choreRequest, 8: choreReconcileAll,
	}
	coded, err := strconv.ParseInt(id, 10, 64)
	if err != nil || coded >= 0 || coded == math.MinInt64 {
		return chore{}, false
	}
	c = chore{kind: kinds[-coded%16], subject: -coded / 16}
	switch c.kind {
	case choreRequest:
		// The account was in the lower 31 bits, the request's number above them.
		c.subject, c.number = c.subject&(1<<31-1), c.subject>>31
	case choreReconcileAll:
		// Some had the number of a start there. One serves all of them.
		c.subject = 0
	}
	return c, c.kind != ""
}

// choreLane is where chores wait; no ration is called so.
const choreLane = "sluice/chores"

// entry lets the chore wait in dispatch until an instant.
func (c chore) entry(at time.Time) dispatch.Entry {
	return dispatch.Entry{
		ID: c.id(), Lane: choreLane, Priority: domain.PriorityHigh, Class: domain.ClassChild, NotBefore: at,
	}
}

// leaseAttr says in logs what was leased: a chore or a job.
func leaseAttr(l dispatch.Lease) slog.Attr {
	if number, isJob := dispatch.JobNumber(l.ID); isJob {
		return slog.Int64("job", number)
	}
	return slog.String("chore", l.ID)
}

// OnLoss is what a dispatcher that several processes share hands out when it
// finds itself empty: whoever gets it fills it from the state.
func OnLoss() dispatch.Entry { return choreFor(choreRebuild, 0).entry(time.Time{}) }

// OnLead is what whoever takes the lead in a term hands out: the one that led
// before may have died between a change of the state and telling dispatch.
func OnLead(term int64) dispatch.Entry { return choreFor(choreReconcileAll, term).entry(time.Time{}) }

// choreRunner carries out chores, and recovers what a dead process left.
type choreRunner struct {
	*core
	delivery   *delivery
	control    *runControl
	planner    *harvestPlanner
	statistics *statisticsTries
	// trimmed is when old changes were looked for, in nanoseconds.
	trimmed atomic.Int64
}

func newChoreRunner(c *core, d *delivery, control *runControl, planner *harvestPlanner) *choreRunner {
	return &choreRunner{core: c, delivery: d, control: control, planner: planner, statistics: newStatisticsTries()}
}

// runChore carries out a chore and lays its lease down, or hands it back for later.
func (cr *choreRunner) runChore(ctx context.Context, l dispatch.Lease) {
	if before, ok := choreOfEarlierVersion(l.ID); ok {
		cr.rename(ctx, l, before)
		return
	}
	c := choreFromID(l.ID)
	subject := c.subject
	var again time.Time
	var err error
	switch c.kind {
	case choreStatistics:
		again, err = cr.completeRun(ctx, subject)
		cr.passStatisticsOn(ctx)
	case choreReconcile, choreRequest:
		err = cr.reconcile(ctx, subject)
	case choreRebuild:
		err = cr.rebuildLost(ctx)
	case choreReconcileAll:
		if _, _, err = cr.rebuildShared(ctx); err == nil {
			cr.pruneAll(ctx)
			cr.trimChanges(ctx)
		}
	case choreHarvest:
		again, err = cr.runHarvest(ctx, subject)
	case choreHarvests:
		err = cr.planner.ensureHarvests(ctx)
	case choreRunEnded:
		err = cr.planner.ensureHarvest(ctx, subject)
	case chorePurge:
		err = cr.runPurge(ctx, subject)
	default:
		cr.cfg.Log.Warn("dispatch has a chore that this version does not know; it is dropped", "chore", l.ID)
	}
	busy := errors.Is(err, errStatisticsBusy)
	if err != nil && !busy {
		if ctx.Err() == nil {
			cr.cfg.Log.Error("a chore has failed; trying again soon", "chore", c.id(), "error", err)
		}
		again = cr.cfg.Now().Add(cr.cfg.BackoffBase)
	}
	if !again.IsZero() {
		cr.delivery.release(context.WithoutCancel(ctx), []dispatch.Lease{l}, again)
		if busy {
			cr.awaitStatistics(ctx, subject)
		}
		return
	}
	cr.delivery.acknowledge(ctx, l)
	// Dispatch ignored what was pushed for the same subject while the chore was
	// leased: it is looked at once more.
	switch c.kind {
	case choreStatistics:
		cr.dispatchOrRetry(ctx, func(ctx context.Context) error { return cr.control.ensureStatistics(ctx, subject) })
	case choreHarvest:
		cr.dispatchOrRetry(ctx, func(ctx context.Context) error { return cr.planner.ensureHarvest(ctx, subject) })
	}
}

// rename lets a chore of an earlier version wait under the name that it has now,
// once, however often it waits already.
func (cr *choreRunner) rename(ctx context.Context, l dispatch.Lease, c chore) {
	if err := cr.Dispatch.Push(ctx, c.entry(time.Time{})); err != nil {
		cr.delivery.release(context.WithoutCancel(ctx), []dispatch.Lease{l}, cr.cfg.Now().Add(cr.cfg.BackoffBase))
		return
	}
	cr.delivery.acknowledge(ctx, l)
}

// reconcile makes up for a process that died between a change of the state and
// telling dispatch about it.
func (cr *choreRunner) reconcile(ctx context.Context, account int64) error {
	runs, err := cr.State.Runs.Runs(ctx, state.RunQuery{AccountID: account, ActiveOnly: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return cr.planner.ensureHarvest(ctx, account)
	}
	if runs[0].Status == domain.RunRunning {
		// The account may have another owner since.
		cr.accounts.forget(account)
		return cr.delivery.requeueWaiting(ctx, account)
	}
	_, err = cr.control.continueRun(ctx, runs[0])
	return err
}
