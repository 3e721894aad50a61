// Package sqlite keeps the state in the embedded database. One process owns
// the file and one goroutine writes it, so a transaction never meets another;
// what makes it fast is that the claims and outcomes of concurrent workers
// are merged into set-based statements and share one fsync.
package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
)

// DocumentWriter stores documents inside a transaction of this store, so that
// a page and its job's outcome are committed together or not at all. Pack does
// what needs no transaction, on the caller's time; what it returns does the
// rest inside one, and may be called again if that is rolled back.
type DocumentWriter interface {
	Pack(docs []document.Document) (write func(*sqlite.Conn) error, err error)
	Flag(conn *sqlite.Conn, absences []document.Absence) error
	// Compact removes payloads that newer copies have replaced, if there can
	// be enough of them after so many documents came in.
	Compact(conn *sqlite.Conn, account, received int64) error
}

// Store implements state.Store.
type Store struct {
	db   *sqlitedb.DB
	docs DocumentWriter
	now  func() time.Time

	claims   *sqlitedb.Merger[claimItem]
	finishes *sqlitedb.Merger[finishItem]
	// lastJob is the highest job id given out. One process owns the file, so
	// ids are counted here and known before the rows are inserted.
	lastJob atomic.Int64
}

var _ state.Store = (*Store)(nil)

// Open prepares a store on an open database. Closing the store closes it. A
// nil docs means that documents live elsewhere.
func Open(ctx context.Context, db *sqlitedb.DB, docs DocumentWriter, now func() time.Time) (*Store, error) {
	s := &Store{db: db, docs: docs, now: now}
	if s.now == nil {
		s.now = time.Now
	}
	s.claims = sqlitedb.NewMerger(db, s.applyClaims)
	s.finishes = sqlitedb.NewMerger(db, s.applyFinishes)
	err := db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT coalesce(max(id),0) FROM job", func(r *sqlite.Stmt) { s.lastJob.Store(r.ColumnInt64(0)) })
	})
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	return s, nil
}

// Check proves that the store can be read and written. Setting the version
// number that SQLite keeps for its users, which nobody reads, writes a page
// even when nothing changes; an UPDATE that meets no row would write none.
func (s *Store) Check(ctx context.Context) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "PRAGMA user_version = 1", nil)
	})
}

// Close closes the store and its database.
func (s *Store) Close() error { return s.db.Close() }

// Cursors implements state.Collection.
func (s *Store) Cursors(ctx context.Context, account int64) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT resource, at FROM cursor WHERE account_id = ?",
			func(r *sqlite.Stmt) { out[r.ColumnText(0)] = sqlitedb.Time(r.ColumnInt64(1)) }, account)
	})
	return out, err
}

// StoredPage implements state.Collection.
func (s *Store) StoredPage(ctx context.Context, account int64, key string) (domain.Page, bool, error) {
	p, found := domain.Page{AccountID: account, Key: key}, false
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT etag, next, items FROM page WHERE account_id = ? AND key = ?",
			func(r *sqlite.Stmt) {
				p.ETag, p.Next, p.Items, found = r.ColumnText(0), r.ColumnText(1), r.ColumnInt(2), true
			}, account, key)
	})
	return p, found, err
}

const windowColumns = "owner, bucket, call_limit, remaining, reset, started, parked_until, in_flight, points, touched, seq"

// QuotaWindows implements state.Quotas.
func (s *Store) QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	var out []domain.QuotaWindow
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+windowColumns+" FROM quota_window WHERE ?1 = '' OR owner = ?1",
			func(r *sqlite.Stmt) {
				out = append(out, domain.QuotaWindow{
					Owner: r.ColumnText(0), Bucket: r.ColumnText(1), Limit: r.ColumnInt(2), Remaining: r.ColumnInt(3),
					Reset: sqlitedb.Time(r.ColumnInt64(4)), Started: sqlitedb.Time(r.ColumnInt64(5)),
					ParkedUntil: sqlitedb.Time(r.ColumnInt64(6)), InFlight: r.ColumnInt(7), Points: r.ColumnInt(8),
					Touched: sqlitedb.Time(r.ColumnInt64(9)), Seq: uint64(r.ColumnInt64(10)),
				})
			}, owner)
	})
	return out, err
}

// PutQuotaWindow implements state.Quotas.
func (s *Store) PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error { return putWindow(c, w) })
}

// putWindow stores a snapshot unless a newer one is there: a claim and an
// outcome may be committed in another order than their snapshots were taken.
func putWindow(c *sqlite.Conn, w domain.QuotaWindow) error {
	return sqlitedb.Exec(c, "INSERT INTO quota_window ("+windowColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, bucket) DO UPDATE SET call_limit = excluded.call_limit, remaining = excluded.remaining,
		reset = excluded.reset, started = excluded.started, parked_until = excluded.parked_until,
		in_flight = excluded.in_flight, points = excluded.points, touched = excluded.touched, seq = excluded.seq
		WHERE excluded.seq >= quota_window.seq`, nil,
		w.Owner, w.Bucket, w.Limit, w.Remaining, w.Reset, w.Started, w.ParkedUntil, w.InFlight, w.Points, w.Touched, int64(w.Seq))
}

// newestWindows keeps the last snapshot of each window: the group is written
// in one transaction, so the others would be overwritten anyway.
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

func (s *Store) putWindows(c *sqlite.Conn, n newestWindows) error {
	for _, w := range n {
		if err := putWindow(c, w); err != nil {
			return err
		}
	}
	return nil
}

// AccountStatistics implements state.Statistics.
func (s *Store) AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error) {
	var data []byte
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT data FROM statistics WHERE account_id = ?",
			func(r *sqlite.Stmt) { data = sqlitedb.Blob(r, 0) }, account)
	})
	return data, data != nil, err
}

// AllStatistics implements state.Statistics.
func (s *Store) AllStatistics(ctx context.Context, fn func(domain.Account, []byte) error) error {
	return s.db.Read(ctx, func(c *sqlite.Conn) error {
		var failed error
		err := sqlitedb.Exec(c, "SELECT "+accountColumns+", s.data FROM statistics s JOIN account a ON a.id = s.account_id ORDER BY a.id",
			func(r *sqlite.Stmt) {
				if failed == nil {
					failed = fn(scanAccount(r), sqlitedb.Blob(r, accountWidth))
				}
			})
		if err != nil {
			return err
		}
		return failed
	})
}
