package relational

import (
	"context"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// documentPurge is how documents and what belongs to them are removed.
var documentPurge = []purgeStep{
	{state.PurgedDocuments, documentStep},
	{state.PurgedPayloads, numbered("chunk")},
	{state.PurgedRepositories, keyed("repository_presence", "repository")},
}

// Purge implements document.Writer.
func (s *Documents) Purge(ctx context.Context, account int64, most int) (removed int64, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		p := &purge{tx: tx, account: domain.Account{ID: account}, rows: most, purged: state.Purged{}}
		err := p.take(ctx, documentPurge)
		removed = p.purged.Total()
		return err
	})
	return removed, err
}
