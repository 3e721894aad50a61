package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// DocumentWriter stores documents inside a transaction of this store, so that
// a page and its job's outcome are committed together or not at all. Pack does
// what needs no transaction, on the caller's time; Write does the rest inside one,
// for several at once, and claims absences.
type DocumentWriter interface {
	Pack(ctx context.Context, docs []document.Document) (*PackedDocuments, error)
	Write(ctx context.Context, conn *driver.Conn, packed []*PackedDocuments, absences []document.Absence) error
	// Compact removes payloads that newer copies have replaced, if there can
	// be enough of them after so many documents came in.
	Compact(ctx context.Context, conn *driver.Conn, account, received int64) error
}

// State implements state.Store. One process owns the file and one goroutine
// writes it, so a transaction never meets another; what makes it fast is that
// the claims and outcomes of concurrent workers are merged into set-based
// statements and share one fsync.
type State struct {
	accountStore
	recordStore
	ledgerStore
	listStore
	state.Lookups
	state.Changes
	db   *DB
	docs DocumentWriter
	now  func() time.Time

	claims   *merger[claimItem]
	finishes *merger[finishItem]
	// lastJob is the highest job id given out. One process owns the file, so
	// ids are counted here and known before the rows are inserted.
	lastJob atomic.Int64
}

var _ state.Store = (*State)(nil)

// accountStore implements what state.Lookups and Changes leave of state.Accounts.
type accountStore struct {
	db  *DB
	now func() time.Time
}

// recordStore implements state.Collection, Quotas and Statistics, and what Lookups
// and Changes leave of Harvests.
type recordStore struct{ db *DB }

// ledgerStore implements state.Ledgers.
type ledgerStore struct{ db *DB }

// NewState prepares a store on an open database. Closing the store closes it. A
// nil docs means that documents live elsewhere.
func NewState(ctx context.Context, db *DB, docs DocumentWriter, now func() time.Time) (*State, error) {
	s := &State{db: db, docs: docs, now: now}
	if s.now == nil {
		s.now = time.Now
	}
	s.accountStore, s.recordStore, s.ledgerStore = accountStore{db, s.now}, recordStore{db}, ledgerStore{db}
	s.listStore = listStore{db}
	s.Lookups = state.NewLookups(db.Read, func(c *driver.Conn) state.ReadRows { return stateReader{c} })
	s.Changes = state.NewChanges(db.Write, func(c *driver.Conn) state.Rows { return stateRows{stateReader{c}, s} }, s.now)
	s.claims = newMerger(db, s.applyClaims)
	// What several have asked for together ends with none of them.
	shared := context.WithoutCancel(ctx)
	s.finishes = newMerger(db, func(c *driver.Conn, items []*finishItem) error { return s.applyFinishes(shared, c, items) })
	err := db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT max(coalesce((SELECT max(id) FROM job), 0), coalesce((SELECT last FROM id_mark WHERE name = 'job'), 0))", func(r *driver.Stmt) { s.lastJob.Store(r.ColumnInt64(0)) })
	})
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	return s, nil
}

// Check proves that the store can be read and written. Setting the version
// number that SQLite keeps for its users, which nobody reads, writes a page
// even when nothing changes; an UPDATE that meets no row would write none.
func (s *State) Check(ctx context.Context) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "PRAGMA user_version = 1", nil)
	})
}

// Close closes the store and its database.
func (s *State) Close() error { return s.db.Close() }

// Cursors implements state.Collection.
func (s *recordStore) Cursors(ctx context.Context, account int64) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT resource, at FROM cursor WHERE account_id = ?",
			func(r *driver.Stmt) { out[r.ColumnText(0)] = fromMicros(r.ColumnInt64(1)) }, account)
	})
	return out, err
}

// StoredPage implements state.Collection.
func (s *recordStore) StoredPage(ctx context.Context, account int64, key string) (domain.Page, bool, error) {
	p, found := domain.Page{AccountID: account, Key: key}, false
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT etag, next, items FROM page WHERE account_id = ? AND key = ?",
			func(r *driver.Stmt) {
				p.ETag, p.Next, p.Items, found = r.ColumnText(0), r.ColumnText(1), r.ColumnInt(2), true
			}, account, key)
	})
	return p, found, err
}

const windowColumns = "owner, bucket, call_limit, remaining, reset, started, parked_until, in_flight, points, touched, seq"

// QuotaWindows implements state.Quotas.
func (s *recordStore) QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	var out []domain.QuotaWindow
	query, args := "SELECT "+windowColumns+" FROM quota_window", []any{}
	if owner != "" {
		query, args = query+" WHERE owner = ?", append(args, owner)
	}
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, query,
			func(r *driver.Stmt) {
				out = append(out, domain.QuotaWindow{
					Owner: r.ColumnText(0), Bucket: r.ColumnText(1), Limit: r.ColumnInt(2), Remaining: r.ColumnInt(3),
					Reset: fromMicros(r.ColumnInt64(4)), Started: fromMicros(r.ColumnInt64(5)),
					ParkedUntil: fromMicros(r.ColumnInt64(6)), InFlight: r.ColumnInt(7), Points: r.ColumnInt(8),
					Touched: fromMicros(r.ColumnInt64(9)), Seq: uint64(r.ColumnInt64(10)),
				})
			}, args...)
	})
	return out, err
}

// PutQuotaWindow implements state.Quotas.
func (s *recordStore) PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error {
	return s.db.Write(ctx, func(c *driver.Conn) error { return putWindow(c, w) })
}

// putWindow stores a snapshot unless a newer one is there: a claim and an
// outcome may be committed in another order than their snapshots were taken.
func putWindow(c *driver.Conn, w domain.QuotaWindow) error {
	return Exec(c, "INSERT INTO quota_window ("+windowColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, bucket) DO UPDATE SET call_limit = excluded.call_limit, remaining = excluded.remaining,
		reset = excluded.reset, started = excluded.started, parked_until = excluded.parked_until,
		in_flight = excluded.in_flight, points = excluded.points, touched = excluded.touched, seq = excluded.seq
		WHERE excluded.seq >= quota_window.seq`, nil,
		w.Owner, w.Bucket, w.Limit, w.Remaining, w.Reset, w.Started, w.ParkedUntil, w.InFlight, w.Points, w.Touched, int64(w.Seq))
}

func putWindows(c *driver.Conn, windows state.NewestWindows) error {
	for _, w := range windows {
		if err := putWindow(c, w); err != nil {
			return err
		}
	}
	return nil
}

// AccountStatistics implements state.Statistics.
func (s *recordStore) AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error) {
	var data []byte
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT data FROM statistics WHERE account_id = ?",
			func(r *driver.Stmt) { data = readBlob(r, 0) }, account)
	})
	return data, data != nil, err
}

// AllStatistics implements state.Statistics.
func (s *recordStore) AllStatistics(ctx context.Context, fn func(domain.Account, []byte) error) error {
	return s.db.Read(ctx, func(c *driver.Conn) error {
		var failed error
		err := Exec(c, "SELECT "+accountColumns+", s.data FROM statistics s JOIN account a ON a.id = s.account_id ORDER BY a.id",
			func(r *driver.Stmt) {
				if failed == nil {
					failed = fn(scanAccount(r), readBlob(r, accountWidth))
				}
			})
		if err != nil {
			return err
		}
		return failed
	})
}
