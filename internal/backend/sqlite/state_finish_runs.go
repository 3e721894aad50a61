package sqlite

import (
	"context"
	"strconv"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// dropResources cancels waiting jobs whose resource the upstream no longer has.
func (g *finishGroup) dropResources(context.Context) error {
	for _, item := range g.items {
		if item.Outcome.DropResource == "" {
			continue
		}
		var dropped []domain.Job
		err := Exec(g.conn, `UPDATE job SET status = ?, done = 1, finished_at = ? WHERE run_id = ? AND done = 0
			AND resource = ? AND status IN (`+statusList(state.Droppable())+`) RETURNING id, expected`,
			func(r *driver.Stmt) {
				dropped = append(dropped, domain.Job{ID: r.ColumnInt64(0), JobSpec: domain.JobSpec{Expected: r.ColumnInt(1)}})
			},
			int64(domain.JobCanceled), item.Outcome.At, item.Held.Run, item.Outcome.DropResource)
		if err != nil {
			return err
		}
		g.Dropped(item.Attempt, dropped)
	}
	return nil
}

// settleRuns brings the counters up to date, one statement per run, and closes
// runs whose last job has ended. As one writer does all of this inside one
// transaction, a run closes once.
func (g *finishGroup) settleRuns(ctx context.Context) error {
	for id, d := range g.Runs {
		run := domain.Run{ID: id}
		err := Exec(g.conn, `UPDATE run SET known = known + ?, pending = pending + ?, succeeded = succeeded + ?,
			failed = failed + ?, canceled = canceled + ?, documents = documents + ? WHERE id = ? RETURNING pending, status`,
			func(r *driver.Stmt) { run.Pending, run.Status = r.ColumnInt64(0), domain.RunStatus(r.ColumnInt(1)) },
			d.Known, d.Pending, d.Succeeded, d.Failed, d.Canceled, d.Documents, id)
		if err != nil {
			return err
		}
		if !d.Closes(&run) {
			continue
		}
		if err := g.CloseRun(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func appendRow(b []byte, values ...int64) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return append(b, ']')
}
