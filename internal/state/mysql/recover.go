package mysql

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

// lostMessage says what happened to a job that is given up.
const lostMessage = "its worker vanished again and again while it had this job"

// RecoverRunning implements state.Jobs. A job whose row somebody holds has a
// worker after all, so that it is left alone.
func (s *Store) RecoverRunning(ctx context.Context, maxLost int) (recovered int, ended []domain.Run, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		recovered, ended = 0, nil
		at := s.now()
		g := newGroup(s, tx, 0)
		var find mysqldb.Statement
		find.Write("SELECT id FROM job FORCE INDEX (job_unfinished) WHERE done = 0 AND status = ").Int(int64(domain.JobRunning))
		ids, err := selectIDs(ctx, tx, &find)
		if err != nil {
			return err
		}
		var back, failed []int64
		each := func(r *sql.Rows) error {
			item := &finishItem{outcome: state.Outcome{At: at, To: domain.JobReady}}
			var job, lost int64
			if err := r.Scan(&job, &item.fence.run, &item.fence.account, &item.fence.expected, &lost); err != nil {
				return err
			}
			g.items = append(g.items, item)
			d := g.finisher(item)
			if lost < int64(maxLost) {
				back = append(back, job)
				return nil
			}
			failed = append(failed, job)
			item.outcome.To = domain.JobFailed
			d.end(item)
			return nil
		}
		err = lockSome(ctx, tx, ids, "id, run_id, account_id, expected, lost", []domain.JobStatus{domain.JobRunning}, "FOR UPDATE SKIP LOCKED", each)
		if err != nil {
			return err
		}
		err = updateJobs(ctx, tx, failed, "status = ?, done = 1, finished_at = ?, lost = lost + 1, error_kind = ?, error = ?",
			int64(domain.JobFailed), mysqldb.Micros(at), string(domain.FailureLost), lostMessage)
		if err != nil {
			return err
		}
		err = updateJobs(ctx, tx, back, "lost = lost + 1, not_before = 0, status = ?", int64(domain.JobReady))
		if err != nil {
			return err
		}
		recovered = len(back)
		if err := g.take(ctx, g.settleRuns, g.holdPaused, g.closeRuns); err != nil {
			return err
		}
		for _, id := range g.runIDs() {
			if closed := g.runs[id].closer.effect.Closed; closed != nil {
				ended = append(ended, *closed)
			}
		}
		return nil
	})
	return recovered, ended, err
}
