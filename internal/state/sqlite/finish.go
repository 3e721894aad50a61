package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
)

// finishItem is one Finish on its way through the writer.
type finishItem struct {
	outcome state.Outcome
	effect  state.Effect
	err     error
	// writeDocuments stores the outcome's documents; nil if there are none.
	writeDocuments func(*sqlite.Conn) error
	// fence is the job as it stood before this outcome.
	fence fence
	// repeated is set when this very outcome was committed before.
	repeated bool
}

// fence is what decides whether an outcome may be applied.
type fence struct {
	run, account int64
	priority     domain.Priority
	status       domain.JobStatus
	attempt      int64
	expected     int64
}

// Finish implements state.Jobs.
func (s *Store) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	switch o.To {
	case domain.JobSucceeded, domain.JobFailed, domain.JobReady, domain.JobPaused:
	default:
		return state.Effect{}, domain.Errorf(domain.CodeInvalid, "an attempt at job %d cannot leave it %s", o.Job, o.To)
	}
	item := &finishItem{outcome: o}
	if s.docs != nil && len(o.Documents) > 0 {
		write, err := s.docs.Pack(o.Documents)
		if err != nil {
			return state.Effect{}, err
		}
		item.writeDocuments = write
	}
	if err := s.finishes.Do(ctx, item); err != nil {
		return state.Effect{}, err
	}
	return item.effect, item.err
}

// applyFinishes commits the outcomes of a group with one statement for each
// thing there is to do, not for each outcome.
func (s *Store) applyFinishes(c *sqlite.Conn, items []*finishItem) error {
	fresh, err := s.checkFences(c, items)
	if err != nil {
		return err
	}
	g := &finishGroup{store: s, conn: c, items: fresh, runs: map[int64]*runDelta{}}
	steps := []func() error{
		g.succeed, g.moveOthers, g.createNext, g.writeDocuments, g.remember, g.dropResources, g.pauseAccounts, g.holdPaused, g.settleRuns,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return s.answerRepeated(c, items)
}

// checkFences sorts out outcomes that may not be applied: another attempt owns
// the job, the state machine refuses, or it was committed before.
func (s *Store) checkFences(c *sqlite.Conn, items []*finishItem) ([]*finishItem, error) {
	ids := make([]int64, len(items))
	for i, item := range items {
		item.effect, item.err, item.repeated, item.fence = state.Effect{}, nil, false, fence{}
		ids[i] = item.outcome.Job
	}
	fences := make(map[int64]*fence, len(items))
	err := sqlitedb.Exec(c, `SELECT id, run_id, account_id, priority, status, attempt, expected FROM job
		WHERE id IN (SELECT value FROM json_each(?))`, func(r *sqlite.Stmt) {
		fences[r.ColumnInt64(0)] = &fence{
			run: r.ColumnInt64(1), account: r.ColumnInt64(2), priority: domain.Priority(r.ColumnInt(3)),
			status: domain.JobStatus(r.ColumnInt(4)), attempt: r.ColumnInt64(5), expected: r.ColumnInt64(6),
		}
	}, sqlitedb.IDList(ids))
	if err != nil {
		return nil, err
	}
	fresh := make([]*finishItem, 0, len(items))
	for _, item := range items {
		f := fences[item.outcome.Job]
		if f == nil {
			item.err = domain.Errorf(domain.CodeNotFound, "there is no job %d", item.outcome.Job)
			continue
		}
		item.fence = *f
		switch {
		case f.attempt != item.outcome.Attempt:
			item.err = domain.Errorf(domain.CodeStale, "job %d belongs to attempt %d by now, not to %d", item.outcome.Job, f.attempt, item.outcome.Attempt)
		case f.status == item.outcome.To:
			item.repeated = true
		case f.status != domain.JobRunning:
			item.err = domain.Errorf(domain.CodeStale, "job %d is %s by now", item.outcome.Job, f.status)
		default:
			if _, item.err = domain.MoveJob(f.status, item.outcome.To); item.err == nil {
				fresh = append(fresh, item)
				f.status = item.outcome.To
			}
		}
	}
	return fresh, nil
}

// answerRepeated tells the finisher of a committed outcome, whose first answer
// was lost, what it brought about, as far as it still matters.
func (s *Store) answerRepeated(c *sqlite.Conn, items []*finishItem) error {
	for _, item := range items {
		if !item.repeated {
			continue
		}
		var err error
		if item.effect.Created, err = children(c, item.fence.run, item.outcome.Job); err != nil {
			return err
		}
		run, err := findRun(c, item.fence.run)
		if err != nil {
			return err
		}
		failed := run.Status == domain.RunFailed && item.outcome.FailRun != ""
		if run.Status == domain.RunFinalizing || failed {
			item.effect.Closed = &run
		}
	}
	return nil
}

// runDelta is what a group changes in one run's counters.
type runDelta struct {
	known, pending, succeeded, failed, canceled, documents int64
	failReason                                             string
	// closer is told if the run closes: the last of the group to finish.
	closer *finishItem
}

// finishGroup is one group of outcomes being applied.
type finishGroup struct {
	store *Store
	conn  *sqlite.Conn
	items []*finishItem
	runs  map[int64]*runDelta
}

func (g *finishGroup) delta(item *finishItem) *runDelta {
	d := g.runs[item.fence.run]
	if d == nil {
		d = &runDelta{}
		g.runs[item.fence.run] = d
	}
	d.closer = item
	return d
}

// succeed ends the successful jobs. One prepared statement a job is faster here
// than one for all: there is no round trip to save, and rows need no parsing.
func (g *finishGroup) succeed() error {
	for _, item := range g.items {
		o := &item.outcome
		if o.To != domain.JobSucceeded {
			continue
		}
		d := g.delta(item)
		d.succeeded++
		d.pending--
		d.documents += int64(o.Items)
		d.known += 1 - item.fence.expected
		err := sqlitedb.Exec(g.conn, `UPDATE job SET status = ?, done = 1, finished_at = ?, items = ?, pages = ?,
			error = '', error_kind = '' WHERE id = ?`, nil,
			int64(domain.JobSucceeded), sqlitedb.Micros(o.At), o.Items, o.Pages, o.Job)
		if err != nil {
			return err
		}
	}
	return nil
}

// moveOthers handles what did not succeed: it is rare, so row by row.
func (g *finishGroup) moveOthers() error {
	for _, item := range g.items {
		o := &item.outcome
		if o.To == domain.JobSucceeded {
			continue
		}
		d := g.delta(item)
		done, finished := int64(0), int64(0)
		if o.To == domain.JobFailed {
			done, finished = 1, sqlitedb.Micros(o.At)
			d.failed++
			d.pending--
			d.known += 1 - item.fence.expected
		}
		failures := int64(0)
		if o.CountFailure {
			failures = 1
		}
		kind, message := "", ""
		if o.Failure != nil {
			kind, message = string(o.Failure.Kind), o.Failure.Message
		}
		err := sqlitedb.Exec(g.conn, `UPDATE job SET status = ?, done = ?, finished_at = ?, failures = failures + ?,
			not_before = ?, error_kind = ?, error = ? WHERE id = ?`, nil,
			int64(o.To), done, finished, failures, o.NotBefore, kind, message, o.Job)
		if err != nil {
			return err
		}
		if o.FailRun != "" {
			d.failReason = o.FailRun
		}
	}
	return nil
}

// createNext inserts the jobs that the outcomes lead to.
func (g *finishGroup) createNext() error {
	var plans []plannedJobs
	parents := map[int64]*finishItem{}
	for _, item := range g.items {
		if len(item.outcome.Next) == 0 {
			continue
		}
		parents[item.outcome.Job] = item
		plans = append(plans, plannedJobs{
			run: item.fence.run, account: item.fence.account, parent: item.outcome.Job,
			priority: item.fence.priority, specs: item.outcome.Next,
		})
	}
	if len(plans) == 0 {
		return nil
	}
	created, err := g.store.insertPlans(g.conn, plans, sqlitedb.Micros(plansTime(g.items)))
	if err != nil {
		return err
	}
	for _, c := range created {
		item := parents[c.row.ParentID]
		item.effect.Created = append(item.effect.Created, c.ref())
		item.effect.Rows = append(item.effect.Rows, c.row)
		d := g.delta(item)
		d.pending++
		d.known += int64(c.row.Expected)
	}
	return nil
}

func (g *finishGroup) writeDocuments() error {
	for _, item := range g.items {
		if item.writeDocuments != nil {
			if err := item.writeDocuments(g.conn); err != nil {
				return err
			}
		}
		if g.store.docs != nil && len(item.outcome.Absences) > 0 {
			if err := g.store.docs.Flag(g.conn, item.outcome.Absences); err != nil {
				return err
			}
		}
	}
	return nil
}

// remember stores cursors, pages, quota windows and owners.
func (g *finishGroup) remember() error {
	windows := newestWindows{}
	for _, item := range g.items {
		windows.add(item.outcome.Window)
		if item.outcome.Owner != "" {
			err := sqlitedb.Exec(g.conn, `UPDATE account SET owner = ?1, version = version + 1 WHERE owner <> ?1 AND (source, credential_name) =
				(SELECT source, credential_name FROM account WHERE id = ?2)`, nil, item.outcome.Owner, item.fence.account)
			if err != nil {
				return err
			}
		}
		for _, cur := range item.outcome.Cursors {
			err := sqlitedb.Exec(g.conn, `INSERT INTO cursor (account_id, resource, at) VALUES (?, ?, ?)
				ON CONFLICT (account_id, resource) DO UPDATE SET at = max(at, excluded.at)`, nil,
				cur.AccountID, cur.Resource, cur.At)
			if err != nil {
				return err
			}
		}
		for _, p := range item.outcome.Stored {
			err := sqlitedb.Exec(g.conn, `INSERT INTO page (account_id, key, etag, next, items) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (account_id, key) DO UPDATE SET etag = excluded.etag, next = excluded.next, items = excluded.items`, nil,
				p.AccountID, p.Key, p.ETag, p.Next, p.Items)
			if err != nil {
				return err
			}
		}
	}
	return g.store.putWindows(g.conn, windows)
}
