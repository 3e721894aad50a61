package mysql

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
	return c.finish.outcome.Job
}

func (c *call) fail(err error) {
	if c.claim != nil {
		c.claim.err = err
		return
	}
	c.finish.effect, c.finish.err = state.Effect{}, err
}

// apply commits a group of calls in one transaction and, if that is refused
// for what one of them holds, each in one of its own, so that only the culprit
// fails.
func (s *Store) apply(ctx context.Context, calls []*call) error {
	err := s.applyTogether(ctx, calls)
	if err == nil || len(calls) == 1 || domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	for i, c := range calls {
		if err := s.applyTogether(ctx, calls[i:i+1]); err != nil {
			c.fail(err)
		}
	}
	return nil
}

func (s *Store) applyTogether(ctx context.Context, calls []*call) error {
	next := 0
	for _, c := range calls {
		if c.finish != nil {
			next += len(c.finish.outcome.Next)
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
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		g = newGroup(s, tx, first)
		return g.apply(ctx, calls)
	})
	if err == nil {
		g.learned()
	}
	return err
}

// group is a group of claims and outcomes being applied.
type group struct {
	store *Store
	tx    *sql.Tx
	// items are the outcomes that may be applied, won the claims.
	items   []*finishItem
	won     []*claimItem
	runs    map[int64]*runDelta
	firstID int64
	// closing are runs whose last job has ended with this group.
	closing []int64
}

func newGroup(s *Store, tx *sql.Tx, firstID int64) *group {
	return &group{store: s, tx: tx, runs: map[int64]*runDelta{}, firstID: firstID}
}

// learned remembers what a group that is committed has created, and forgets
// what it has ended.
func (g *group) learned() {
	ended, _ := g.pick(true)
	g.store.memory.forget(ended)
	for _, item := range g.items {
		g.store.memory.learnJobs(item.effect.Rows)
	}
}

// take takes steps until one fails.
func (g *group) take(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// apply takes one statement for each thing there is to do, not for each call.
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
			g.checkFinish(c.finish, fences[c.finish.outcome.Job])
		}
	}
	err = g.take(ctx,
		g.claim, g.lockFailing, g.succeed, g.moveOthers, g.createNext, g.writeDocuments, g.remember, g.dropResources,
		g.settleRuns, g.learnOwners, g.pauseAccounts, g.holdPaused, g.closeRuns, g.putWindows)
	if err != nil {
		return err
	}
	return answerRepeated(ctx, g.tx, calls)
}

// fence is what decides whether a claim or an outcome may be applied: the job
// as it stands.
type fence struct {
	facts
	status  domain.JobStatus
	attempt int64
	// version is the account's.
	version int64
}

// lockFences locks the jobs. The account is not locked: a claim that comes
// while it changes may go by either version.
func (g *group) lockFences(ctx context.Context, calls []*call) (map[int64]*fence, error) {
	fences := make(map[int64]*fence, len(calls))
	for _, c := range calls {
		fences[c.job()] = nil
	}
	const columns = `id, run_id, account_id, priority, status, attempt, expected,
		COALESCE((SELECT version FROM account WHERE account.id = job.account_id), 0)`
	err := lockJobs(ctx, g.tx, slices.Sorted(maps.Keys(fences)), columns, nil, func(r *sql.Rows) error {
		var id int64
		f := &fence{}
		err := r.Scan(&id, &f.run, &f.account, &f.priority, &f.status, &f.attempt, &f.expected, &f.version)
		fences[id] = f
		if err == nil {
			g.store.memory.learn(id, f.facts)
		}
		return err
	})
	return fences, err
}
