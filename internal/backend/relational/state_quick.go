package relational

import (
	"context"
	"errors"
	"maps"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// errOvertaken tells that a job of a group was not as the group expected it.
var errOvertaken = errors.New("a job is not what it was")

// applyQuickly applies a group of plain calls without reading their jobs
// first: it changes those that are as expected and learns from their number
// whether all of them were. If they were not, nothing is changed, and the way
// that looks at each of them has to be gone.
func (s *State) applyQuickly(ctx context.Context, calls []*call, firstID int64) (applied bool, err error) {
	known := s.plain(calls)
	if known == nil {
		return false, nil
	}
	var g *group
	apply := func(first bool) error {
		return s.db.TxNoWait(ctx, func(tx *Tx) error {
			g = newGroup(s, tx, firstID)
			g.careful = !first
			return g.applyQuickly(ctx, calls, known, first)
		})
	}
	if err = apply(true); s.db.IsRefused(err) {
		// A run closes with it, or a job is not what it was.
		err = apply(false)
	}
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
func (s *State) plain(calls []*call) []facts {
	seen := make(map[int64]struct{}, len(calls))
	for _, c := range calls {
		if c.finish != nil && !plainOutcome(&c.finish.Outcome) {
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
	return o.To == domain.JobSucceeded && o.FailRun == "" && o.PauseAccount == "" && o.DropResource == "" && o.Owner == "" && o.Target == ""
}

// applyQuickly takes one trip to the server, commit included, for outcomes that
// change nothing but their jobs, their runs and what is locked after those; if
// that is refused, or not wanted, it goes step by step.
func (g *group) applyQuickly(ctx context.Context, calls []*call, known []facts, oneTrip bool) error {
	versions := map[int64]int64{}
	for i, c := range calls {
		if c.finish != nil {
			g.expectFinish(c.finish, known[i])
			oneTrip = oneTrip && !bringsMore(c.finish)
		} else if !g.expectClaim(c.claim, known[i], versions) {
			return errOvertaken
		}
	}
	jobs, expected := g.changeJobs(versions), int64(len(g.won)+len(g.items))
	if oneTrip {
		_, err := g.settle(ctx, g.tx.Dialect().Exactly(jobs, expected)...)
		return err
	}
	changed, err := Batch(ctx, g.tx, jobs)
	if err != nil {
		return err
	}
	if changed[0] != expected {
		return errOvertaken
	}
	// Runs are locked after all of this, and what it adds to their counters is
	// known only then.
	return g.Take(ctx, g.CreateNext, g.writeDocuments, g.remember, g.end)
}

// bringsMore reports whether an outcome changes more than its job, its run and
// what is locked after runs.
func bringsMore(item *finishItem) bool {
	o := &item.Outcome
	return item.documents != nil || len(o.Next)+len(o.Absences)+len(o.Cursors)+len(o.Stored) > 0
}

// expectFinish takes it for granted that the job of an outcome is as it must be.
func (g *group) expectFinish(item *finishItem, f facts) {
	g.admit(item, &state.Held{
		Run: f.run, Account: f.account, Expected: f.expected, Priority: f.priority, Status: domain.JobRunning, Attempt: item.Outcome.Attempt,
	})
}

// expectClaim takes it for granted that a claim wins, unless another goes by
// another version of the same account.
func (g *group) expectClaim(item *claimItem, f facts, versions map[int64]int64) bool {
	item.won, item.err = true, nil
	g.won = append(g.won, item)
	g.Begin(f.run, &item.claim)
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

// changeJobs is one statement for claims and outcomes, so that jobs are locked
// in the order of their ids. Every row that it finds it also changes. A job
// that runs is one to be ended, any other one to be claimed: whoever claims a
// job that runs, as its worker has vanished, takes the other way.
func (g *group) changeJobs(versions map[int64]int64) *Statement {
	claims := make([]int64, len(g.won))
	for i, item := range g.won {
		claims[i] = item.claim.Job
	}
	ends := make([]int64, len(g.items))
	for i, item := range g.items {
		ends[i] = item.Outcome.Job
	}
	s := &Statement{}
	s.Grow(512+32*len(claims)+64*len(ends), 0)
	s.Write("UPDATE job /*! FORCE INDEX (PRIMARY) */ SET ")
	// Assignments are made from left to right: all see the old status.
	if len(claims) > 0 {
		s.Write("attempt = attempt + CASE WHEN status = ").Int(running).Write(" THEN 0 ELSE 1 END, started_at = CASE WHEN status = ").Int(running)
		s.Write(" THEN started_at ELSE ").Int(g.began()).Write(" END, ")
	}
	g.writeSuccess(s, ends)
	s.Write("status = CASE WHEN status = ").Int(running).Write(" THEN ").Int(succeeded).Write(" ELSE ").Int(running).Write(" END WHERE ")
	both := len(claims) > 0 && len(ends) > 0
	if both {
		// Said once more, as not every server looks up what stands on two sides
		// of an OR.
		s.Write("id IN (").Ints(claims...).Write(",").Ints(ends...).Write(") AND (")
	}
	if len(claims) > 0 {
		s.Write("(id IN (").Ints(claims...).Write(") AND attempt = ")
		s.CaseInt(claims, func(i int) int64 { return g.won[i].claim.Attempt })
		s.Write(" AND status IN (").Ints(numbers(waiting)...).Write(")")
		wantVersions(s, versions)
		s.Write(")")
	}
	if both {
		s.Write(" OR ")
	}
	if len(ends) > 0 {
		s.Write("(id IN (").Ints(ends...).Write(") AND attempt = ")
		s.CaseInt(ends, func(i int) int64 { return g.items[i].Outcome.Attempt })
		// The jobs that they lead to get their priority, which may be another
		// by now than the one that is remembered.
		s.Write(" AND priority = ").CaseInt(ends, func(i int) int64 { return int64(g.items[i].Held.Priority) })
		s.Write(" AND status = ").Int(running).Write(")")
	}
	if both {
		s.Write(")")
	}
	return s
}

const running, succeeded = int64(domain.JobRunning), int64(domain.JobSucceeded)

// writeSuccess makes the assignments that come with an outcome. A job that is
// claimed keeps what it has.
func (g *group) writeSuccess(s *Statement, ends []int64) {
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
		s.Write(" = CASE WHEN status = ").Int(running).Write(" THEN ")
		value()
		s.Write(" ELSE ").Write(column).Write(" END, ")
	}
	number := func(column string, of func(*state.Outcome) int64) {
		set(column, func() { s.CaseInt(ends, func(i int) int64 { return of(&g.items[i].Outcome) }) })
	}
	number("done", func(*state.Outcome) int64 { return 1 })
	number("finished_at", func(o *state.Outcome) int64 { return Micros(o.At) })
	number("items", func(o *state.Outcome) int64 { return int64(o.Items) })
	number("pages", func(o *state.Outcome) int64 { return int64(o.Pages) })
	set("error", func() { s.Text("") })
	set("error_kind", func() { s.Text("") })
}

// wantVersions is the condition that accounts are still of these versions.
// They are read without a lock: a claim that comes while one changes may go by
// either version.
func wantVersions(s *Statement, versions map[int64]int64) {
	if len(versions) == 0 {
		return
	}
	accounts := slices.Sorted(maps.Keys(versions))
	s.Write(" AND (SELECT COUNT(*) FROM account WHERE id IN (").Ints(accounts...).Write(") AND version = ")
	s.CaseInt(accounts, func(i int) int64 { return versions[accounts[i]] }).Write(") = ").Int(int64(len(accounts)))
}
