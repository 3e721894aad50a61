package sqlite

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// KeepIDs implements state.PurgeRows: the highest ids are kept apart from their rows.
func (t stateRows) KeepIDs(context.Context) error {
	for _, table := range []string{"run", "job"} {
		err := Exec(t.conn, "INSERT INTO id_mark (name, last) SELECT ?, coalesce(max(id), 0) FROM "+table+` WHERE true
			ON CONFLICT (name) DO UPDATE SET last = max(last, excluded.last)`, nil, table)
		if err != nil {
			return err
		}
	}
	return nil
}

// statePurge is what is removed beside documents. What hangs on runs goes before
// them.
var statePurge = []purgeStep{
	{state.PurgedCursors, "DELETE FROM cursor WHERE (account_id, resource) IN (SELECT account_id, resource FROM cursor WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedPages, "DELETE FROM page WHERE (account_id, key) IN (SELECT account_id, key FROM page WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedCursors, "DELETE FROM resource_lead WHERE (source, credential, resource) IN (SELECT source, credential, resource FROM resource_lead WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedJobs, "DELETE FROM job WHERE id IN (SELECT id FROM job INDEXED BY job_account WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedRuns, "DELETE FROM run_summary WHERE (run_id, type) IN (SELECT s.run_id, s.type FROM run r CROSS JOIN run_summary s ON s.run_id = r.id WHERE r.account_id = ?1 LIMIT ?2)"},
	{state.PurgedRuns, "DELETE FROM run_delivery WHERE (account_id, delivery) IN (SELECT account_id, delivery FROM run_delivery WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedRuns, "DELETE FROM run WHERE id IN (SELECT id FROM run WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedStatistics, "DELETE FROM statistics WHERE account_id = ?1 AND ?2 > 0"},
	{state.PurgedSchedules, "DELETE FROM harvest WHERE account_id = ?1 AND ?2 > 0"},
	{state.PurgedSchedules, "DELETE FROM harvest_schedule WHERE account_id = ?1 AND ?2 > 0"},
	{state.PurgedWindows, `DELETE FROM quota_window WHERE ?2 > 0 AND owner = (SELECT owner FROM account WHERE id = ?1)
		AND NOT EXISTS (SELECT 1 FROM account a INDEXED BY account_owner WHERE a.owner = quota_window.owner AND a.id <> ?1)`},
	// The group of an owner's buckets is named by quota/bucketed.
	{state.PurgedWindows, `DELETE FROM ration_count WHERE ?2 > 0 AND group_name = 'quota' || char(31) || (SELECT owner FROM account WHERE id = ?1)
		AND NOT EXISTS (SELECT 1 FROM account a INDEXED BY account_owner WHERE a.owner = (SELECT owner FROM account WHERE id = ?1) AND a.id <> ?1)`},
}

// RemoveRows implements state.PurgeRows.
func (t stateRows) RemoveRows(ctx context.Context, a *domain.Account, rows int) (state.Purged, error) {
	purged, err := purgeDocuments(ctx, t.conn, a.ID, rows, t.store.now())
	if err != nil {
		return nil, err
	}
	more, err := purgeRows(t.conn, a.ID, rows-int(purged.Total()), statePurge)
	purged.Add(more)
	return purged, err
}

// EndPurge implements state.Purges. What was removed was overwritten in the file;
// then it leaves the write-ahead log.
func (s *State) EndPurge(ctx context.Context, account int64) (domain.Account, error) {
	a, err := s.Changes.EndPurge(ctx, account)
	if err == nil {
		s.db.Erase()
	}
	return a, err
}

// WritePurged implements state.PurgeRows.
func (t stateRows) WritePurged(_ context.Context, a *domain.Account, at time.Time) error {
	return Exec(t.conn, `UPDATE account SET login = ?, owner = '', credential_name = '', key_id = '', credential = x'', floor = 0, hours = '',
		updated_at = ?, version = version + 1 WHERE id = ? AND state = ?`, nil,
		domain.PurgedLogin(a.ID), at, a.ID, string(domain.AccountPurged))
}
