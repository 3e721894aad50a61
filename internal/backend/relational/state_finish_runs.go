package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// end brings the counters up to date, does what follows from that, and commits.
// Whoever creates or ends jobs holds the run's row from here on until it has
// committed: of two that end the last two jobs, in whatever processes, the
// second counts to zero. In the common case nothing follows, and all of it is
// one trip: a machine that vanishes keeps no run from the others.
func (g *group) end(ctx context.Context) error {
	if len(g.Runs) == 0 {
		return nil
	}
	if g.special() {
		if _, err := g.addToRuns().Exec(ctx, g.tx); err != nil {
			return err
		}
	} else if committed, err := g.settle(ctx); committed || !g.store.db.IsRefused(err) || g.tx.Dialect().ErrorEndsTransaction {
		return err
	}
	return g.Take(ctx, g.findClosing, g.learnOwners, g.learnTargets, g.PauseAccounts, g.HoldPaused, g.closeRuns, g.putWindows)
}

// special reports whether more follows from an outcome than from what it counts.
func (g *group) special() bool {
	return g.careful || len(g.Repeated) > 0 || slices.ContainsFunc(g.items, func(item *finishItem) bool {
		o := &item.Outcome
		return o.Owner != "" || o.Target != "" || o.PauseAccount != "" || o.FailRun != ""
	})
}

// settle brings the counters up to date, stores the quota windows and commits,
// in one trip with the statements that precede it. It is refused, with the
// counters as they are to be if the server goes on after that, if a run has no job
// left or an account is paused for which jobs would wait.
func (g *group) settle(ctx context.Context, first ...*Statement) (committed bool, err error) {
	statements := append(first, g.addToRuns(), g.tx.Dialect().Refuse(g.followUps()))
	if windows := g.windows(); len(windows) > 0 {
		statements = append(statements, insertWindow.Statement(g.tx.Dialect(), windowRows(windows)))
	}
	if !Fits(statements...) {
		if _, err := Batch(ctx, g.tx, statements[:len(first)+2]...); err != nil {
			return false, err
		}
		return true, g.putWindows(ctx)
	}
	_, err = Batch(Final(ctx), g.tx, statements...)
	return err == nil, err
}

// followUps counts what a group has to look after once its counters are right.
// The accounts stay locked, shared with others that do the same: whoever pauses
// one waits until this is committed.
func (g *group) followUps() *Statement {
	s := &Statement{}
	s.Write("(SELECT COUNT(*) FROM run WHERE id IN (").Ints(g.RunIDs()...).Write(") AND " + withoutJobs).Int(int64(domain.RunRunning)).Write(")")
	if accounts := g.Leaving(); len(accounts) > 0 {
		// Rows that a condition leaves out would not stay locked.
		s.Write(" + (SELECT COUNT(CASE WHEN state = '" + string(domain.AccountPaused) + "' THEN 1 END) FROM (SELECT state FROM account WHERE id IN (")
		s.Ints(accounts...).Write(") ORDER BY id ").Write(g.tx.Dialect().ForShare).Write(") AS held)")
	}
	return s
}

// withoutJobs, and the number of RUNNING, is the condition for a run to close.
const withoutJobs = "pending <= 0 AND status = "

// addToRuns leaves out counters that stay as they are.
func (g *group) addToRuns() *Statement {
	ids := g.RunIDs()
	s := &Statement{}
	add := func(column string, value func(*state.RunChange) int64) {
		of := func(i int) int64 { return value(g.Runs[ids[i]]) }
		for i := range ids {
			if of(i) != 0 {
				s.Write(column+" = "+column+" + ").CaseInt(ids, of).Write(", ")
				return
			}
		}
	}
	s.Write("UPDATE run SET ")
	add("calls", func(d *state.RunChange) int64 { return d.Calls })
	add("known", func(d *state.RunChange) int64 { return d.Known })
	add("pending", func(d *state.RunChange) int64 { return d.Pending })
	add("succeeded", func(d *state.RunChange) int64 { return d.Succeeded })
	add("failed", func(d *state.RunChange) int64 { return d.Failed })
	add("documents", func(d *state.RunChange) int64 { return d.Documents })
	s.Write("canceled = canceled + ").CaseInt(ids, func(i int) int64 { return g.Runs[ids[i]].Canceled })
	s.Write(" WHERE id IN (").Ints(ids...).Write(")")
	return s
}

// findClosing finds the runs that have no job left.
func (g *group) findClosing(ctx context.Context) (err error) {
	var find Statement
	find.Write("SELECT id FROM run WHERE id IN (").Ints(g.RunIDs()...).Write(") AND " + withoutJobs).Int(int64(domain.RunRunning))
	g.closing, err = selectIDs(ctx, g.tx, &find)
	return err
}

// learnTargets keeps what accounts turned out to be.
func (g *group) learnTargets(ctx context.Context) error {
	for _, item := range g.items {
		if item.Outcome.Target == "" {
			continue
		}
		var learn Statement
		learn.Write("UPDATE account SET target = ").Text(string(item.Outcome.Target)).Write(", version = version + 1 WHERE id = ").Int(item.Held.Account)
		if _, err := learn.Write(" AND target <> ").Text(string(item.Outcome.Target)).Exec(ctx, g.tx); err != nil {
			return err
		}
	}
	return nil
}

// learnOwners tells every account with the same credential whose ration it
// draws on.
func (g *group) learnOwners(ctx context.Context) error {
	for _, item := range g.items {
		if item.Outcome.Owner == "" {
			continue
		}
		credential := ""
		err := Query(ctx, g.tx, func(r *sql.Rows) error { return r.Scan(&credential) },
			"SELECT credential_hash FROM account WHERE id = ?", item.Held.Account)
		if err != nil {
			return err
		}
		var learn Statement
		learn.Write("UPDATE account SET owner = ").Text(item.Outcome.Owner).Write(", version = version + 1 WHERE credential_hash = ")
		// Spaces at the end count, which not every server would notice.
		learn.Blob([]byte(credential)).Write(" AND CONCAT(owner, '.') <> ").Text(item.Outcome.Owner + ".")
		if _, err := learn.Exec(ctx, g.tx); err != nil {
			return err
		}
	}
	return nil
}

// closeRuns closes the runs whose last job has ended, and those that failed.
func (g *group) closeRuns(ctx context.Context) error {
	for _, id := range g.RunIDs() {
		if g.Run(id).FailReason == "" && !slices.Contains(g.closing, id) {
			continue
		}
		if err := g.CloseRun(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// windows are those that came with claims and outcomes.
func (g *group) windows() state.NewestWindows {
	windows := state.NewestWindows{}
	for _, item := range g.won {
		windows.Add(item.claim.Window)
	}
	for _, item := range g.items {
		windows.Add(item.Outcome.Window)
	}
	return windows
}

// putWindows stores the quota windows.
func (g *group) putWindows(ctx context.Context) error { return putWindows(ctx, g.tx, g.windows()) }
