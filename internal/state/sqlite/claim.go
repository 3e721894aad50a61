package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
)

// claimItem is one Claim on its way through the writer.
type claimItem struct {
	claim state.Claim
	job   domain.Job
}

// Claim implements state.Jobs.
func (s *Store) Claim(ctx context.Context, claim state.Claim) (domain.Job, error) {
	item := &claimItem{claim: claim}
	if err := s.claims.Do(ctx, item); err != nil {
		return domain.Job{}, err
	}
	if item.job.ID == 0 {
		return domain.Job{}, domain.Errorf(domain.CodeStale, "job %d is not waiting any more", claim.Job)
	}
	return item.job, nil
}

// applyClaims takes all waiting jobs of a group in one statement. A job that
// is not waiting returns no row; of two claims of one job the first wins.
func (s *Store) applyClaims(c *sqlite.Conn, items []*claimItem) error {
	byJob := make(map[int64]*claimItem, len(items))
	ids := make([]int64, 0, len(items))
	for _, item := range items {
		item.job = domain.Job{}
		if byJob[item.claim.Job] == nil {
			byJob[item.claim.Job] = item
			ids = append(ids, item.claim.Job)
		}
	}
	windows := newestWindows{}
	calls := map[int64]int64{}
	err := sqlitedb.Exec(c, `UPDATE job SET status = ?, attempt = attempt + 1 WHERE id IN (SELECT value FROM json_each(?))
		AND status IN (?, ?) RETURNING `+jobColumns,
		func(r *sqlite.Stmt) {
			job := scanJob(r)
			item := byJob[job.ID]
			item.job = job
			calls[job.RunID]++
			windows.add(item.claim.Window)
		}, int64(domain.JobRunning), sqlitedb.IDList(ids), int64(domain.JobReady), int64(domain.JobEnqueued))
	if err != nil {
		return err
	}
	for run, n := range calls {
		if err := sqlitedb.Exec(c, "UPDATE run SET calls = calls + ? WHERE id = ?", nil, n, run); err != nil {
			return err
		}
	}
	return s.putWindows(c, windows)
}
