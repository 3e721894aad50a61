package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/document/tables"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// documentPurge is how documents and what belongs to them are removed.
var documentPurge = []purgeStep{
	{state.PurgedDocuments, documentStep},
	{state.PurgedPayloads, numbered("chunk")},
	{state.PurgedRepositories, keyed("repository_presence", "repository")},
}

// documents removes documents and what belongs to them. When the last of it goes so
// does all that the log says of the account, but for that it was purged.
func (p *purge) documents(ctx context.Context, at time.Time) error {
	if err := p.take(ctx, documentPurge); err != nil || p.purged.Total() == 0 {
		return err
	}
	left := false
	for _, table := range []string{"document", "chunk", "repository_presence"} {
		var find Statement
		find.Write("SELECT 1 FROM " + table + " WHERE account_id = ").Int(p.account.ID).Write(" LIMIT 1")
		if err := find.Query(ctx, p.tx, func(*sql.Rows) error { left = true; return nil }); err != nil {
			return err
		}
	}
	if left {
		// Some of the log goes with each batch, so that the last one is not too long.
		some := &purge{tx: p.tx, account: p.account, rows: p.rows, purged: state.Purged{}}
		_, err := numbered("change_log")(ctx, some)
		return err
	}
	if _, err := single("change_log")(ctx, p); err != nil {
		return err
	}
	return writeLog(ctx, p.tx, []tables.LogRow{tables.PurgedRow(p.account.ID, at)})
}

// Purge implements document.Writer.
func (s *Documents) Purge(ctx context.Context, account int64, most int) (removed int64, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		p := &purge{tx: tx, account: domain.Account{ID: account}, rows: most, purged: state.Purged{}}
		err := p.documents(ctx, s.Now())
		removed = p.purged.Total()
		return err
	})
	return removed, err
}
