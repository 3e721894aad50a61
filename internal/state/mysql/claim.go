package mysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

// claimItem is one Claim on its way to the server.
type claimItem struct {
	claim state.Claim
	won   bool
	err   error
}

// Claim implements state.Jobs.
func (s *Store) Claim(ctx context.Context, claim state.Claim) error {
	item := &claimItem{claim: claim}
	if err := s.claims.Do(ctx, item); err != nil {
		return err
	}
	if item.err == nil && !item.won {
		return domain.Errorf(domain.CodeStale, "job %d is not what it was at attempt %d", claim.Job, claim.Attempt)
	}
	return item.err
}

func (s *Store) applyClaims(ctx context.Context, items []*claimItem) error {
	return apart(items, func(part []*claimItem) error {
		return s.db.Tx(ctx, func(tx *sql.Tx) error { return claimAll(ctx, tx, part) })
	}, func(item *claimItem, err error) { item.err = err })
}

// claimable are the states in which a job can be claimed.
var claimable = []domain.JobStatus{domain.JobReady, domain.JobEnqueued, domain.JobRunning}

// claimAll takes all jobs of a group. Which of them are as they were seen is
// decided while their rows are locked; of two claims of one job the first wins.
// The account is not locked: a claim that comes while it changes may go by
// either version.
func claimAll(ctx context.Context, tx *sql.Tx, items []*claimItem) error {
	byJob := make(map[int64]*claimItem, len(items))
	for _, item := range items {
		item.won = false
		if byJob[item.claim.Job] == nil {
			byJob[item.claim.Job] = item
		}
	}
	windows := newestWindows{}
	calls := map[int64]int64{}
	var won []int64
	err := lockJobs(ctx, tx, slices.Sorted(maps.Keys(byJob)),
		"id, run_id, attempt, COALESCE((SELECT version FROM account WHERE account.id = job.account_id), 0)", claimable, func(r *sql.Rows) error {
			var job, run, attempt, version int64
			if err := r.Scan(&job, &run, &attempt, &version); err != nil {
				return err
			}
			item := byJob[job]
			if item.claim.Attempt != attempt || (item.claim.Account != 0 && item.claim.Account != version) {
				return nil
			}
			item.won = true
			won = append(won, job)
			calls[run]++
			windows.add(item.claim.Window)
			return nil
		})
	if err != nil || len(won) == 0 {
		return err
	}
	// Assignments are made from left to right: lost sees the old status.
	err = updateJobs(ctx, tx, won, "attempt = attempt + 1, lost = lost + (status = ?), status = ?",
		int64(domain.JobRunning), int64(domain.JobRunning))
	if err != nil {
		return err
	}
	runs := slices.Sorted(maps.Keys(calls))
	var count mysqldb.Statement
	count.Write("UPDATE run SET calls = calls + ").CaseInt(runs, func(i int) int64 { return calls[runs[i]] })
	count.Write(" WHERE id IN (").Ints(runs...).Write(")")
	if _, err := count.Exec(ctx, tx); err != nil {
		return err
	}
	return windows.put(ctx, tx)
}
