package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// LockLeads implements state.ShareRows.
func (t stateRows) LockLeads(_ context.Context, account, run int64, resources []string) ([]state.Led, error) {
	list, err := textList(resources)
	if err != nil {
		return nil, err
	}
	err = Exec(t.conn, `INSERT INTO resource_lead (source, credential, resource, account_id, run_id)
		SELECT a.source, a.credential_name, v.value, a.id, ?2 FROM account a, json_each(?3) v WHERE a.id = ?1
		ON CONFLICT DO NOTHING`, nil, account, run, list)
	if err != nil {
		return nil, err
	}
	var led []state.Led
	err = Exec(t.conn, `SELECT l.resource, l.account_id, l.run_id, a.login, coalesce(r.status, 0) AND r.status <= ?3
			AND EXISTS (SELECT 1 FROM job j WHERE j.run_id = r.id AND j.done = 0 AND j.bucket <> ?4), a.state,
		a.source = me.source AND a.credential_name = me.credential_name, coalesce(r.anchor, 0)
		FROM json_each(?2) v JOIN account me ON me.id = ?1
		JOIN resource_lead l ON l.source = me.source AND l.credential = me.credential_name AND l.resource = v.value
		JOIN account a ON a.id = l.account_id LEFT JOIN run r ON r.id = l.run_id ORDER BY v.key`, func(r *driver.Stmt) {
		led = append(led, state.Led{
			Leader: domain.Leader{Resource: r.ColumnText(0), Account: r.ColumnInt64(1), Run: r.ColumnInt64(2), Login: r.ColumnText(3), Busy: r.ColumnInt64(4) != 0, Anchor: fromMicros(r.ColumnInt64(7))},
			State:  domain.AccountState(r.ColumnText(5)), Same: r.ColumnInt64(6) != 0,
		})
	}, account, list, int64(domain.RunFinalizing), domain.LocalBucket)
	return led, err
}

// WriteLeads implements state.ShareRows.
func (t stateRows) WriteLeads(_ context.Context, account, run int64, resources []string) error {
	list, err := textList(resources)
	if err != nil {
		return err
	}
	return Exec(t.conn, `UPDATE resource_lead SET account_id = ?1, run_id = ?2
		WHERE (source, credential) = (SELECT source, credential_name FROM account WHERE id = ?1)
		AND resource IN (SELECT value FROM json_each(?3))`, nil, account, run, list)
}

// CursorsOf implements state.Sharing.
func (s *recordStore) CursorsOf(ctx context.Context, account int64, names []string) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	list, err := textList(names)
	if err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT resource, at FROM cursor WHERE account_id = ? AND resource IN (SELECT value FROM json_each(?))",
			func(r *driver.Stmt) { out[r.ColumnText(0)] = fromMicros(r.ColumnInt64(1)) }, account, list)
	})
	return out, err
}

// PagesOf implements state.Sharing.
func (s *recordStore) PagesOf(ctx context.Context, account int64, resource string) (pages []domain.Page, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT key, etag, next, items FROM page WHERE account_id = ? AND instr(' ' || key || ' ', ?) > 0 ORDER BY key",
			func(r *driver.Stmt) {
				pages = append(pages, domain.Page{AccountID: account, Key: r.ColumnText(0), ETag: r.ColumnText(1), Next: r.ColumnText(2), Items: r.ColumnInt(3)})
			}, account, " "+resource+" ")
	})
	return pages, err
}
