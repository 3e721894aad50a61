package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// claimItem is one Claim on its way through the writer.
type claimItem struct {
	claim state.Claim
	won   bool
}

// Claim implements state.Jobs.
func (s *State) Claim(ctx context.Context, claim state.Claim) error {
	item := &claimItem{claim: claim}
	if err := s.claims.Do(ctx, item); err != nil || item.won {
		return err
	}
	return claim.Lost()
}

var claimSQL = `UPDATE job SET status = ?1, attempt = job.attempt + 1, lost = job.lost + (job.status = ?1), started_at = v.at
	FROM (SELECT value ->> 0 AS id, value ->> 1 AS attempt, value ->> 2 AS version, value ->> 3 AS at FROM json_each(?2)) AS v
	WHERE job.id = v.id AND job.attempt = v.attempt AND job.status IN (` + statusList(state.Claimable()) + `)
		AND (v.version = 0 OR v.version = (SELECT version FROM account WHERE id = job.account_id)) RETURNING job.id, job.run_id`

// applyClaims takes all jobs of a group in one statement. A job that is not as
// it was seen returns no row; of two claims of one job the first wins.
func (s *State) applyClaims(c *driver.Conn, items []*claimItem) error {
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
		rows = appendRow(rows, item.claim.Job, item.claim.Attempt, item.claim.Account, toMicros(item.claim.At))
	}
	windows := state.NewestWindows{}
	calls := map[int64]int64{}
	err := Exec(c, claimSQL,
		func(r *driver.Stmt) {
			item := byJob[r.ColumnInt64(0)]
			item.won = true
			calls[r.ColumnInt64(1)] += item.claim.Calls()
			windows.Add(item.claim.Window)
		}, int64(domain.JobRunning), string(append(rows, ']')))
	if err != nil {
		return err
	}
	for run, n := range calls {
		if n == 0 {
			continue
		}
		if err := Exec(c, "UPDATE run SET calls = calls + ? WHERE id = ?", nil, n, run); err != nil {
			return err
		}
	}
	return putWindows(c, windows)
}
