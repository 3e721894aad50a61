package engine

import (
	"context"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// reserve asks for a job's call: from the ration of its account's owner and,
// if that refuses and the operator allows lending, for public data from those
// of the others. It returns whose credential is to make the call.
func (e *Engine) reserve(ctx context.Context, src source.Source, job domain.JobSpec, a account) (account, quota.Decision, error) {
	d, err := e.reserveFrom(ctx, src, job, a)
	if err != nil || d.Granted || !e.cfg.PoolTokens {
		return a, d, err
	}
	if public, ok := src.(source.Lendable); !ok || !public.Public(job) {
		return a, d, nil
	}
	lenders, err := e.accounts.lenders(ctx, a)
	if err != nil {
		return a, d, err
	}
	for _, lender := range lenders {
		lent, err := e.reserveFrom(ctx, src, job, lender)
		if err != nil {
			return a, d, err
		}
		if lent.Granted {
			return lender, lent, nil
		}
		// The lane opens when the first of them has something to lend.
		if lent.RetryAt.Before(d.RetryAt) {
			d = lent
		}
	}
	return a, d, nil
}

// reserveFrom asks one owner, who may keep some hours and calls for himself.
func (e *Engine) reserveFrom(ctx context.Context, src source.Source, job domain.JobSpec, a account) (quota.Decision, error) {
	if until, ok := a.Hours.Until(e.cfg.Now()); ok {
		return quota.Decision{RetryAt: until, Reason: quota.ReasonHours}, nil
	}
	ask, err := src.Ask(job, a.Owner)
	if err != nil {
		return quota.Decision{}, err
	}
	ask.Floor = a.Floor
	return e.Quota.Reserve(ctx, ask)
}

// lenders are the other active accounts of the same source, one for each owner.
func (c *accountCache) lenders(ctx context.Context, borrower account) ([]account, error) {
	all, err := c.active(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{borrower.Owner: true}
	var out []account
	for _, a := range all {
		if a.Source == borrower.Source && !seen[a.Owner] {
			seen[a.Owner] = true
			out = append(out, a)
		}
	}
	return out, nil
}

// active returns all active accounts. The list is read again after any account
// has changed.
func (c *accountCache) active(ctx context.Context) ([]account, error) {
	c.mu.RLock()
	list, upToDate, before := c.list, c.listed == c.forgotten+1, c.forgotten
	c.mu.RUnlock()
	if upToDate {
		return list, nil
	}
	stored, err := c.store.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	list = nil
	for _, s := range stored {
		if s.State != domain.AccountActive {
			continue
		}
		a, err := c.get(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.listed = list, before+1
	return list, nil
}
