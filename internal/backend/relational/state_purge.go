package relational

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// KeepIDs implements state.PurgeRows: servers give no id out twice.
func (t stateRows) KeepIDs(context.Context) error { return nil }

// RemoveRows implements state.PurgeRows.
func (t stateRows) RemoveRows(ctx context.Context, a *domain.Account, rows int) (state.Purged, error) {
	p := &purge{tx: t.tx, account: *a, rows: rows, purged: state.Purged{}}
	err := p.documents(ctx, t.store.now())
	if err == nil {
		err = p.take(ctx, statePurge)
	}
	return p.purged, err
}

// WritePurged implements state.PurgeRows.
func (t stateRows) WritePurged(ctx context.Context, a *domain.Account, at time.Time) error {
	login := domain.PurgedLogin(a.ID)
	var set Statement
	set.Write("UPDATE account SET identity = ").Hash(accountIdentity(a.Source, login)).Write(", login = ").Text(login)
	set.Write(", owner = '', key_id = '', credential = '', credential_hash = ").Hash(HashOf(a.Source, login))
	set.Write(", floor = 0, hours = '', updated_at = ").Time(at).Write(", version = version + 1 WHERE id = ").Int(a.ID)
	set.Write(" AND state = ").Text(string(domain.AccountPurged))
	_, err := set.Exec(ctx, t.tx)
	return err
}

// purge is one batch.
type purge struct {
	tx      *Tx
	account domain.Account
	rows    int
	purged  state.Purged
}

func (p *purge) left() int { return p.rows - int(p.purged.Total()) }

// take takes steps until so many rows are removed.
func (p *purge) take(ctx context.Context, steps []purgeStep) error {
	for _, step := range steps {
		if p.left() <= 0 {
			return nil
		}
		n, err := step.remove(ctx, p)
		if err != nil {
			return err
		}
		p.purged.Add(state.Purged{step.kind: n})
	}
	return nil
}

// purgeStep removes some rows of one kind.
type purgeStep struct {
	kind   string
	remove remover
}

// remover says how many rows it removed.
type remover = func(context.Context, *purge) (int64, error)

// statePurge is what is removed beside documents. What hangs on runs goes before
// them.
var statePurge = []purgeStep{
	{state.PurgedCursors, keyed("resource_cursor", "identity")},
	{state.PurgedPages, keyed("page", "identity")},
	{state.PurgedCursors, keyed("resource_lead", "identity")},
	{state.PurgedJobs, numbered("job")},
	{state.PurgedRuns, summaryStep},
	{state.PurgedRuns, keyed("run_delivery", "delivery")},
	{state.PurgedRuns, numbered("run")},
	{state.PurgedStatistics, single("statistics")},
	{state.PurgedSchedules, single("harvest")},
	{state.PurgedSchedules, single("harvest_schedule")},
	{state.PurgedWindows, windowStep},
}

func (p *purge) exec(ctx context.Context, s *Statement) (int64, error) {
	result, err := s.Exec(ctx, p.tx)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// numbered removes rows that have ids, in their order.
func numbered(table string) remover {
	return func(ctx context.Context, p *purge) (int64, error) {
		var find Statement
		find.Write("SELECT id FROM " + table + " WHERE account_id = ").Int(p.account.ID).Write(" ORDER BY id LIMIT ").Int(int64(p.left()))
		ids, err := selectIDs(ctx, p.tx, &find)
		if err != nil {
			return 0, err
		}
		total := int64(0)
		for part := range slices.Chunk(ids, maxIDs) {
			var remove Statement
			n, err := p.exec(ctx, remove.Write("DELETE FROM "+table+" WHERE id IN (").Ints(part...).Write(")"))
			if err != nil {
				return 0, err
			}
			total += n
		}
		return total, nil
	}
}

// keyed removes rows of a table whose key is the account and a column, up to the
// last one that there is room for.
func keyed(table, column string) remover {
	return func(ctx context.Context, p *purge) (int64, error) {
		var bound any
		var find, remove Statement
		find.Write("SELECT " + column + " FROM " + table + " WHERE account_id = ").Int(p.account.ID).Write(" ORDER BY " + column + " LIMIT 1 OFFSET ").Int(int64(p.left() - 1))
		if err := find.Query(ctx, p.tx, func(r *sql.Rows) error { return r.Scan(&bound) }); err != nil {
			return 0, err
		}
		remove.Write("DELETE FROM " + table + " WHERE account_id = ").Int(p.account.ID)
		if bound != nil {
			remove.With(" AND "+column+" <= ?", bound)
		}
		return p.exec(ctx, &remove)
	}
}

// single removes the one row of an account.
func single(table string) remover {
	return func(ctx context.Context, p *purge) (int64, error) {
		var remove Statement
		return p.exec(ctx, remove.Write("DELETE FROM "+table+" WHERE account_id = ").Int(p.account.ID))
	}
}

func documentStep(ctx context.Context, p *purge) (int64, error) {
	var kind, name []byte
	var find, remove Statement
	find.Write("SELECT kind, name FROM document WHERE account_id = ").Int(p.account.ID).Write(" ORDER BY kind, name LIMIT 1 OFFSET ").Int(int64(p.left() - 1))
	if err := find.Query(ctx, p.tx, func(r *sql.Rows) error { return r.Scan(&kind, &name) }); err != nil {
		return 0, err
	}
	remove.Write("DELETE FROM document WHERE account_id = ").Int(p.account.ID)
	if kind != nil {
		remove.Write(" AND (kind < ").Blob(kind).Write(" OR kind = ").Blob(kind).Write(" AND name <= ").Blob(name).Write(")")
	}
	return p.exec(ctx, &remove)
}

// summaryStep removes what is left of runs whose jobs were pruned, run by run.
func summaryStep(ctx context.Context, p *purge) (int64, error) {
	var find Statement
	find.Write("SELECT DISTINCT s.run_id FROM run r JOIN run_summary s ON s.run_id = r.id WHERE r.account_id = ").Int(p.account.ID).Write(" LIMIT ").Int(int64(p.left()))
	runs, err := selectIDs(ctx, p.tx, &find)
	if err != nil || len(runs) == 0 {
		return 0, err
	}
	var remove Statement
	return p.exec(ctx, remove.Write("DELETE FROM run_summary WHERE run_id IN (").Ints(runs...).Write(")"))
}

// windowStep removes what is known of a ration that no other account draws on.
func windowStep(ctx context.Context, p *purge) (int64, error) {
	var others, remove Statement
	others.Write("SELECT id FROM account WHERE owner_md5 = ").Text(ownerSums([]string{p.account.Owner})[0]).Write(" AND id <> ").Int(p.account.ID).Write(" LIMIT 1")
	found, err := selectIDs(ctx, p.tx, &others)
	if err != nil || len(found) > 0 || p.account.Owner == "" {
		return 0, err
	}
	windows, err := p.exec(ctx, remove.Write("DELETE FROM quota_window WHERE owner = ").Text(p.account.Owner))
	if err != nil {
		return windows, err
	}
	// The group of an owner's buckets is named by quota/bucketed.
	var counts Statement
	drawn, err := p.exec(ctx, counts.Write("DELETE FROM ration_count WHERE group_name = ").Text("quota\x1f"+p.account.Owner))
	return windows + drawn, err
}
