package sqlite

import (
	"slices"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
)

// dropResources cancels waiting jobs whose resource the upstream no longer has.
func (g *finishGroup) dropResources() error {
	for _, item := range g.items {
		if item.outcome.DropResource == "" {
			continue
		}
		d := g.delta(item)
		err := sqlitedb.Exec(g.conn, `UPDATE job SET status = ?, done = 1, finished_at = ? WHERE run_id = ? AND done = 0
			AND resource = ? AND status IN (?, ?, ?) RETURNING id, expected`,
			func(r *sqlite.Stmt) {
				item.effect.Canceled = append(item.effect.Canceled, r.ColumnInt64(0))
				d.canceled++
				d.pending--
				d.known += 1 - r.ColumnInt64(1)
			},
			int64(domain.JobCanceled), item.outcome.At, item.fence.run, item.outcome.DropResource,
			int64(domain.JobReady), int64(domain.JobEnqueued), int64(domain.JobPaused))
		if err != nil {
			return err
		}
		g.retract(item.fence.run, item.effect.Canceled)
	}
	return nil
}

// retract takes back what this very group created and then canceled.
func (g *finishGroup) retract(run int64, canceled []int64) {
	for _, item := range g.items {
		if item.fence.run != run || len(canceled) == 0 || len(item.effect.Created) == 0 {
			continue
		}
		left := slices.DeleteFunc(item.effect.Created, func(ref domain.JobRef) bool { return slices.Contains(canceled, ref.ID) })
		item.effect.Created = left[:len(left):len(left)]
	}
}

func (g *finishGroup) pauseAccounts() error {
	for _, item := range g.items {
		if item.outcome.PauseAccount == "" {
			continue
		}
		err := setAccountState(g.conn, item.fence.account, domain.AccountPaused, item.outcome.PauseAccount, sqlitedb.Micros(item.outcome.At))
		if err != nil {
			return err
		}
	}
	return nil
}

// holdPaused keeps the jobs of paused accounts from waiting for a worker:
// those that waited when the account was paused, and those that a job which
// was under way then has created or left since.
func (g *finishGroup) holdPaused() error {
	byAccount := map[int64][]*finishItem{}
	ids := []int64{}
	for _, item := range g.items {
		if byAccount[item.fence.account] == nil {
			ids = append(ids, item.fence.account)
		}
		byAccount[item.fence.account] = append(byAccount[item.fence.account], item)
	}
	var paused []int64
	err := sqlitedb.Exec(g.conn, "SELECT id FROM account WHERE id IN (SELECT value FROM json_each(?)) AND state = ?",
		func(r *sqlite.Stmt) { paused = append(paused, r.ColumnInt64(0)) }, sqlitedb.IDList(ids), string(domain.AccountPaused))
	if err != nil {
		return err
	}
	for _, account := range paused {
		held, err := moveJobs(g.conn, account, domain.JobPaused, domain.JobReady, domain.JobEnqueued)
		if err != nil {
			return err
		}
		for _, item := range byAccount[account] {
			item.effect.Created = nil
		}
		last := byAccount[account][len(byAccount[account])-1]
		for _, ref := range held {
			last.effect.Canceled = append(last.effect.Canceled, ref.ID)
		}
	}
	return nil
}

// settleRuns brings the counters up to date, one statement per run, and closes
// runs whose last job has ended. As one writer does all of this inside one
// transaction, a run closes once.
func (g *finishGroup) settleRuns() error {
	for id, d := range g.runs {
		var pending int64
		var status domain.RunStatus
		err := sqlitedb.Exec(g.conn, `UPDATE run SET known = known + ?, pending = pending + ?, succeeded = succeeded + ?,
			failed = failed + ?, canceled = canceled + ?, documents = documents + ? WHERE id = ? RETURNING pending, status`,
			func(r *sqlite.Stmt) { pending, status = r.ColumnInt64(0), domain.RunStatus(r.ColumnInt(1)) },
			d.known, d.pending, d.succeeded, d.failed, d.canceled, d.documents, id)
		if err != nil {
			return err
		}
		if status != domain.RunRunning || (pending > 0 && d.failReason == "") {
			continue
		}
		if err := g.closeRun(id, d); err != nil {
			return err
		}
	}
	return nil
}

func (g *finishGroup) closeRun(id int64, d *runDelta) error {
	run, err := findRun(g.conn, id)
	if err != nil {
		return err
	}
	to, at := domain.RunFinalizing, sqlitedb.Micros(d.closer.outcome.At)
	if d.failReason != "" {
		to = domain.RunFailed
	}
	if err := moveRun(g.conn, &run, to, d.failReason, at); err != nil {
		return err
	}
	// Nothing is left, or nothing is to be left; Known becomes exact.
	canceled, err := cancelUnfinished(g.conn, &run, at)
	if err != nil {
		return err
	}
	g.retract(id, canceled)
	d.closer.effect.Canceled = append(d.closer.effect.Canceled, canceled...)
	d.closer.effect.Closed = &run
	return nil
}

func plansTime(items []*finishItem) time.Time { return items[0].outcome.At }

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
