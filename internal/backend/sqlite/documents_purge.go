package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document/tables"
	"sluice/internal/state"
)

// documentPurge is how documents and what belongs to them are removed, up to so
// many rows of each.
var documentPurge = []purgeStep{
	{state.PurgedDocuments, "DELETE FROM document WHERE (account_id, kind, name) IN (SELECT account_id, kind, name FROM document WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedPayloads, "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE account_id = ?1 LIMIT ?2)"},
	{state.PurgedRepositories, "DELETE FROM repository_presence WHERE (account_id, repository) IN (SELECT account_id, repository FROM repository_presence WHERE account_id = ?1 LIMIT ?2)"},
}

// purgeStep removes rows of one kind.
type purgeStep struct{ kind, remove string }

// purgeRows takes steps until so many rows are removed.
func purgeRows(c *driver.Conn, account int64, most int, steps []purgeStep) (state.Purged, error) {
	purged := state.Purged{}
	for _, step := range steps {
		left := most - int(purged.Total())
		if left <= 0 {
			break
		}
		if err := Exec(c, step.remove, nil, account, left); err != nil {
			return nil, err
		}
		purged.Add(state.Purged{step.kind: int64(c.Changes())})
	}
	return purged, nil
}

// purgeDocuments removes documents and what belongs to them. When the last of it
// goes so does all that the log says of the account, but for that it was purged.
func purgeDocuments(ctx context.Context, c *driver.Conn, account int64, most int, at time.Time) (state.Purged, error) {
	purged, err := purgeRows(c, account, most, documentPurge)
	if err != nil || purged.Total() == 0 {
		return purged, err
	}
	left, err := number(c, `SELECT EXISTS (SELECT 1 FROM document WHERE account_id = ?1) OR EXISTS (SELECT 1 FROM chunk WHERE account_id = ?1)
		OR EXISTS (SELECT 1 FROM repository_presence WHERE account_id = ?1)`, account)
	if err != nil {
		return nil, err
	}
	if left != 0 {
		// Some of the log goes with each batch, so that the last one is not too long.
		return purged, Exec(c, `DELETE FROM change_log WHERE last_position IN
			(SELECT last_position FROM change_log WHERE account_id = ?1 ORDER BY last_position LIMIT ?2)`, nil, account, most)
	}
	if err := Exec(c, "DELETE FROM change_log WHERE account_id = ?", nil, account); err != nil {
		return nil, err
	}
	return purged, writeLog(ctx, c, []tables.LogRow{tables.PurgedRow(account, at)})
}

// Purge implements document.Writer.
func (s *Documents) Purge(ctx context.Context, account int64, most int) (removed int64, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		purged, err := purgeDocuments(ctx, c, account, most, s.Now())
		removed = purged.Total()
		return err
	})
	return removed, err
}
