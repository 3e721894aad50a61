package relational

import (
	"context"
	"database/sql"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// lockFailing locks the unfinished jobs of runs that an outcome fails before
// any run is locked. More may come until then; those are locked in the end.
func (g *group) lockFailing(ctx context.Context) error {
	for _, item := range g.items {
		if item.Outcome.FailRun == "" {
			continue
		}
		if _, err := lockUnfinished(ctx, g.tx, item.Held.Run); err != nil {
			return err
		}
	}
	return nil
}

// pick returns the items whose job succeeded, or the others, and their jobs.
func (g *group) pick(succeeded bool) (items []*finishItem, ids []int64) {
	for _, item := range g.items {
		if (item.Outcome.To == domain.JobSucceeded) == succeeded {
			items, ids = append(items, item), append(ids, item.Outcome.Job)
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
	var set Statement
	set.Write("UPDATE job /*! FORCE INDEX (PRIMARY) */ SET status = ").Int(int64(domain.JobSucceeded)).Write(", done = 1, error = '', error_kind = ''")
	set.Write(", finished_at = ").CaseInt(ids, func(i int) int64 { return Micros(items[i].Outcome.At) })
	set.Write(", items = ").CaseInt(ids, func(i int) int64 { return int64(items[i].Outcome.Items) })
	set.Write(", pages = ").CaseInt(ids, func(i int) int64 { return int64(items[i].Outcome.Pages) })
	set.Write(" WHERE id IN (").Ints(ids...).Write(")")
	_, err := set.Exec(ctx, g.tx)
	return err
}

// moveOthers handles what did not succeed.
func (g *group) moveOthers(ctx context.Context) error {
	items, ids := g.pick(false)
	if len(items) == 0 {
		return nil
	}
	done := func(i int) bool { return items[i].Outcome.To.Ended() }
	failure := func(i int) domain.Failure {
		if f := items[i].Outcome.Failure; f != nil {
			return *f
		}
		return domain.Failure{}
	}
	var set Statement
	set.Write("UPDATE job /*! FORCE INDEX (PRIMARY) */ SET status = ").CaseInt(ids, func(i int) int64 { return int64(items[i].Outcome.To) })
	set.Write(", done = ").CaseInt(ids, func(i int) int64 { return bit(done(i)) })
	set.Write(", finished_at = ").CaseInt(ids, func(i int) int64 { return bit(done(i)) * Micros(items[i].Outcome.At) })
	set.Write(", failures = failures + ").CaseInt(ids, func(i int) int64 { return bit(items[i].Outcome.CountFailure) })
	set.Write(", not_before = ").CaseInt(ids, func(i int) int64 { return Micros(items[i].Outcome.NotBefore) })
	set.Write(", error_kind = ").Case(ids, func(i int) { set.Text(string(failure(i).Kind)) })
	set.Write(", error = ").Case(ids, func(i int) { set.Text(failure(i).Message) })
	set.Write(" WHERE id IN (").Ints(ids...).Write(")")
	_, err := set.Exec(ctx, g.tx)
	return err
}

func bit(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func (g *group) writeDocuments(ctx context.Context) error {
	if g.store.docs == nil {
		return nil
	}
	var packed []*PackedDocuments
	var absences []document.Absence
	for _, item := range g.items {
		if item.documents != nil {
			packed = append(packed, item.documents)
		}
		absences = append(absences, item.Outcome.Absences...)
	}
	if len(packed)+len(absences) == 0 {
		return nil
	}
	return g.store.docs.Write(ctx, g.tx, packed, absences)
}

// remember stores cursors and pages.
func (g *group) remember(ctx context.Context) error {
	var cursors, pages []Row
	for _, item := range g.items {
		for i := range item.Outcome.Cursors {
			cursors = append(cursors, cursorRow(&item.Outcome.Cursors[i]))
		}
		for i := range item.Outcome.Stored {
			pages = append(pages, pageRow(&item.Outcome.Stored[i]))
		}
	}
	return Write(ctx, g.tx, []Rows{{Insert: insertCursor, Rows: cursors}, {Insert: insertPage, Rows: pages}})
}

// dropResources cancels waiting jobs whose resource the upstream no longer has.
func (g *group) dropResources(ctx context.Context) error {
	for _, item := range g.items {
		if item.Outcome.DropResource == "" {
			continue
		}
		var find Statement
		find.Write("SELECT id FROM job WHERE run_id = ").Int(item.Held.Run).Write(" AND done = 0 AND resource = ").Text(item.Outcome.DropResource)
		ids, err := selectIDs(ctx, g.tx, &find)
		if err != nil {
			return err
		}
		var dropped []domain.Job
		err = lockJobs(ctx, g.tx, ids, "id, expected, resource", state.Droppable(), func(r *sql.Rows) error {
			var j domain.Job
			// The query ignored spaces at the end.
			if err := r.Scan(&j.ID, &j.Expected, &j.Resource); err != nil || j.Resource != item.Outcome.DropResource {
				return err
			}
			dropped = append(dropped, j)
			return nil
		})
		if err != nil {
			return err
		}
		err = updateJobs(ctx, g.tx, jobIDs(dropped), "status = ?, done = 1, finished_at = ?", int64(domain.JobCanceled), Micros(item.Outcome.At))
		if err != nil {
			return err
		}
		g.Dropped(item.Attempt, dropped)
	}
	return nil
}
