package state

import (
	"context"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// The steps of a commit that go from row to row in the same way on every store.

// Offer is Jobs.Finish for a store that packs documents before it is an outcome's
// turn: apply has the attempt judged and applied with others, and answered. A nil
// pack means that documents live elsewhere.
func Offer[P any](ctx context.Context, o Outcome, pack func(context.Context, []document.Document) (P, error), apply func(*Attempt, P) error) (Effect, error) {
	var packed P
	err := o.Check()
	if err == nil && pack != nil && len(o.Documents) > 0 {
		packed, err = pack(ctx, o.Documents)
	}
	if err != nil {
		return Effect{}, err
	}
	a := &Attempt{Outcome: o}
	if err := apply(a, packed); err != nil {
		return Effect{}, err
	}
	return a.Effect, a.Err
}

// Lost says that the claim did not win.
func (c *Claim) Lost() error {
	return domain.Errorf(domain.CodeStale, "job %d is not what it was at attempt %d", c.Job, c.Attempt)
}

// Take takes steps until one fails.
func (c *Commit) Take(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// CreateNext creates the jobs that the outcomes lead to.
func (c *Commit) CreateNext(ctx context.Context) error {
	next := c.Next()
	if len(next) == 0 {
		return nil
	}
	created, err := c.rows.InsertJobs(ctx, next)
	if err == nil {
		c.Created(created)
	}
	return err
}

// PauseAccounts pauses the accounts whose credentials were refused.
func (c *Commit) PauseAccounts(ctx context.Context) error {
	for _, a := range c.Attempts {
		if a.Outcome.PauseAccount == "" {
			continue
		}
		err := setAccountState(ctx, c.rows, a.Held.Account, domain.AccountPaused, a.Outcome.PauseAccount, a.Outcome.At)
		if err != nil {
			return err
		}
	}
	return nil
}

// HoldPaused keeps the jobs of paused accounts from waiting for a worker.
func (c *Commit) HoldPaused(ctx context.Context) error {
	look := c.Leaving()
	if len(look) == 0 {
		return nil
	}
	paused, err := c.rows.PausedAccounts(ctx, look)
	if err != nil {
		return err
	}
	for _, account := range paused {
		held, err := moveJobs(ctx, c.rows, account, domain.AccountPaused)
		if err != nil {
			return err
		}
		ids := make([]int64, len(held))
		for i := range held {
			ids[i] = held[i].ID
		}
		c.Hold(account, ids)
	}
	return nil
}

// CloseRun closes a run, whose counters are up to date and which is locked, if it
// is time for that.
func (c *Commit) CloseRun(ctx context.Context, id int64) error {
	run, err := c.rows.FindRun(ctx, id)
	if err != nil {
		return err
	}
	change := c.Run(id)
	if !change.Closes(&run) {
		return nil
	}
	canceled, err := c.rows.CancelUnfinished(ctx, id, change.Closer.Outcome.At)
	if err != nil {
		return err
	}
	if err := c.Close(&run, canceled); err != nil {
		return err
	}
	return c.rows.WriteRun(ctx, &run)
}

// AnswerRepeated tells the finishers of outcomes that were committed before.
func (c *Commit) AnswerRepeated(ctx context.Context) error {
	for _, a := range c.Repeated {
		children, err := c.rows.ChildJobs(ctx, a.Held.Run, a.Outcome.Job)
		if err != nil {
			return err
		}
		run, err := c.rows.FindRun(ctx, a.Held.Run)
		if err != nil {
			return err
		}
		a.Answer(children, &run)
	}
	return nil
}
