package mysql

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// Cursors implements state.Collection.
func (s *Store) Cursors(ctx context.Context, account int64) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var resource string
		var at int64
		err := r.Scan(&resource, &at)
		out[resource] = mysqldb.Time(at)
		return err
	}, "SELECT resource, at FROM resource_cursor WHERE account_id = ?", account)
	return out, err
}

// StoredPage implements state.Collection.
func (s *Store) StoredPage(ctx context.Context, account int64, key string) (domain.Page, bool, error) {
	p, found := domain.Page{AccountID: account, Key: key}, false
	var q mysqldb.Statement
	q.Write("SELECT etag, next_page, items FROM page WHERE account_id = ").Int(account)
	q.Write(" AND identity = ").Hash(mysqldb.HashOf(key))
	err := s.db.Run(ctx, &q, func(r *sql.Rows) error {
		found = true
		return r.Scan(&p.ETag, &p.Next, &p.Items)
	})
	return p, found, err
}

var insertCursor = &mysqldb.Insert{
	Head: "INSERT INTO resource_cursor (account_id, identity, resource, at)",
	Tail: "ON DUPLICATE KEY UPDATE at = GREATEST(at, VALUES(at))",
}

func cursorRow(c *domain.Cursor) mysqldb.Row {
	var row mysqldb.Row
	identity := mysqldb.HashOf(c.Resource)
	row.Write("(").Int(c.AccountID).Write(",").Hash(identity).Write(",").Text(c.Resource).Write(",").Time(c.At).Write(")")
	row.Key = sortKey(c.AccountID, identity)
	return row
}

var insertPage = &mysqldb.Insert{
	Head: "INSERT INTO page (account_id, identity, page_key, etag, next_page, items)",
	Tail: "ON DUPLICATE KEY UPDATE etag = VALUES(etag), next_page = VALUES(next_page), items = VALUES(items)",
}

func pageRow(p *domain.Page) mysqldb.Row {
	var row mysqldb.Row
	identity := mysqldb.HashOf(p.Key)
	row.Write("(").Int(p.AccountID).Write(",").Hash(identity).Write(",").Text(p.Key).Write(",").Text(p.ETag)
	row.Write(",").Text(p.Next).Write(",").Int(int64(p.Items)).Write(")")
	row.Key = sortKey(p.AccountID, identity)
	return row
}

const windowColumns = "owner, bucket, call_limit, remaining, reset_at, started, parked_until, in_flight, points, touched, seq"

// QuotaWindows implements state.Quotas.
func (s *Store) QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	var out []domain.QuotaWindow
	where, args := "", []any{}
	if owner != "" {
		where, args = " WHERE owner = ?", []any{owner}
	}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var w domain.QuotaWindow
		var reset, started, parked, touched int64
		err := r.Scan(&w.Owner, &w.Bucket, &w.Limit, &w.Remaining, &reset, &started, &parked, &w.InFlight, &w.Points, &touched, &w.Seq)
		w.Reset, w.Started, w.ParkedUntil, w.Touched = mysqldb.Time(reset), mysqldb.Time(started), mysqldb.Time(parked), mysqldb.Time(touched)
		out = append(out, w)
		return err
	}, "SELECT "+windowColumns+" FROM quota_window"+where, args...)
	return out, err
}

// PutQuotaWindow implements state.Quotas.
func (s *Store) PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error {
	windows := newestWindows{}
	windows.add(&w)
	return s.db.Tx(ctx, func(tx *sql.Tx) error { return windows.put(ctx, tx) })
}

// insertWindow stores a snapshot unless a newer one is there: a claim and an
// outcome may be committed in another order than their snapshots were taken.
// Assignments are made from left to right, so seq comes last.
var insertWindow = &mysqldb.Insert{
	Head: "INSERT INTO quota_window (identity, " + windowColumns + ")",
	Tail: `ON DUPLICATE KEY UPDATE call_limit = IF(VALUES(seq) >= seq, VALUES(call_limit), call_limit),
		remaining = IF(VALUES(seq) >= seq, VALUES(remaining), remaining), reset_at = IF(VALUES(seq) >= seq, VALUES(reset_at), reset_at),
		started = IF(VALUES(seq) >= seq, VALUES(started), started),
		parked_until = IF(VALUES(seq) >= seq, VALUES(parked_until), parked_until),
		in_flight = IF(VALUES(seq) >= seq, VALUES(in_flight), in_flight), points = IF(VALUES(seq) >= seq, VALUES(points), points),
		touched = IF(VALUES(seq) >= seq, VALUES(touched), touched), seq = GREATEST(seq, VALUES(seq))`,
}

func windowRow(w *domain.QuotaWindow) mysqldb.Row {
	var row mysqldb.Row
	identity := mysqldb.HashOf(w.Owner, w.Bucket)
	row.Write("(").Hash(identity).Write(",").Text(w.Owner).Write(",").Text(w.Bucket).Write(",")
	row.Ints(int64(w.Limit), int64(w.Remaining), mysqldb.Micros(w.Reset), mysqldb.Micros(w.Started), mysqldb.Micros(w.ParkedUntil),
		int64(w.InFlight), int64(w.Points), mysqldb.Micros(w.Touched))
	row.Write(",").Uint(w.Seq).Write(")")
	row.Key = sortKey(0, identity)
	return row
}

// newestWindows keeps the last snapshot of each window: a group is written in
// one transaction, so the others would be overwritten anyway.
type newestWindows map[[2]string]domain.QuotaWindow

func (n newestWindows) add(w *domain.QuotaWindow) {
	if w == nil {
		return
	}
	key := [2]string{w.Owner, w.Bucket}
	if old, ok := n[key]; !ok || w.Seq > old.Seq {
		n[key] = *w
	}
}

func (n newestWindows) put(ctx context.Context, tx *sql.Tx) error {
	rows := make([]mysqldb.Row, 0, len(n))
	for _, w := range n {
		rows = append(rows, windowRow(&w))
	}
	_, err := insertWindow.Run(ctx, tx, rows)
	return err
}

// AccountStatistics implements state.Statistics.
func (s *Store) AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error) {
	var data []byte
	found := false
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		found = true
		return r.Scan(&data)
	}, "SELECT data FROM statistics WHERE account_id = ?", account)
	return data, found, err
}

// statisticsPage is how many accounts AllStatistics reads at a time: a caller
// that is slow must not keep a query open.
const statisticsPage = 100

// AllStatistics implements state.Statistics.
func (s *Store) AllStatistics(ctx context.Context, fn func(domain.Account, []byte) error) error {
	for after := int64(0); ; {
		var accounts []domain.Account
		var all [][]byte
		err := s.db.Query(ctx, func(r *sql.Rows) error {
			var data []byte
			a, err := scanAccount(r, &data)
			accounts, all = append(accounts, a), append(all, data)
			return err
		}, "SELECT "+accountColumns+`, s.data FROM statistics s JOIN account a ON a.id = s.account_id
			WHERE s.account_id > ? ORDER BY s.account_id LIMIT ?`, after, statisticsPage)
		if err != nil {
			return err
		}
		for i, a := range accounts {
			if err := fn(a, all[i]); err != nil {
				return err
			}
			after = a.ID
		}
		if len(accounts) < statisticsPage {
			return nil
		}
	}
}
