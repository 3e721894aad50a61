package state

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Sharing lets accounts that have the same credential, and so the same sight,
// collect once what several of them reach. Who leads a resource collects it; the
// others copy what it has.
type Sharing interface {
	// Lead says who leads resources for the accounts with a credential: whoever
	// asked first, as long as it is active and has that credential, and was not
	// taken over from (LeadQuery.Over). Of those that ask at the same time one
	// leads, and the others are told.
	Lead(ctx context.Context, q LeadQuery) ([]domain.Leader, error)
	// CursorsOf returns those of an account's cursors that have one of the names.
	CursorsOf(ctx context.Context, account int64, names []string) (map[string]time.Time, error)
	// PagesOf lists the stored pages of an account that have a resource as a word of
	// their key.
	PagesOf(ctx context.Context, account int64, resource string) ([]domain.Page, error)
}

// LeadQuery asks who leads resources.
type LeadQuery struct {
	// Account and Run are who asks, and leads where nobody else does.
	Account, Run int64
	Resources    []string
	// Over, if set, is the leader of one of the resources that is of no use to the
	// account: it leads instead, unless somebody else does by now.
	Over domain.Leader
}

// ShareRows are the rows of who leads what.
type ShareRows interface {
	// LockLeads locks who leads the resources for the accounts with the credential
	// of the one that asks, and returns it in the order of the resources. Where
	// nobody did, the account does now.
	LockLeads(ctx context.Context, account, run int64, resources []string) ([]Led, error)
	// WriteLeads lets an account lead resources whose rows are locked.
	WriteLeads(ctx context.Context, account, run int64, resources []string) error
}

// Led is a resource that somebody leads, with what decides whether it goes on to.
type Led struct {
	domain.Leader
	State domain.AccountState
	// Same says that it still has the credential of the account that asks.
	Same bool
}

// takes says whether the account that asks leads from now on.
func (q *LeadQuery) takes(l *Led) bool {
	switch {
	case l.Account == q.Account:
		return l.Run != q.Run
	case l.State != domain.AccountActive || !l.Same:
		return true
	}
	return l.Resource == q.Over.Resource && l.Account == q.Over.Account && l.Run == q.Over.Run
}

// Lead implements Sharing.
func (c Changes) Lead(ctx context.Context, q LeadQuery) (leaders []domain.Leader, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		me, err := findAccount(ctx, rows, q.Account)
		if err != nil {
			return err
		}
		led, err := rows.LockLeads(ctx, q.Account, q.Run, q.Resources)
		if err != nil {
			return err
		}
		leaders = make([]domain.Leader, len(led))
		var mine []string
		for i := range led {
			leaders[i] = led[i].Leader
			if q.takes(&led[i]) {
				mine = append(mine, led[i].Resource)
				run, err := rows.FindRun(ctx, q.Run)
				if err != nil {
					return err
				}
				leaders[i] = domain.Leader{Resource: led[i].Resource, Account: me.ID, Run: q.Run, Login: me.Login, Busy: true, Anchor: run.Anchor}
			}
		}
		if len(mine) == 0 {
			return nil
		}
		return rows.WriteLeads(ctx, q.Account, q.Run, mine)
	})
	return leaders, err
}
