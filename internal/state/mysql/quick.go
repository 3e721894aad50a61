package mysql

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

// errOvertaken tells that a job of a group was not as the group expected it.
var errOvertaken = errors.New("a job is not what it was")

// applyQuickly applies a group of plain calls without reading their jobs
// first: it changes those that are as expected and learns from their number
// whether all of them were. If they were not, nothing is changed, and the way
// that looks at each of them has to be gone.
func (s *Store) applyQuickly(ctx context.Context, calls []*call, firstID int64) (applied bool, err error) {
	known := s.plain(calls)
	if known == nil {
		return false, nil
	}
	var g *group
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		g = newGroup(s, tx, firstID)
		return g.applyQuickly(ctx, calls, known)
	})
	if errors.Is(err, errOvertaken) {
		return false, nil
	}
	if err == nil {
		s.quick.Add(1)
		g.learned()
	}
	return true, err
}

// plain returns the facts about the calls' jobs if all of them are remembered,
// none occurs twice and no call does anything out of the ordinary.
func (s *Store) plain(calls []*call) []facts {
	seen := make(map[int64]struct{}, len(calls))
	for _, c := range calls {
		if c.finish != nil && !plainOutcome(&c.finish.outcome) {
			return nil
		}
		seen[c.job()] = struct{}{}
	}
	if len(seen) != len(calls) {
		return nil
	}
	return s.memory.recall(calls)
}

func plainOutcome(o *state.Outcome) bool {
	return o.To == domain.JobSucceeded && o.FailRun == "" && o.PauseAccount == "" && o.DropResource == "" && o.Owner == ""
}

func (g *group) applyQuickly(ctx context.Context, calls []*call, known []facts) error {
	versions := map[int64]int64{}
	alone := true
	for i, c := range calls {
		if c.finish != nil {
			g.expectFinish(c.finish, known[i])
			alone = alone && !bringsMore(c.finish)
		} else if !g.expectClaim(c.claim, known[i], versions) {
			return errOvertaken
		}
	}
	if err := g.change(ctx, versions, alone); err != nil {
		return err
	}
	if !alone {
		// Runs are locked after all of this, and what it adds to their
		// counters is known only then.
		if err := g.take(ctx, g.createNext, g.writeDocuments, g.remember, g.settleRuns); err != nil {
			return err
		}
	}
	return g.take(ctx, g.holdPaused, g.closeRuns, g.putWindows)
}

// bringsMore reports whether an outcome changes more than its job, its run and
// what is locked after runs.
func bringsMore(item *finishItem) bool {
	o := &item.outcome
	return len(o.Next)+len(item.documents)+len(o.Absences)+len(o.Cursors)+len(o.Stored) > 0
}

// expectFinish takes it for granted that an outcome may be applied.
func (g *group) expectFinish(item *finishItem, f facts) {
	item.effect, item.err, item.repeated = state.Effect{}, nil, false
	item.fence = fence{facts: f, status: domain.JobRunning, attempt: item.outcome.Attempt}
	g.items = append(g.items, item)
	g.countSuccess(item)
}

// expectClaim takes it for granted that a claim wins, unless another goes by
// another version of the same account.
func (g *group) expectClaim(item *claimItem, f facts, versions map[int64]int64) bool {
	item.won, item.err = true, nil
	g.won = append(g.won, item)
	g.delta(f.run).calls++
	version := item.claim.Account
	if version == 0 {
		return true
	}
	if other, met := versions[f.account]; met && other != version {
		return false
	}
	versions[f.account] = version
	return true
}

// change moves the jobs, and brings the counters up to date if it is to.
func (g *group) change(ctx context.Context, versions map[int64]int64, settle bool) error {
	jobs := g.changeJobs(versions)
	statements := []*mysqldb.Statement{jobs}
	if settle {
		statements = append(statements, g.addToRuns())
	}
	changed, err := mysqldb.Batch(ctx, g.tx, statements...)
	if err != nil {
		return err
	}
	if changed[0].Rows != int64(len(g.won)+len(g.items)) {
		return errOvertaken
	}
	if settle && changed[1].InsertID != 0 {
		return g.findClosing(ctx)
	}
	return nil
}

// changeJobs is one statement for claims and outcomes, so that jobs are locked
// in the order of their ids. Every row that it finds it also changes. A job
// that runs is one to be ended, any other one to be claimed: whoever claims a
// job that runs, as its worker has vanished, takes the other way.
func (g *group) changeJobs(versions map[int64]int64) *mysqldb.Statement {
	claims := make([]int64, len(g.won))
	for i, item := range g.won {
		claims[i] = item.claim.Job
	}
	ends := make([]int64, len(g.items))
	for i, item := range g.items {
		ends[i] = item.outcome.Job
	}
	s := &mysqldb.Statement{}
	s.Grow(512+32*len(claims)+64*len(ends), 0)
	s.Write("UPDATE job FORCE INDEX (PRIMARY) SET ")
	// Assignments are made from left to right: all see the old status.
	if len(claims) > 0 {
		s.Write("attempt = attempt + (status <> ").Int(running).Write("), ")
	}
	g.writeSuccess(s, ends)
	s.Write("status = IF(status = ").Int(running).Write(", ").Int(succeeded).Write(", ").Int(running).Write(") WHERE ")
	if len(claims) > 0 {
		s.Write("(id IN (").Ints(claims...).Write(") AND attempt = ")
		s.CaseInt(claims, func(i int) int64 { return g.won[i].claim.Attempt })
		s.Write(" AND status IN (").Ints(numbers(waiting)...).Write(")")
		wantVersions(s, versions)
		s.Write(")")
	}
	if len(claims) > 0 && len(ends) > 0 {
		s.Write(" OR ")
	}
	if len(ends) > 0 {
		s.Write("(id IN (").Ints(ends...).Write(") AND attempt = ")
		s.CaseInt(ends, func(i int) int64 { return g.items[i].outcome.Attempt })
		// The jobs that they lead to get their priority, which may be another
		// by now than the one that is remembered.
		s.Write(" AND priority = ").CaseInt(ends, func(i int) int64 { return int64(g.items[i].fence.priority) })
		s.Write(" AND status = ").Int(running).Write(")")
	}
	return s
}

const running, succeeded = int64(domain.JobRunning), int64(domain.JobSucceeded)

// writeSuccess makes the assignments that come with an outcome. A job that is
// claimed keeps what it has.
func (g *group) writeSuccess(s *mysqldb.Statement, ends []int64) {
	if len(ends) == 0 {
		return
	}
	set := func(column string, value func()) {
		s.Write(column)
		if len(g.won) == 0 {
			s.Write(" = ")
			value()
			s.Write(", ")
			return
		}
		s.Write(" = IF(status = ").Int(running).Write(", ")
		value()
		s.Write(", ").Write(column).Write("), ")
	}
	number := func(column string, of func(*state.Outcome) int64) {
		set(column, func() { s.CaseInt(ends, func(i int) int64 { return of(&g.items[i].outcome) }) })
	}
	number("done", func(*state.Outcome) int64 { return 1 })
	number("finished_at", func(o *state.Outcome) int64 { return mysqldb.Micros(o.At) })
	number("items", func(o *state.Outcome) int64 { return int64(o.Items) })
	number("pages", func(o *state.Outcome) int64 { return int64(o.Pages) })
	set("error", func() { s.Text("") })
	set("error_kind", func() { s.Text("") })
}

// wantVersions is the condition that accounts are still of these versions.
// They are read without a lock: a claim that comes while one changes may go by
// either version.
func wantVersions(s *mysqldb.Statement, versions map[int64]int64) {
	if len(versions) == 0 {
		return
	}
	s.Write(" AND (SELECT COUNT(*) FROM account WHERE ")
	for i, id := range slices.Sorted(maps.Keys(versions)) {
		if i > 0 {
			s.Write(" OR ")
		}
		s.Write("(id = ").Int(id).Write(" AND version = ").Int(versions[id]).Write(")")
	}
	s.Write(") = ").Int(int64(len(versions)))
}
