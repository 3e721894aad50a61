package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// Cursors implements state.Collection.
func (s *recordStore) Cursors(ctx context.Context, account int64) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var resource string
		var at int64
		err := r.Scan(&resource, &at)
		out[resource] = Time(at)
		return err
	}, "SELECT resource, at FROM resource_cursor WHERE account_id = ?", account)
	return out, err
}

// StoredPage implements state.Collection.
func (s *recordStore) StoredPage(ctx context.Context, account int64, key string) (domain.Page, bool, error) {
	p, found := domain.Page{AccountID: account, Key: key}, false
	var q Statement
	q.Write("SELECT etag, next_page, items FROM page WHERE account_id = ").Int(account)
	q.Write(" AND identity = ").Hash(HashOf(key))
	err := s.db.Run(ctx, &q, func(r *sql.Rows) error {
		found = true
		return r.Scan(&p.ETag, &p.Next, &p.Items)
	})
	return p, found, err
}

var insertCursor = &Insert{
	Head:   "INSERT INTO resource_cursor (account_id, identity, resource, at)",
	Upsert: Upsert{Key: "account_id, identity", Set: "at = GREATEST(resource_cursor.at, excluded.at)"},
}

func cursorRow(c *domain.Cursor) Row {
	var row Row
	identity := HashOf(c.Resource)
	row.Write("(").Int(c.AccountID).Write(",").Hash(identity).Write(",").Text(c.Resource).Write(",").Time(c.At).Write(")")
	row.Key = sortKey(c.AccountID, identity)
	return row
}

var insertPage = &Insert{
	Head:   "INSERT INTO page (account_id, identity, page_key, etag, next_page, items)",
	Upsert: Upsert{Key: "account_id, identity", Set: Overwrite("etag", "next_page", "items")},
}

func pageRow(p *domain.Page) Row {
	var row Row
	identity := HashOf(p.Key)
	row.Write("(").Int(p.AccountID).Write(",").Hash(identity).Write(",").Text(p.Key).Write(",").Text(p.ETag)
	row.Write(",").Text(p.Next).Write(",").Int(int64(p.Items)).Write(")")
	row.Key = sortKey(p.AccountID, identity)
	return row
}

const windowColumns = "owner, bucket, call_limit, remaining, reset_at, started, parked_until, in_flight, points, touched, seq"

// QuotaWindows implements state.Quotas.
func (s *recordStore) QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	var out []domain.QuotaWindow
	where, args := "", []any{}
	if owner != "" {
		where, args = " WHERE owner = ?", []any{owner}
	}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var w domain.QuotaWindow
		var reset, started, parked, touched int64
		err := r.Scan(&w.Owner, &w.Bucket, &w.Limit, &w.Remaining, &reset, &started, &parked, &w.InFlight, &w.Points, &touched, &w.Seq)
		w.Reset, w.Started, w.ParkedUntil, w.Touched = Time(reset), Time(started), Time(parked), Time(touched)
		out = append(out, w)
		return err
	}, "SELECT "+windowColumns+" FROM quota_window"+where, args...)
	return out, err
}

// PutQuotaWindow implements state.Quotas.
func (s *recordStore) PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error {
	windows := state.NewestWindows{}
	windows.Add(&w)
	return s.db.Tx(ctx, func(tx *Tx) error { return putWindows(ctx, tx, windows) })
}

// insertWindow stores a snapshot unless a newer one is there: a claim and an
// outcome may be committed in another order than their snapshots were taken.
var insertWindow = &Insert{
	Head: "INSERT INTO quota_window (identity, " + windowColumns + ")",
	Upsert: Upsert{Key: "identity", Set: NewerWins("quota_window", "seq",
		"call_limit", "remaining", "reset_at", "started", "parked_until", "in_flight", "points", "touched")},
}

func windowRow(w *domain.QuotaWindow) Row {
	var row Row
	identity := HashOf(w.Owner, w.Bucket)
	row.Write("(").Hash(identity).Write(",").Text(w.Owner).Write(",").Text(w.Bucket).Write(",")
	row.Ints(int64(w.Limit), int64(w.Remaining), Micros(w.Reset), Micros(w.Started), Micros(w.ParkedUntil),
		int64(w.InFlight), int64(w.Points), Micros(w.Touched))
	row.Write(",").Uint(w.Seq).Write(")")
	row.Key = sortKey(0, identity)
	return row
}

func windowRows(windows state.NewestWindows) []Row {
	rows := make([]Row, 0, len(windows))
	for _, w := range windows {
		rows = append(rows, windowRow(&w))
	}
	return rows
}

func putWindows(ctx context.Context, tx *Tx, windows state.NewestWindows) error {
	_, err := insertWindow.Run(ctx, tx, windowRows(windows))
	return err
}

// AccountStatistics implements state.Statistics.
func (s *recordStore) AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error) {
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
func (s *recordStore) AllStatistics(ctx context.Context, fn func(domain.Account, []byte) error) error {
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
