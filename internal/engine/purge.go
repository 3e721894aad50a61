package engine

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// purgeBatch is how many rows are removed in one transaction.
const purgeBatch = 1000

// PurgeAccount removes everything of an account from every store, and returns what
// it removed. A purge that was interrupted goes on, with the next call or with the
// next start. While a run is active it is refused, unless the run is to be
// canceled; a call that is under way then is dropped when it comes back.
func (r *requests) PurgeAccount(ctx context.Context, id int64, cancel bool) (state.Purged, error) {
	a, err := r.State.Accounts.Account(ctx, id)
	if err != nil {
		return nil, err
	}
	if a.State != domain.AccountPurged && cancel {
		// No run of a deleted account begins.
		if err := r.DeleteAccount(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := r.State.Purges.BeginPurge(ctx, id); err != nil {
		return nil, err
	}
	return r.purge(ctx, a)
}

// purge goes on with a purge that was begun, to its end.
func (c *core) purge(ctx context.Context, a domain.Account) (state.Purged, error) {
	c.accounts.forget(a.ID)
	if err := c.Dispatch.Remove(ctx, choreFor(choreHarvest, a.ID).id()); err != nil {
		return nil, err
	}
	purged := state.Purged{}
	for {
		batch, err := c.State.Purges.PurgeBatch(ctx, a.ID, purgeBatch)
		purged.Add(batch)
		if err != nil {
			return purged, err
		}
		if batch.Total() == 0 {
			break
		}
	}
	removed, err := c.purgeDocuments(ctx, a.ID)
	purged.Add(state.Purged{state.PurgedDocuments: removed})
	if err != nil {
		return purged, err
	}
	if _, err := c.State.Purges.EndPurge(ctx, a.ID); err != nil {
		return purged, err
	}
	c.accounts.forget(a.ID)
	c.cfg.Log.Info("an account was purged", "account", a.ID)
	c.watchers.Notify()
	return purged, nil
}

// purgeDocuments removes an account's documents from a store of their own.
func (c *core) purgeDocuments(ctx context.Context, account int64) (removed int64, err error) {
	if c.Documents == nil {
		return 0, nil
	}
	for {
		n, err := c.Documents.Purge(ctx, account, purgeBatch)
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// dropLate removes what a result brought to a separate document store that came
// too late: its account was purged meanwhile.
func (c *core) dropLate(ctx context.Context, account int64) error {
	if c.Documents == nil {
		return nil
	}
	a, err := c.State.Accounts.Account(ctx, account)
	if err != nil || a.State != domain.AccountPurged {
		return err
	}
	_, err = c.purgeDocuments(ctx, account)
	return err
}

// resumePurges goes on with purges that were interrupted. Documents in a store of
// their own are looked for once more of every purged account: whoever stored a late
// result may have died before it was removed again.
func (cr *choreRunner) resumePurges(ctx context.Context) error {
	q := state.AccountList{States: []domain.AccountState{domain.AccountPurged}}
	for {
		page, err := cr.State.Lists.ListAccounts(ctx, q)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			if a.Login != domain.PurgedLogin(a.ID) {
				err = cr.Dispatch.Push(ctx, choreFor(chorePurge, a.ID).entry(time.Time{}))
			} else {
				_, err = cr.purgeDocuments(ctx, a.ID)
			}
			if err != nil {
				return err
			}
		}
		if q.After = page.Next; q.After == 0 {
			return nil
		}
	}
}

// runPurge is the chore that goes on with a purge.
func (cr *choreRunner) runPurge(ctx context.Context, account int64) error {
	a, err := cr.State.Accounts.Account(ctx, account)
	if err != nil || a.State != domain.AccountPurged {
		// Somebody signed it up again.
		return err
	}
	_, err = cr.purge(ctx, a)
	return err
}

// refusePurged refuses what cannot be done for an account of which everything was
// removed, or is being removed.
func refusePurged(a domain.Account) error {
	if a.State == domain.AccountPurged {
		return domain.Errorf(domain.CodeConflict, "account %s is purged: %s", a.Login, a.Reason)
	}
	return nil
}

// refuseIfPurged is the same for an account that is to be looked up.
func (c *core) refuseIfPurged(ctx context.Context, account int64) error {
	a, err := c.State.Accounts.Account(ctx, account)
	if err != nil {
		return err
	}
	return refusePurged(a)
}
