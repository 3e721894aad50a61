// Package sqlite keeps snapshots in the embedded database. One process owns the
// file and one goroutine writes it, so that a transaction never meets another;
// what makes it fast is that concurrent calls share one fsync, that bodies are
// compressed before it is their turn, and that a value that did not change
// costs a small row and an entry in the index of what is due.
//
// A body is stored once, when the value is: the present value is part of the
// history from the beginning. Forget takes it out of the history without
// removing it; it goes when another value takes its place. So whoever archives
// what Values lists, and forgets it then, has every value once.
package sqlite

import (
	"context"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/refresh/packing"
	"sluice/internal/sqlitedb"
)

// Store implements refresh.Snapshots.
type Store struct {
	db     *sqlitedb.DB
	tiers  refresh.Tiers
	saves  *sqlitedb.Merger[saveItem]
	packer *packing.Packer
}

var _ refresh.Snapshots = (*Store)(nil)

// New returns a store on an open database, which stays the caller's.
func New(db *sqlitedb.DB, o refresh.TierOptions) (*Store, error) {
	t, err := refresh.NewTiers(o)
	if err != nil {
		return nil, err
	}
	packer, err := packing.New()
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, tiers: t, packer: packer}
	s.saves = sqlitedb.NewMerger(db, s.applySaves)
	return s, nil
}

const (
	maxSource = 255
	maxKey    = 1024
)

// checkEntity refuses what no store of the program could keep.
func checkEntity(e refresh.Entity) error {
	if e.Source == "" || e.Key == "" || len(e.Source) > maxSource || len(e.Key) > maxKey || !utf8.ValidString(e.Source) || !utf8.ValidString(e.Key) {
		return domain.Errorf(domain.CodeInvalid, "an entity needs a source of up to %d and a key of up to %d bytes of UTF-8; got %q", maxSource, maxKey, e.String())
	}
	return nil
}

// snapshotSQL reads a snapshot together with its body.
const snapshotSQL = `SELECT s.version, s.hash, s.checked_at, s.updated_at, s.tier, v.body FROM snapshot s
	LEFT JOIN snapshot_value v ON v.source = s.source AND v.key = s.key AND v.version = s.version AND v.hash = s.hash
	WHERE s.source = ? AND s.key = ?`

// Snapshot implements refresh.Snapshots.
func (s *Store) Snapshot(ctx context.Context, e refresh.Entity) (found refresh.Snapshot, ok bool, status *refresh.Status, err error) {
	var packed []byte
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		err := sqlitedb.Exec(c, snapshotSQL, func(r *sqlite.Stmt) {
			ok = true
			found = refresh.Snapshot{
				Entity: e, Version: r.ColumnInt64(0), CheckedAt: sqlitedb.Time(r.ColumnInt64(2)), UpdatedAt: sqlitedb.Time(r.ColumnInt64(3)),
				Tier: refresh.Tier(r.ColumnInt64(4)),
			}
			r.ColumnBytes(1, found.Hash[:])
			packed = sqlitedb.Blob(r, 5)
		}, e.Source, e.Key)
		if err != nil {
			return err
		}
		status, err = readStatus(c, e)
		return err
	})
	if err == nil && ok {
		found.Body, err = s.packer.Unpack(packed)
		if err == nil && len(packed) == 0 {
			err = domain.Errorf(domain.CodeCorrupt, "the snapshot of %s has lost its value", e)
		}
	}
	if err != nil {
		return refresh.Snapshot{}, false, nil, err
	}
	return found, ok, status, nil
}

// Counts implements refresh.Snapshots. The bytes are those of the present
// values as they are stored, compressed.
func (s *Store) Counts(ctx context.Context, source string) (refresh.Counts, error) {
	counts := refresh.Counts{Tiers: map[string]int64{}}
	for _, tier := range []refresh.Tier{refresh.Cold, refresh.Warm, refresh.Hot} {
		counts.Tiers[tier.String()] = 0
	}
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		err := sqlitedb.Exec(c, "SELECT tier, count(*), sum(bytes) FROM snapshot WHERE source = ? GROUP BY tier", func(r *sqlite.Stmt) {
			counts.Tiers[refresh.Tier(r.ColumnInt64(0)).String()] += r.ColumnInt64(1)
			counts.Snapshots += r.ColumnInt64(1)
			counts.Bytes += r.ColumnInt64(2)
		}, source)
		if err != nil {
			return err
		}
		return sqlitedb.Exec(c, "SELECT code, count(*) FROM snapshot_status WHERE source = ? GROUP BY code", func(r *sqlite.Stmt) {
			if refresh.StatusCode(r.ColumnText(0)) == refresh.StatusRetrying {
				counts.Retrying = r.ColumnInt64(1)
			} else {
				counts.Failed = r.ColumnInt64(1)
			}
		}, source)
	})
	if err != nil {
		return refresh.Counts{}, err
	}
	return counts, nil
}
