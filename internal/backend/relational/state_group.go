package relational

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"sluice/internal/domain"

	"sluice/internal/state"
)

// call is one Claim or one Finish on its way to the server. Both share
// transactions: what costs is their number, and that of their statements.
type call struct {
	claim  *claimItem
	finish *finishItem
}

func (c *call) job() int64 {
	if c.claim != nil {
		return c.claim.claim.Job
	}
	return c.finish.Outcome.Job
}

func (c *call) fail(err error) {
	if c.claim != nil {
		c.claim.err = err
		return
	}
	c.finish.Effect, c.finish.Err = state.Effect{}, err
}

// apply commits a group of calls in one transaction. If that is refused for
// what one of them holds, each is committed in one of its own, so that only the
// culprit fails; if one of them needs what somebody else has locked, the others
// do not wait for it.
func (s *State) apply(ctx context.Context, calls []*call) error {
	err := s.applyTogether(ctx, calls)
	switch {
	case s.db.IsLocked(err):
		return s.applyAround(ctx, calls)
	case err == nil || len(calls) == 1 || domain.CodeOf(err) == domain.CodeUnavailable:
		return err
	}
	for i, c := range calls {
		if err := s.applyTogether(ctx, calls[i:i+1]); err != nil {
			c.fail(err)
		}
	}
	return nil
}

func (s *State) applyTogether(ctx context.Context, calls []*call) error {
	next := 0
	for _, c := range calls {
		if c.finish != nil {
			next += len(c.finish.Outcome.Next)
		}
	}
	first, err := s.jobIDs.Take(ctx, next)
	if err != nil {
		return err
	}
	if applied, err := s.applyQuickly(ctx, calls, first); applied {
		return err
	}
	var g *group
	apply := func(careful bool) error {
		return s.db.TxNoWait(ctx, func(tx *Tx) error {
			g = newGroup(s, tx, first)
			g.careful = careful
			return g.apply(ctx, calls)
		})
	}
	if err = apply(false); s.db.IsRefused(err) {
		err = apply(true)
	}
	if err == nil {
		g.learned()
	}
	return err
}

// group is a group of claims and outcomes being applied.
type group struct {
	*state.Commit
	store *State
	tx    *Tx
	// items are the outcomes that may be applied, won the claims.
	items []*finishItem
	won   []*claimItem
	// careful says that more follows from it than from what it counts, or may.
	careful bool
	// closing are runs whose last job has ended with this group.
	closing []int64
}

func newGroup(s *State, tx *Tx, firstID int64) *group {
	return &group{Commit: state.NewCommit(s.rows(tx, firstID)), store: s, tx: tx}
}

// learned remembers what a group that is committed has created, and forgets
// what it has ended.
func (g *group) learned() {
	ended, _ := g.pick(true)
	g.store.memory.forget(ended)
	for _, item := range g.items {
		g.store.memory.learnJobs(item.Effect.Rows)
	}
}

// apply takes one statement for each thing there is to do, not for each call.
// What there is to do is for state.Commit to say.
func (g *group) apply(ctx context.Context, calls []*call) error {
	fences, err := g.lockFences(ctx, calls)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.claim != nil {
			g.checkClaim(c.claim, fences[c.claim.claim.Job])
		}
	}
	for _, c := range calls {
		if c.finish != nil {
			g.admit(c.finish, fences[c.finish.Outcome.Job])
		}
	}
	return g.Take(ctx,
		g.claim, g.lockFailing, g.succeed, g.moveOthers, g.CreateNext, g.writeDocuments, g.remember, g.dropResources, g.end, g.AnswerRepeated)
}

// lockFences locks the jobs. The account is not locked: a claim that comes
// while it changes may go by either version.
func (g *group) lockFences(ctx context.Context, calls []*call) (map[int64]*state.Held, error) {
	fences := make(map[int64]*state.Held, len(calls))
	for _, c := range calls {
		fences[c.job()] = nil
	}
	const columns = `id, run_id, account_id, priority, status, attempt, expected,
		COALESCE((SELECT version FROM account WHERE account.id = job.account_id), 0)`
	err := lockJobs(ctx, g.tx, slices.Sorted(maps.Keys(fences)), columns, nil, func(r *sql.Rows) error {
		var id int64
		f := &state.Held{}
		err := r.Scan(&id, &f.Run, &f.Account, &f.Priority, &f.Status, &f.Attempt, &f.Expected, &f.Version)
		fences[id] = f
		if err == nil {
			g.store.memory.learn(id, factsOf(f))
		}
		return err
	})
	return fences, err
}
