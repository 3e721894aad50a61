package relational

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// RecoverRunning implements state.Jobs. A job whose row somebody holds has a
// worker after all, so that it is left alone.
func (s *State) RecoverRunning(ctx context.Context, maxLost int) (recovered int, ended []domain.Run, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		recovered, ended = 0, nil
		g := newGroup(s, tx, 0)
		g.careful = tx.Dialect().ErrorEndsTransaction
		var find Statement
		find.Write("SELECT id FROM job /*! FORCE INDEX (job_unfinished) */ WHERE done = 0 AND status = ").Int(int64(domain.JobRunning))
		ids, err := selectIDs(ctx, tx, &find)
		if err != nil {
			return err
		}
		at := s.now()
		each := func(r *sql.Rows) error {
			var j domain.Job
			if err := r.Scan(&j.ID, &j.RunID, &j.AccountID, &j.Status, &j.Attempt, &j.Expected, &j.Lost); err != nil {
				return err
			}
			item, held := &finishItem{Attempt: state.Lost(&j, maxLost, at)}, state.HeldOf(&j)
			g.admit(item, &held)
			return item.Err
		}
		err = lockSome(ctx, tx, ids, "id, run_id, account_id, status, attempt, expected, lost", []domain.JobStatus{domain.JobRunning}, "FOR UPDATE SKIP LOCKED", each)
		if err != nil {
			return err
		}
		if recovered, err = g.moveLost(ctx); err != nil {
			return err
		}
		if err := g.end(ctx); err != nil {
			return err
		}
		ended = g.Closed()
		return nil
	})
	return recovered, ended, err
}

// moveLost moves jobs whose workers vanished, and returns how many wait again.
func (g *group) moveLost(ctx context.Context) (recovered int, err error) {
	var back, failed []int64
	var failure state.Outcome
	for _, item := range g.items {
		if item.Outcome.To == domain.JobFailed {
			failure, failed = item.Outcome, append(failed, item.Outcome.Job)
		} else {
			back = append(back, item.Outcome.Job)
		}
	}
	if len(failed) > 0 {
		err = updateJobs(ctx, g.tx, failed, "status = ?, done = 1, finished_at = ?, lost = lost + 1, error_kind = ?, error = ?",
			int64(failure.To), Micros(failure.At), string(failure.Failure.Kind), failure.Failure.Message)
		if err != nil {
			return 0, err
		}
	}
	return len(back), updateJobs(ctx, g.tx, back, "lost = lost + 1, not_before = 0, status = ?", int64(domain.JobReady))
}
