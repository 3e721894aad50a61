package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

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

// Purge implements document.Writer.
func (s *Documents) Purge(ctx context.Context, account int64, most int) (removed int64, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		purged, err := purgeRows(c, account, most, documentPurge)
		removed = purged.Total()
		return err
	})
	return removed, err
}
