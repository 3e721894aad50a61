package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"sluice/internal/domain"
	"sluice/internal/schedule"
	"sluice/internal/state"
)

// harvestPlanner plans when accounts are collected again.
type harvestPlanner struct {
	*core
	delivery *delivery
	// planning has room for one: plans are made in turn.
	planning chan struct{}
}

func newHarvestPlanner(c *core, d *delivery) *harvestPlanner {
	return &harvestPlanner{core: c, delivery: d, planning: make(chan struct{}, 1)}
}

// A harvest is a run that nobody asked for: an account's turn has come again.
// When it comes is planned when a run ends, kept in the state, and waits in
// dispatch as a chore.

// scheduleOf returns by which policy an account is collected again; false if
// its source's are not collected by themselves.
func (hp *harvestPlanner) scheduleOf(ctx context.Context, a domain.Account) (schedule.Policy, bool, error) {
	base, ok := hp.cfg.Harvests[a.Source]
	if !ok {
		return schedule.Policy{}, false, nil
	}
	text, err := hp.State.Harvests.Schedule(ctx, a.ID)
	if err != nil {
		return schedule.Policy{}, false, err
	}
	own, err := schedule.Parse(text)
	if err != nil {
		// It was checked when it was stored: a version that knew more wrote it.
		hp.cfg.Log.Warn("an account's schedule is not understood; its source's holds", "account", a.ID, "login", a.Login, "error", err)
		own = schedule.Policy{}
	}
	return own.Over(base), true, nil
}

// SetSchedule says how an account is collected again, over what holds for its
// source, and plans its next harvest anew. The zero policy leaves everything to
// the source.
func (hp *harvestPlanner) SetSchedule(ctx context.Context, account int64, p schedule.Policy) (domain.Harvest, error) {
	a, err := hp.State.Accounts.Account(ctx, account)
	if err != nil {
		return domain.Harvest{}, err
	}
	if err := p.Over(hp.cfg.Harvests[a.Source]).Check(); err != nil {
		return domain.Harvest{}, err
	}
	text, err := encodeSchedule(p)
	if err != nil {
		return domain.Harvest{}, err
	}
	done, err := hp.delivery.recordIntent(ctx, account)
	if err != nil {
		return domain.Harvest{}, err
	}
	if err := hp.State.Harvests.SetSchedule(ctx, account, text); err != nil {
		return domain.Harvest{}, err
	}
	h, err := hp.planHarvest(ctx, a)
	if err == nil {
		done()
	}
	hp.watchers.Notify()
	return h, err
}

// Schedule returns an account's own policy and its next harvest; the harvest's
// At is zero if none is planned, as while a run is under way, whose end plans
// what follows.
func (hp *harvestPlanner) Schedule(ctx context.Context, account int64) (schedule.Policy, domain.Harvest, error) {
	a, err := hp.State.Accounts.Account(ctx, account)
	if err != nil {
		return schedule.Policy{}, domain.Harvest{}, err
	}
	text, err := hp.State.Harvests.Schedule(ctx, account)
	if err != nil {
		return schedule.Policy{}, domain.Harvest{}, err
	}
	p, err := schedule.Parse(text)
	if err != nil || a.State.Gone() {
		return p, domain.Harvest{}, err
	}
	last, err := hp.lastRun(ctx, account)
	if err != nil || last.Status.Active() {
		return p, domain.Harvest{}, err
	}
	h, found, err := hp.State.Harvests.Harvest(ctx, account)
	if err != nil || !found || overtaken(h, last) {
		return p, domain.Harvest{}, err
	}
	return p, h, nil
}

// ensureHarvest sees to it that an account without an active run has its next
// harvest planned and waiting. It may be repeated at any time.
func (hp *harvestPlanner) ensureHarvest(ctx context.Context, account int64) error {
	if len(hp.cfg.Harvests) == 0 {
		return nil
	}
	a, err := hp.State.Accounts.Account(ctx, account)
	if err != nil {
		return err
	}
	if a.State.Gone() {
		return hp.State.Harvests.DropHarvest(ctx, account)
	}
	last, err := hp.lastRun(ctx, account)
	if err != nil || last.Status.Active() {
		// Its end plans what follows.
		return err
	}
	h, found, err := hp.State.Harvests.Harvest(ctx, account)
	if err != nil {
		return err
	}
	stands := found && !overtaken(h, last)
	if stands && h.Resume > 0 {
		// Somebody may have had its failed jobs done meanwhile.
		failed, err := hp.passingFailures(ctx, last.ID)
		if err != nil {
			return err
		}
		stands = failed > 0
	}
	if !stands {
		_, err = hp.planHarvest(ctx, a)
		return err
	}
	return hp.awaitHarvest(ctx, a, h)
}

// overtaken reports whether a run has ended since a harvest was planned: it was
// carried out, or somebody else's run came before it.
func overtaken(h domain.Harvest, last domain.Run) bool {
	return h.After < last.ID || !h.At.After(last.FinishedAt)
}

// lastRun returns an account's active run, or else its newest that was not begun by
// an event: such a run collects next to nothing, and puts off no harvest. It returns
// one without an id if there is none.
func (hp *harvestPlanner) lastRun(ctx context.Context, account int64) (domain.Run, error) {
	runs, err := hp.State.Runs.Runs(ctx, state.RunQuery{AccountID: account, ActiveOnly: true, Limit: 1})
	if err == nil && len(runs) == 0 {
		runs, err = hp.State.Runs.Runs(ctx, state.RunQuery{AccountID: account, Except: domain.TriggerWebhook, Limit: 1})
	}
	if err != nil || len(runs) == 0 {
		return domain.Run{Status: domain.RunCompleted}, err
	}
	return runs[0], nil
}

// planHarvest plans an account's next harvest from how its last run ended.
//
// Whoever says how an account is collected plans after he has stored it. One who
// read the schedule before must not have the last word: here they take turns,
// and of another process's change one learns by looking again.
func (hp *harvestPlanner) planHarvest(ctx context.Context, a domain.Account) (domain.Harvest, error) {
	select {
	case hp.planning <- struct{}{}:
	case <-ctx.Done():
		return domain.Harvest{}, ctx.Err()
	}
	defer func() { <-hp.planning }()
	for {
		before, err := hp.State.Harvests.Schedule(ctx, a.ID)
		if err != nil {
			return domain.Harvest{}, err
		}
		h, err := hp.planHarvestOnce(ctx, a)
		if err != nil {
			return h, err
		}
		if after, err := hp.State.Harvests.Schedule(ctx, a.ID); err != nil || bytes.Equal(before, after) {
			return h, err
		}
	}
}

// planHarvestOnce plans and stores an account's next harvest, and lets it wait.
func (hp *harvestPlanner) planHarvestOnce(ctx context.Context, a domain.Account) (domain.Harvest, error) {
	policy, harvested, err := hp.scheduleOf(ctx, a)
	if err != nil || !harvested {
		return domain.Harvest{}, err
	}
	if a.State.Gone() {
		return domain.Harvest{}, hp.State.Harvests.DropHarvest(ctx, a.ID)
	}
	last, err := hp.lastRun(ctx, a.ID)
	if err != nil || last.Status.Active() {
		return domain.Harvest{}, err
	}
	plan, err := hp.planAfter(ctx, a, policy, last)
	if err != nil {
		return domain.Harvest{}, err
	}
	if plan.None() {
		return domain.Harvest{}, hp.State.Harvests.DropHarvest(ctx, a.ID)
	}
	if now := hp.cfg.Now(); now.Sub(last.FinishedAt) > signupGrace {
		plan.At = latest(plan.At, now.Add(signupGrace))
	}
	h := domain.Harvest{
		AccountID: a.ID, After: last.ID, At: plan.At.Truncate(time.Microsecond), Priority: plan.Priority,
		Resume: plan.Resume, Tries: plan.Tries, Reason: plan.Reason,
	}
	if err := hp.State.Harvests.PlanHarvest(ctx, h); err != nil {
		return h, err
	}
	hp.cfg.Log.Info("the next run of an account is planned", "account", a.ID, "login", a.Login, "run", h.Resume, "at", h.At, "priority", h.Priority, "reason", h.Reason)
	// An entry may wait for another instant.
	if err := hp.Dispatch.Remove(ctx, choreFor(choreHarvest, a.ID).id()); err != nil {
		return h, err
	}
	return h, hp.awaitHarvest(ctx, a, h)
}

func (hp *harvestPlanner) planAfter(ctx context.Context, a domain.Account, p schedule.Policy, last domain.Run) (schedule.Plan, error) {
	now := hp.cfg.Now()
	if last.ID == 0 {
		return schedule.First(p, a.ID, now), nil
	}
	ended := schedule.Ended{Account: a.ID, Run: last.ID, RunBegan: last.CreatedAt, Now: now, Jobs: last.Known}
	h, found, err := hp.State.Harvests.Harvest(ctx, a.ID)
	if err != nil {
		return schedule.Plan{}, err
	}
	if found && h.Resume == last.ID {
		ended.Tries = h.Tries
		if h.At.After(last.FinishedAt) {
			// That one is still to come: it is planned anew, not tried again.
			ended.Tries--
		}
	}
	if last.Status != domain.RunCanceled {
		if ended.FailedJobs, err = hp.passingFailures(ctx, last.ID); err != nil {
			return schedule.Plan{}, err
		}
		ended.Failed = ended.FailedJobs > 0
	}
	windows, err := hp.Quota.Windows(ctx, a.Owner)
	if err != nil {
		return schedule.Plan{}, err
	}
	for _, w := range windows {
		ended.Reset = latest(ended.Reset, w.Reset)
	}
	return schedule.Next(p, ended), nil
}

// passingFailures counts the jobs of a run that failed for a reason that may
// pass.
func (hp *harvestPlanner) passingFailures(ctx context.Context, run int64) (failed int64, err error) {
	q := state.JobQuery{RunID: run, Statuses: []domain.JobStatus{domain.JobFailed}, Limit: rebuildBatch}
	for {
		jobs, err := hp.State.Jobs.Jobs(ctx, q)
		if err != nil || len(jobs) == 0 {
			return failed, err
		}
		for _, job := range jobs {
			q.AfterID = job.ID
			if retryTable[job.ErrorKind].mayPass {
				failed++
			}
		}
	}
}

// awaitHarvest lets a harvest wait in dispatch. A paused account's does when
// the account is resumed.
func (hp *harvestPlanner) awaitHarvest(ctx context.Context, a domain.Account, h domain.Harvest) error {
	if a.State != domain.AccountActive {
		return nil
	}
	return hp.Dispatch.Push(ctx, choreFor(choreHarvest, a.ID).entry(h.At))
}

// signupGrace is how long an account that is new, or here again, is left to
// whoever signs it up and begins a run himself.
const signupGrace = time.Minute

// ensureHarvests plans what is missing of all accounts.
func (hp *harvestPlanner) ensureHarvests(ctx context.Context) error {
	if len(hp.cfg.Harvests) == 0 {
		return nil
	}
	accounts, err := hp.State.Accounts.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if err := hp.ensureHarvest(ctx, a.ID); err != nil {
			return err
		}
	}
	return nil
}

func encodeSchedule(p schedule.Policy) ([]byte, error) {
	if p == (schedule.Policy{}) {
		return nil, nil
	}
	return json.Marshal(p)
}

// quotaMargin is how long after the reset an account's run goes on.
func (hp *harvestPlanner) quotaMargin(ctx context.Context, a account) time.Duration {
	policy, harvested, err := hp.scheduleOf(ctx, a.Account)
	if err != nil || !harvested {
		return 0
	}
	return policy.QuotaMargin()
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
