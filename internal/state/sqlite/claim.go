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
	won   bool
}

// Claim implements state.Jobs.
func (s *Store) Claim(ctx context.Context, claim state.Claim) error {
	item := &claimItem{claim: claim}
	if err := s.claims.Do(ctx, item); err != nil {
		return err
	}
	if !item.won {
		return domain.Errorf(domain.CodeStale, "job %d is not what it was at attempt %d", claim.Job, claim.Attempt)
	}
	return nil
}

// applyClaims takes all jobs of a group in one statement. A job that is not as
// it was seen returns no row; of two claims of one job the first wins.
func (s *Store) applyClaims(c *sqlite.Conn, items []*claimItem) error {
	byJob := make(map[int64]*claimItem, len(items))
	rows := []byte{'['}
	for _, item := range items {
		item.won = false
		if byJob[item.claim.Job] != nil {
			continue
		}
		byJob[item.claim.Job] = item
		if len(rows) > 1 {
			rows = append(rows, ',')
		}
		rows = appendRow(rows, item.claim.Job, item.claim.Attempt, item.claim.Account)
	}
	windows := newestWindows{}
	calls := map[int64]int64{}
	err := sqlitedb.Exec(c, `UPDATE job SET status = ?1, attempt = job.attempt + 1, lost = job.lost + (job.status = ?1)
		FROM (SELECT value ->> 0 AS id, value ->> 1 AS attempt, value ->> 2 AS version FROM json_each(?2)) AS v
		WHERE job.id = v.id AND job.attempt = v.attempt AND job.status IN (?1, ?3, ?4)
			AND (v.version = 0 OR v.version = (SELECT version FROM account WHERE id = job.account_id)) RETURNING job.id, job.run_id`,
		func(r *sqlite.Stmt) {
			item := byJob[r.ColumnInt64(0)]
			item.won = true
			calls[r.ColumnInt64(1)]++
			windows.add(item.claim.Window)
		}, int64(domain.JobRunning), string(append(rows, ']')), int64(domain.JobReady), int64(domain.JobEnqueued))
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
