package mysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// runDelta is what a group changes in one run's counters.
type runDelta struct {
	calls, known, pending, succeeded, failed, canceled, documents int64
	failReason                                                    string
	// closer is told if the run closes: the last of the group to finish.
	closer *finishItem
}

// end counts a job that has ended.
func (d *runDelta) end(item *finishItem) {
	d.pending--
	d.known += 1 - item.fence.expected
	if item.outcome.To == domain.JobSucceeded {
		d.succeeded++
	} else {
		d.failed++
	}
}

// delta returns what the group changes in a run.
func (g *group) delta(run int64) *runDelta {
	d := g.runs[run]
	if d == nil {
		d = &runDelta{}
		g.runs[run] = d
	}
	return d
}

// finisher is delta for an outcome, which is the last of the run so far.
func (g *group) finisher(item *finishItem) *runDelta {
	d := g.delta(item.fence.run)
	d.closer = item
	return d
}

// runIDs returns the runs of the group in ascending order.
func (g *group) runIDs() []int64 { return slices.Sorted(maps.Keys(g.runs)) }

// settleRuns brings the counters up to date and finds out which runs have no
// job left. Whoever creates or ends jobs holds the run's row from here on until
// it has committed: of two that end the last two jobs, in whatever processes,
// the second counts to zero. That there is such a run is told with the answer
// to the UPDATE, by way of the last insert id, and spares the question.
func (g *group) settleRuns(ctx context.Context) error {
	if len(g.runs) == 0 {
		return nil
	}
	result, err := g.addToRuns().Exec(ctx, g.tx)
	if err != nil {
		return err
	}
	some, err := result.LastInsertId()
	if err != nil || some == 0 {
		return err
	}
	return g.findClosing(ctx)
}

// withoutJobs, and the number of RUNNING, is the condition for a run to close.
const withoutJobs = "pending <= 0 AND status = "

// addToRuns leaves out counters that stay as they are.
func (g *group) addToRuns() *mysqldb.Statement {
	ids := g.runIDs()
	s := &mysqldb.Statement{}
	add := func(column string, value func(*runDelta) int64) {
		of := func(i int) int64 { return value(g.runs[ids[i]]) }
		for i := range ids {
			if of(i) != 0 {
				s.Write(column+" = "+column+" + ").CaseInt(ids, of).Write(", ")
				return
			}
		}
	}
	s.Write("UPDATE run SET ")
	add("calls", func(d *runDelta) int64 { return d.calls })
	add("known", func(d *runDelta) int64 { return d.known })
	add("pending", func(d *runDelta) int64 { return d.pending })
	add("succeeded", func(d *runDelta) int64 { return d.succeeded })
	add("failed", func(d *runDelta) int64 { return d.failed })
	add("documents", func(d *runDelta) int64 { return d.documents })
	// Assignments are made from left to right: pending is the new one.
	s.Write("canceled = canceled + ").CaseInt(ids, func(i int) int64 { return g.runs[ids[i]].canceled })
	s.Write(" + IF(" + withoutJobs).Int(int64(domain.RunRunning)).Write(", 0 * LAST_INSERT_ID(id), 0) WHERE id IN (").Ints(ids...).Write(")")
	return s
}

// findClosing finds the runs that have no job left.
func (g *group) findClosing(ctx context.Context) (err error) {
	var find mysqldb.Statement
	find.Write("SELECT id FROM run WHERE id IN (").Ints(g.runIDs()...).Write(") AND " + withoutJobs).Int(int64(domain.RunRunning))
	g.closing, err = selectIDs(ctx, g.tx, &find)
	return err
}

// learnOwners tells every account with the same credential whose ration it
// draws on.
func (g *group) learnOwners(ctx context.Context) error {
	for _, item := range g.items {
		if item.outcome.Owner == "" {
			continue
		}
		credential := ""
		err := mysqldb.Query(ctx, g.tx, func(r *sql.Rows) error { return r.Scan(&credential) },
			"SELECT credential_hash FROM account WHERE id = ?", item.fence.account)
		if err != nil {
			return err
		}
		var learn mysqldb.Statement
		learn.Write("UPDATE account SET owner = ").Text(item.outcome.Owner).Write(", version = version + 1 WHERE credential_hash = ")
		learn.Blob([]byte(credential)).Write(" AND CAST(owner AS BINARY) <> ").Blob([]byte(item.outcome.Owner))
		if _, err := learn.Exec(ctx, g.tx); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) pauseAccounts(ctx context.Context) error {
	for _, item := range g.items {
		if item.outcome.PauseAccount == "" {
			continue
		}
		err := setAccountState(ctx, g.tx, item.fence.account, domain.AccountPaused, item.outcome.PauseAccount, mysqldb.Micros(item.outcome.At))
		if err != nil {
			return err
		}
	}
	return nil
}

// holdPaused keeps the jobs of paused accounts from waiting for a worker:
// those that waited when the account was paused, and those that a job which
// was under way then has created or left since. An outcome that leaves nothing
// waiting need not look.
func (g *group) holdPaused(ctx context.Context) error {
	byAccount := map[int64][]*finishItem{}
	look := map[int64]bool{}
	for _, item := range g.items {
		account := item.fence.account
		byAccount[account] = append(byAccount[account], item)
		if item.outcome.To == domain.JobReady || item.outcome.PauseAccount != "" || len(item.effect.Created) > 0 {
			look[account] = true
		}
	}
	paused, err := g.pausedAccounts(ctx, slices.Sorted(maps.Keys(look)))
	if err != nil {
		return err
	}
	for _, account := range paused {
		held, err := moveJobs(ctx, g.tx, account, domain.JobPaused, waiting...)
		if err != nil {
			return err
		}
		for _, item := range byAccount[account] {
			item.effect.Created = nil
		}
		last := byAccount[account][len(byAccount[account])-1]
		last.effect.Canceled = append(last.effect.Canceled, refIDs(held)...)
	}
	return nil
}

// pausedAccounts returns those of the accounts that are paused. Their rows stay
// locked, shared with others that do the same: whoever pauses one waits until
// this is committed.
func (g *group) pausedAccounts(ctx context.Context, ids []int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var find mysqldb.Statement
	// Rows that a condition leaves out would not stay locked.
	find.Write("SELECT id, state FROM account WHERE id IN (").Ints(ids...).Write(") ORDER BY id LOCK IN SHARE MODE")
	var paused []int64
	err := find.Query(ctx, g.tx, func(r *sql.Rows) error {
		var id int64
		var state domain.AccountState
		err := r.Scan(&id, &state)
		if state == domain.AccountPaused {
			paused = append(paused, id)
		}
		return err
	})
	return paused, err
}

// closeRuns closes the runs whose last job has ended, and those that failed.
func (g *group) closeRuns(ctx context.Context) error {
	for _, id := range g.runIDs() {
		d := g.runs[id]
		if d.closer == nil || (d.failReason == "" && !slices.Contains(g.closing, id)) {
			continue
		}
		if err := g.closeRun(ctx, id, d); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) closeRun(ctx context.Context, id int64, d *runDelta) error {
	run, err := findRun(ctx, g.tx, id)
	if err != nil || run.Status != domain.RunRunning {
		return err
	}
	to, at := domain.RunFinalizing, mysqldb.Micros(d.closer.outcome.At)
	if d.failReason != "" {
		to = domain.RunFailed
	}
	if err := moveRun(ctx, g.tx, &run, to, d.failReason, at); err != nil {
		return err
	}
	// Nothing is left, or nothing is to be left; Known becomes exact.
	canceled, err := cancelUnfinished(ctx, g.tx, &run, at)
	if err != nil {
		return err
	}
	g.retract(id, canceled)
	d.closer.effect.Canceled = append(d.closer.effect.Canceled, canceled...)
	d.closer.effect.Closed = &run
	return nil
}

// putWindows stores the quota windows that came with claims and outcomes.
func (g *group) putWindows(ctx context.Context) error {
	windows := newestWindows{}
	for _, item := range g.won {
		windows.add(item.claim.Window)
	}
	for _, item := range g.items {
		windows.add(item.outcome.Window)
	}
	return windows.put(ctx, g.tx)
}
