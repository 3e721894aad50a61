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

// A harvest is a run that nobody asked for: an account's turn has come again.
// When it comes is planned when a run ends, kept in the state, and waits in
// dispatch as a chore.

// scheduleOf returns by which policy an account is collected again; false if
// its source's are not collected by themselves.
func (e *Engine) scheduleOf(ctx context.Context, a domain.Account) (schedule.Policy, bool, error) {
	base, ok := e.cfg.Harvests[a.Source]
	if !ok {
		return schedule.Policy{}, false, nil
	}
	text, err := e.State.Schedule(ctx, a.ID)
	if err != nil {
		return schedule.Policy{}, false, err
	}
	own, err := schedule.Parse(text)
	if err != nil {
		// It was checked when it was stored: a version that knew more wrote it.
		e.cfg.Log.Warn("an account's schedule is not understood", "account", a.Login, "error", err)
		own = schedule.Policy{}
	}
	return own.Over(base), true, nil
}

// SetSchedule says how an account is collected again, over what holds for its
// source, and plans its next harvest anew. The zero policy leaves everything to
// the source.
func (e *Engine) SetSchedule(ctx context.Context, account int64, p schedule.Policy) (domain.Harvest, error) {
	a, err := e.State.Account(ctx, account)
	if err != nil {
		return domain.Harvest{}, err
	}
	if err := p.Over(e.cfg.Harvests[a.Source]).Check(); err != nil {
		return domain.Harvest{}, err
	}
	text, err := encodeSchedule(p)
	if err != nil {
		return domain.Harvest{}, err
	}
	done, err := e.guard(ctx, account)
	if err != nil {
		return domain.Harvest{}, err
	}
	if err := e.State.SetSchedule(ctx, account, text); err != nil {
		return domain.Harvest{}, err
	}
	h, err := e.replan(ctx, a)
	if err == nil {
		done()
	}
	e.watchers.Notify()
	return h, err
}

// Schedule returns an account's own policy and its next harvest; the harvest's
// At is zero if none is planned, as while a run is under way, whose end plans
// what follows.
func (e *Engine) Schedule(ctx context.Context, account int64) (schedule.Policy, domain.Harvest, error) {
	a, err := e.State.Account(ctx, account)
	if err != nil {
		return schedule.Policy{}, domain.Harvest{}, err
	}
	text, err := e.State.Schedule(ctx, account)
	if err != nil {
		return schedule.Policy{}, domain.Harvest{}, err
	}
	p, err := schedule.Parse(text)
	if err != nil || a.State == domain.AccountDeleted {
		return p, domain.Harvest{}, err
	}
	last, err := e.lastRun(ctx, account)
	if err != nil || last.Status.Active() {
		return p, domain.Harvest{}, err
	}
	h, found, err := e.State.Harvest(ctx, account)
	if err != nil || !found || overtaken(h, last) {
		return p, domain.Harvest{}, err
	}
	return p, h, nil
}

// ensureHarvest sees to it that an account without an active run has its next
// harvest planned and waiting. It may be repeated at any time.
func (e *Engine) ensureHarvest(ctx context.Context, account int64) error {
	if len(e.cfg.Harvests) == 0 {
		return nil
	}
	a, err := e.State.Account(ctx, account)
	if err != nil {
		return err
	}
	if a.State == domain.AccountDeleted {
		return e.State.DropHarvest(ctx, account)
	}
	last, err := e.lastRun(ctx, account)
	if err != nil || last.Status.Active() {
		// Its end plans what follows.
		return err
	}
	h, found, err := e.State.Harvest(ctx, account)
	if err != nil {
		return err
	}
	stands := found && !overtaken(h, last)
	if stands && h.Resume > 0 {
		// Somebody may have had its failed jobs done meanwhile.
		failed, err := e.passingFailures(ctx, last.ID)
		if err != nil {
			return err
		}
		stands = failed > 0
	}
	if !stands {
		_, err = e.replan(ctx, a)
		return err
	}
	return e.awaitHarvest(ctx, a, h)
}

// overtaken reports whether a run has ended since a harvest was planned: it was
// carried out, or somebody else's run came before it.
func overtaken(h domain.Harvest, last domain.Run) bool {
	return h.After < last.ID || !h.At.After(last.FinishedAt)
}

// lastRun returns an account's newest run; one without an id if there is none.
func (e *Engine) lastRun(ctx context.Context, account int64) (domain.Run, error) {
	runs, err := e.State.Runs(ctx, state.RunQuery{AccountID: account, Limit: 1})
	if err != nil || len(runs) == 0 {
		return domain.Run{Status: domain.RunCompleted}, err
	}
	return runs[0], nil
}

// replan plans an account's next harvest from how its last run ended.
//
// Whoever says how an account is collected plans after he has stored it. One who
// read the schedule before must not have the last word: here they take turns,
// and of another process's change one learns by looking again.
func (e *Engine) replan(ctx context.Context, a domain.Account) (domain.Harvest, error) {
	e.replans.Lock()
	defer e.replans.Unlock()
	for {
		before, err := e.State.Schedule(ctx, a.ID)
		if err != nil {
			return domain.Harvest{}, err
		}
		h, err := e.planNext(ctx, a)
		if err != nil {
			return h, err
		}
		if after, err := e.State.Schedule(ctx, a.ID); err != nil || bytes.Equal(before, after) {
			return h, err
		}
	}
}

// planNext plans and stores an account's next harvest, and lets it wait.
func (e *Engine) planNext(ctx context.Context, a domain.Account) (domain.Harvest, error) {
	policy, harvested, err := e.scheduleOf(ctx, a)
	if err != nil || !harvested {
		return domain.Harvest{}, err
	}
	if a.State == domain.AccountDeleted {
		return domain.Harvest{}, e.State.DropHarvest(ctx, a.ID)
	}
	last, err := e.lastRun(ctx, a.ID)
	if err != nil || last.Status.Active() {
		return domain.Harvest{}, err
	}
	plan, err := e.planAfter(ctx, a, policy, last)
	if err != nil {
		return domain.Harvest{}, err
	}
	if plan.None() {
		return domain.Harvest{}, e.State.DropHarvest(ctx, a.ID)
	}
	if now := e.cfg.Now(); now.Sub(last.FinishedAt) > signupGrace {
		plan.At = latest(plan.At, now.Add(signupGrace))
	}
	h := domain.Harvest{
		AccountID: a.ID, After: last.ID, At: plan.At.Truncate(time.Microsecond), Priority: plan.Priority,
		Resume: plan.Resume, Tries: plan.Tries, Reason: plan.Reason,
	}
	if err := e.State.PlanHarvest(ctx, h); err != nil {
		return h, err
	}
	e.cfg.Log.Info("harvest planned", "account", a.Login, "run", h.Resume, "at", h.At, "priority", h.Priority, "reason", h.Reason)
	// An entry may wait for another instant.
	if err := e.Dispatch.Remove(ctx, choreID(choreHarvest, a.ID)); err != nil {
		return h, err
	}
	return h, e.awaitHarvest(ctx, a, h)
}

func (e *Engine) planAfter(ctx context.Context, a domain.Account, p schedule.Policy, last domain.Run) (schedule.Plan, error) {
	now := e.cfg.Now()
	if last.ID == 0 {
		return schedule.First(p, a.ID, now), nil
	}
	ended := schedule.Ended{Account: a.ID, Run: last.ID, RunBegan: last.CreatedAt, Now: now, Jobs: last.Known}
	h, found, err := e.State.Harvest(ctx, a.ID)
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
		if ended.FailedJobs, err = e.passingFailures(ctx, last.ID); err != nil {
			return schedule.Plan{}, err
		}
		ended.Failed = ended.FailedJobs > 0
	}
	windows, err := e.Quota.Windows(ctx, a.Owner)
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
func (e *Engine) passingFailures(ctx context.Context, run int64) (failed int64, err error) {
	q := state.JobQuery{RunID: run, Statuses: []domain.JobStatus{domain.JobFailed}, Limit: rebuildBatch}
	for {
		jobs, err := e.State.Jobs(ctx, q)
		if err != nil || len(jobs) == 0 {
			return failed, err
		}
		for _, job := range jobs {
			q.AfterID = job.ID
			if retryTable[job.ErrorKind].passes {
				failed++
			}
		}
	}
}

// awaitHarvest lets a harvest wait in dispatch. A paused account's does when
// the account is resumed.
func (e *Engine) awaitHarvest(ctx context.Context, a domain.Account, h domain.Harvest) error {
	if a.State != domain.AccountActive {
		return nil
	}
	return e.Dispatch.Push(ctx, choreEntry(choreHarvest, a.ID, h.At))
}

// signupGrace is how long an account that is new, or here again, is left to
// whoever signs it up and begins a run himself.
const signupGrace = time.Minute

// harvest begins or resumes the run of an account whose turn has come. It
// returns when to look at the account again.
func (e *Engine) harvest(ctx context.Context, account int64) (again time.Time, err error) {
	a, err := e.State.Account(ctx, account)
	if err != nil {
		return time.Time{}, err
	}
	if _, harvested := e.cfg.Harvests[a.Source]; !harvested {
		return time.Time{}, nil
	}
	now := e.cfg.Now()
	switch a.State {
	case domain.AccountDeleted:
		e.cfg.Log.Info("harvest skipped: the account is deleted", "account", a.Login)
		return time.Time{}, e.State.DropHarvest(ctx, account)
	case domain.AccountPaused:
		return time.Time{}, nil
	}
	last, err := e.lastRun(ctx, account)
	if err != nil {
		return time.Time{}, err
	}
	if last.Status.Active() {
		// Its end plans what follows. Whoever began it may not have come to
		// planning its jobs.
		_, err = e.resume(ctx, last)
		return time.Time{}, err
	}
	h, found, err := e.State.Harvest(ctx, account)
	if err == nil && (!found || overtaken(h, last)) {
		// Whoever ended the run did not come to planning the next.
		h, err = e.replan(ctx, a)
		found = !h.At.IsZero()
	}
	switch {
	case err != nil:
		return time.Time{}, err
	case !found:
		return time.Time{}, nil
	case h.At.After(now):
		return h.At, nil
	}
	return e.beginHarvest(ctx, h)
}

// beginHarvest does what was planned for now. It returns when to see whether it
// has ended: that may be before the chore is done with.
func (e *Engine) beginHarvest(ctx context.Context, h domain.Harvest) (again time.Time, err error) {
	soon := e.cfg.Now().Add(e.cfg.Lease)
	if h.Resume > 0 {
		_, err = e.ResumeRun(ctx, h.Resume, h.Priority)
		if domain.CodeOf(err) != domain.CodeConflict {
			return soon, err
		}
		// Nothing of it can go on; a new run collects what is missing.
	}
	_, err = e.StartRun(ctx, h.AccountID, domain.TriggerSchedule, h.Priority)
	if domain.CodeOf(err) == domain.CodeConflict {
		// One is under way; its end plans what follows.
		return time.Time{}, nil
	}
	return soon, err
}

// ensureHarvests plans what is missing of all accounts.
func (e *Engine) ensureHarvests(ctx context.Context) error {
	if len(e.cfg.Harvests) == 0 {
		return nil
	}
	accounts, err := e.State.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if err := e.ensureHarvest(ctx, a.ID); err != nil {
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
