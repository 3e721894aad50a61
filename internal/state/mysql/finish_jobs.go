package mysql

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// lockFailing locks the unfinished jobs of runs that an outcome fails before
// any run is locked. More may come until then; those are locked in the end.
func (g *group) lockFailing(ctx context.Context) error {
	for _, item := range g.items {
		if item.outcome.FailRun == "" {
			continue
		}
		if _, err := lockUnfinished(ctx, g.tx, item.fence.run); err != nil {
			return err
		}
	}
	return nil
}

// pick returns the items whose job succeeded, or the others, and their jobs.
func (g *group) pick(succeeded bool) (items []*finishItem, ids []int64) {
	for _, item := range g.items {
		if (item.outcome.To == domain.JobSucceeded) == succeeded {
			items, ids = append(items, item), append(ids, item.outcome.Job)
		}
	}
	return items, ids
}

// succeed ends the successful jobs.
func (g *group) succeed(ctx context.Context) error {
	items, ids := g.pick(true)
	if len(items) == 0 {
		return nil
	}
	for _, item := range items {
		g.countSuccess(item)
	}
	var set mysqldb.Statement
	set.Write("UPDATE job FORCE INDEX (PRIMARY) SET status = ").Int(int64(domain.JobSucceeded)).Write(", done = 1, error = '', error_kind = ''")
	set.Write(", finished_at = ").CaseInt(ids, func(i int) int64 { return mysqldb.Micros(items[i].outcome.At) })
	set.Write(", items = ").CaseInt(ids, func(i int) int64 { return int64(items[i].outcome.Items) })
	set.Write(", pages = ").CaseInt(ids, func(i int) int64 { return int64(items[i].outcome.Pages) })
	set.Write(" WHERE id IN (").Ints(ids...).Write(")")
	_, err := set.Exec(ctx, g.tx)
	return err
}

func (g *group) countSuccess(item *finishItem) {
	d := g.finisher(item)
	d.end(item)
	d.documents += int64(item.outcome.Items)
}

// moveOthers handles what did not succeed.
func (g *group) moveOthers(ctx context.Context) error {
	items, ids := g.pick(false)
	if len(items) == 0 {
		return nil
	}
	done := func(i int) bool { return items[i].outcome.To == domain.JobFailed }
	for i, item := range items {
		d := g.finisher(item)
		if done(i) {
			d.end(item)
		}
		if item.outcome.FailRun != "" {
			d.failReason = item.outcome.FailRun
		}
	}
	failure := func(i int) domain.Failure {
		if f := items[i].outcome.Failure; f != nil {
			return *f
		}
		return domain.Failure{}
	}
	var set mysqldb.Statement
	set.Write("UPDATE job FORCE INDEX (PRIMARY) SET status = ").CaseInt(ids, func(i int) int64 { return int64(items[i].outcome.To) })
	set.Write(", done = ").CaseInt(ids, func(i int) int64 { return flag(done(i)) })
	set.Write(", finished_at = ").CaseInt(ids, func(i int) int64 { return flag(done(i)) * mysqldb.Micros(items[i].outcome.At) })
	set.Write(", failures = failures + ").CaseInt(ids, func(i int) int64 { return flag(items[i].outcome.CountFailure) })
	set.Write(", not_before = ").CaseInt(ids, func(i int) int64 { return mysqldb.Micros(items[i].outcome.NotBefore) })
	set.Write(", error_kind = ").Case(ids, func(i int) { set.Text(string(failure(i).Kind)) })
	set.Write(", error = ").Case(ids, func(i int) { set.Text(failure(i).Message) })
	set.Write(" WHERE id IN (").Ints(ids...).Write(")")
	_, err := set.Exec(ctx, g.tx)
	return err
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// createNext inserts the jobs that the outcomes lead to.
func (g *group) createNext(ctx context.Context) error {
	var plans []plannedJobs
	parents := map[int64]*finishItem{}
	for _, item := range g.items {
		if len(item.outcome.Next) == 0 {
			continue
		}
		parents[item.outcome.Job] = item
		plans = append(plans, plannedJobs{
			run: item.fence.run, account: item.fence.account, parent: item.outcome.Job, priority: item.fence.priority,
			at: mysqldb.Micros(item.outcome.At), specs: item.outcome.Next,
		})
	}
	if len(plans) == 0 {
		return nil
	}
	created, err := insertPlans(ctx, g.tx, plans, g.firstID)
	if err != nil {
		return err
	}
	for i := range created {
		item := parents[created[i].ParentID]
		item.effect.Created = append(item.effect.Created, refOf(&created[i]))
		item.effect.Rows = append(item.effect.Rows, created[i])
		d := g.finisher(item)
		d.pending++
		d.known += int64(created[i].Expected)
	}
	return nil
}

func (g *group) writeDocuments(ctx context.Context) error {
	var rows []mysqldb.Rows
	for _, item := range g.items {
		rows = append(rows, item.documents...)
	}
	if err := mysqldb.Write(ctx, g.tx, rows); err != nil {
		return err
	}
	for _, item := range g.items {
		if g.store.docs == nil || len(item.outcome.Absences) == 0 {
			continue
		}
		if err := g.store.docs.Flag(ctx, g.tx, item.outcome.Absences); err != nil {
			return err
		}
	}
	return nil
}

// remember stores cursors and pages.
func (g *group) remember(ctx context.Context) error {
	var cursors, pages []mysqldb.Row
	for _, item := range g.items {
		for i := range item.outcome.Cursors {
			cursors = append(cursors, cursorRow(&item.outcome.Cursors[i]))
		}
		for i := range item.outcome.Stored {
			pages = append(pages, pageRow(&item.outcome.Stored[i]))
		}
	}
	return mysqldb.Write(ctx, g.tx, []mysqldb.Rows{{Insert: insertCursor, Rows: cursors}, {Insert: insertPage, Rows: pages}})
}

// droppable are the states in which a job of a dropped resource is canceled.
var droppable = []domain.JobStatus{domain.JobReady, domain.JobEnqueued, domain.JobPaused}

// dropResources cancels waiting jobs whose resource the upstream no longer has.
func (g *group) dropResources(ctx context.Context) error {
	for _, item := range g.items {
		if item.outcome.DropResource == "" {
			continue
		}
		var find mysqldb.Statement
		find.Write("SELECT id FROM job WHERE run_id = ").Int(item.fence.run).Write(" AND done = 0 AND resource = ").Text(item.outcome.DropResource)
		ids, err := selectIDs(ctx, g.tx, &find)
		if err != nil {
			return err
		}
		var dropped []int64
		d := g.finisher(item)
		err = lockJobs(ctx, g.tx, ids, "id, expected, resource", droppable, func(r *sql.Rows) error {
			var id, expected int64
			var resource string
			// The query ignored spaces at the end.
			if err := r.Scan(&id, &expected, &resource); err != nil || resource != item.outcome.DropResource {
				return err
			}
			dropped = append(dropped, id)
			d.canceled++
			d.pending--
			d.known += 1 - expected
			return nil
		})
		if err != nil {
			return err
		}
		err = updateJobs(ctx, g.tx, dropped, "status = ?, done = 1, finished_at = ?", int64(domain.JobCanceled), mysqldb.Micros(item.outcome.At))
		if err != nil {
			return err
		}
		item.effect.Canceled = append(item.effect.Canceled, dropped...)
		g.retract(item.fence.run, dropped)
	}
	return nil
}

// retract takes back what this very group created and then canceled.
func (g *group) retract(run int64, canceled []int64) {
	for _, item := range g.items {
		if item.fence.run != run || len(canceled) == 0 || len(item.effect.Created) == 0 {
			continue
		}
		left := slices.DeleteFunc(item.effect.Created, func(ref domain.JobRef) bool { return slices.Contains(canceled, ref.ID) })
		item.effect.Created = left[:len(left):len(left)]
	}
}
