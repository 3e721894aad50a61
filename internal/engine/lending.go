package engine

import (
	"context"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// permits gets calls from the rations of owners, and gives back what is known
// when they have been made.
type permits struct {
	*core
	loans *loans
}

func newPermits(c *core) *permits { return &permits{core: c, loans: newLoans()} }

// offer is the answer to a job's request for a call.
type offer struct {
	quota.Decision
	// caller is whose credential is to make the call.
	caller account
	// alone is set when the refusal is about this job and not about others of its
	// lane: theirs may be lent what this one may not.
	alone bool
}

// reserve asks for a job's call: from the ration of its account's owner and,
// if that refuses and the operator allows lending, for public data from those
// of the others.
func (ps *permits) reserve(ctx context.Context, src source.Source, job domain.JobSpec, p domain.Priority, a account) (offer, error) {
	own := offer{caller: a}
	var err error
	own.Decision, err = ps.reserveFrom(ctx, src, job, p, a)
	if err != nil || own.Granted || !ps.cfg.PoolTokens {
		return own, err
	}
	lendable, ok := src.(source.Lendable)
	if !ok {
		return own, nil
	}
	lenders, err := ps.accounts.lenders(ctx, a)
	if err != nil {
		return own, err
	}
	if !lendable.Public(job) {
		own.alone, err = ps.anyCanLend(ctx, lenders, job.Bucket)
		return own, err
	}
	for _, lender := range lenders {
		lent, err := ps.reserveFromLender(ctx, src, job, p, lender)
		if err != nil {
			return own, err
		}
		if lent.Granted {
			return offer{Decision: lent, caller: lender}, nil
		}
		// The lane opens when the first of them has something to lend.
		if lent.RetryAt.Before(own.RetryAt) {
			own.Decision = lent
		}
	}
	return own, nil
}

// reserveFromLender asks a lender for a call. One whose credential has not made a call yet
// lends one at a time: it may have been revoked.
func (ps *permits) reserveFromLender(ctx context.Context, src source.Source, job domain.JobSpec, p domain.Priority, lender account) (quota.Decision, error) {
	if wait := ps.loans.begin(lender, ps.cfg.Now()); wait > 0 {
		return quota.Decision{RetryAt: ps.cfg.Now().Add(wait), Reason: quota.ReasonTrial}, nil
	}
	d, err := ps.reserveFrom(ctx, src, job, p, lender)
	ps.loans.granted(lender.Owner, d)
	return d, err
}

// anyCanLend tells whether one of them has something left that a job of the
// bucket could borrow, or may have when calls under way are answered.
func (ps *permits) anyCanLend(ctx context.Context, lenders []account, bucket string) (bool, error) {
	for _, lender := range lenders {
		windows, err := ps.Quota.Windows(ctx, lender.Owner)
		if err != nil {
			return false, err
		}
		_, busy := lender.Hours.Until(ps.cfg.Now())
		spent := slices.ContainsFunc(windows, func(w quota.Window) bool { return w.Bucket == bucket && w.Available == 0 && w.InFlight == 0 })
		if !busy && !spent {
			return true, nil
		}
	}
	return false, nil
}

// reserveFrom asks one owner, who may keep some hours and calls for himself.
func (ps *permits) reserveFrom(ctx context.Context, src source.Source, job domain.JobSpec, p domain.Priority, a account) (quota.Decision, error) {
	if until, ok := a.Hours.Until(ps.cfg.Now()); ok {
		return quota.Decision{RetryAt: until, Reason: quota.ReasonHours}, nil
	}
	ask, err := src.Ask(job, a.Owner)
	if err != nil {
		return quota.Decision{}, err
	}
	ask.Floor, ask.Low = a.Floor, p == domain.PriorityLow
	return ps.Quota.Reserve(ctx, ask)
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

// listTime is for how long the list of active accounts is used: other processes
// add, change and pause accounts without telling.
const listTime = time.Minute

// active returns all active accounts. The list is read again after any account
// has changed here, and when it is old.
func (c *accountCache) active(ctx context.Context) ([]account, error) {
	c.mu.RLock()
	now := c.now()
	list, before := c.list, c.forgotten
	age := now.Sub(c.listedAt)
	upToDate := c.listed == before+1 && age >= 0 && age < listTime
	c.mu.RUnlock()
	if upToDate {
		return list, nil
	}
	stored, err := c.store.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	c.forgetOlder(stored)
	list = nil
	for _, s := range stored {
		if s.State != domain.AccountActive {
			continue
		}
		a, err := c.get(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if a.unreadable == nil {
			list = append(list, a)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.listed, c.listedAt = list, before+1, now
	return list, nil
}

// permitOwed is what is logged while the keeper does not take a permit back.
const permitOwed = "the quota keeper does not take a permit back; trying again"

// endPermit ends a permit; one that the keeper does not take now is owed to it.
func (ps *permits) endPermit(ctx context.Context, p quota.Permit, r quota.Response, free bool) {
	give := ps.Quota.Settle
	if free {
		give = ps.Quota.Refund
	}
	ps.loans.ended(p, r.Succeeded)
	if err := give(ctx, p, r); err != nil {
		ps.cfg.Log.Warn(permitOwed, "owner", p.Owner, "error", err)
		ps.retries.add(permitOwed, func(ctx context.Context) error { return give(ctx, p, r) })
	}
}

func (ps *permits) refund(ctx context.Context, p quota.Permit) {
	if p.Owner == "" {
		return // of a job that makes no call
	}
	ps.endPermit(ctx, p, quota.Response{}, true)
}
