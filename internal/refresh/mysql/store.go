// Package mysql keeps snapshots in MySQL or MariaDB, for several processes at
// once. What makes it fast is that the calls of a process share transactions of
// few, set-based statements, and that a value that did not change costs a small
// row.
//
// Whoever writes about entities locks their rows first, by ascending identity,
// looks at them, and writes back what became of them; those that have none yet
// get one beforehand. So two never wait for each other, and the larger version
// wins whoever comes first.
//
// A body is stored once, when the value is: the present value is part of the
// history from the beginning. Forget takes it out of the history without
// removing it; it goes when another value takes its place. So whoever archives
// what Values lists, and forgets it then, has every value once.
package mysql

import (
	"context"
	"database/sql"
	"time"
	"unicode/utf8"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
	"sluice/internal/refresh/packing"
)

// Store implements refresh.Snapshots.
type Store struct {
	db     *mysqldb.DB
	tiers  refresh.Tiers
	saves  *batch.Group[saveItem]
	packer *packing.Packer
}

var _ refresh.Snapshots = (*Store)(nil)

const (
	// maxGroup bounds how many calls share a transaction.
	maxGroup = 64
	// maxIdentities bounds how many a statement lists.
	maxIdentities = 1000
	// groupPatience is short beside a transaction, and long enough for callers
	// that the last one set free to come back.
	groupPatience = 300 * time.Microsecond
)

// New returns a store on an open database, which stays the caller's.
func New(db *mysqldb.DB, o refresh.TierOptions) (*Store, error) {
	t, err := refresh.NewTiers(o)
	if err != nil {
		return nil, err
	}
	packer, err := packing.New()
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, tiers: t, packer: packer}
	s.saves = batch.New(maxGroup, s.shareSaves).Patient(groupPatience)
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

func identityOf(e refresh.Entity) mysqldb.Hash { return mysqldb.HashOf(e.Source, e.Key) }

// snapshotSQL reads all that is known of an entity in one statement, which
// sees one state of the database.
const snapshotSQL = `SELECT s.version, s.hash, s.checked_at, s.updated_at, s.tier, v.body, t.code, t.tries, t.error, t.at FROM snapshot s
	LEFT JOIN snapshot_value v ON v.identity = s.identity AND v.version = s.version AND v.hash = s.hash
	LEFT JOIN snapshot_status t ON t.identity = s.identity WHERE s.identity = `

// Snapshot implements refresh.Snapshots.
func (s *Store) Snapshot(ctx context.Context, e refresh.Entity) (found refresh.Snapshot, ok bool, status *refresh.Status, err error) {
	var find mysqldb.Statement
	find.Write(snapshotSQL).Hash(identityOf(e))
	var hash, packed []byte
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var checked, updated int64
		var code, text sql.NullString
		var tries, at sql.NullInt64
		if err := r.Scan(&found.Version, &hash, &checked, &updated, &found.Tier, &packed, &code, &tries, &text, &at); err != nil {
			return err
		}
		found.CheckedAt, found.UpdatedAt = mysqldb.Time(checked), mysqldb.Time(updated)
		if code.Valid {
			status = &refresh.Status{
				Entity: e, Code: refresh.StatusCode(code.String), Tries: int(tries.Int64), Error: text.String, At: mysqldb.Time(at.Int64),
			}
		}
		return nil
	})
	if err != nil {
		return refresh.Snapshot{}, false, nil, err
	}
	if found.Version == 0 {
		return refresh.Snapshot{}, false, status, nil
	}
	if len(packed) == 0 {
		return refresh.Snapshot{}, false, nil, domain.Errorf(domain.CodeCorrupt, "the snapshot of %s has lost its value", e)
	}
	found.Entity = e
	copy(found.Hash[:], hash)
	if found.Body, err = s.packer.Unpack(packed); err != nil {
		return refresh.Snapshot{}, false, nil, err
	}
	return found, true, status, nil
}

// Counts implements refresh.Snapshots. The bytes are those of the present
// values as they are stored, compressed.
func (s *Store) Counts(ctx context.Context, source string) (refresh.Counts, error) {
	counts := refresh.Counts{Tiers: map[string]int64{}}
	for _, tier := range []refresh.Tier{refresh.Cold, refresh.Warm, refresh.Hot} {
		counts.Tiers[tier.String()] = 0
	}
	err := s.db.Snapshot(ctx, func(tx *sql.Tx) error {
		counts.Snapshots, counts.Bytes = 0, 0
		err := mysqldb.Query(ctx, tx, func(r *sql.Rows) error {
			var tier refresh.Tier
			var n, bytes int64
			err := r.Scan(&tier, &n, &bytes)
			counts.Tiers[tier.String()] = n
			counts.Snapshots += n
			counts.Bytes += bytes
			return err
		}, "SELECT tier, COUNT(*), SUM(bytes) FROM snapshot WHERE source = ? AND version > 0 GROUP BY tier", []byte(source))
		if err != nil {
			return err
		}
		return mysqldb.Query(ctx, tx, func(r *sql.Rows) error {
			var code refresh.StatusCode
			var n int64
			err := r.Scan(&code, &n)
			if code == refresh.StatusRetrying {
				counts.Retrying = n
			} else {
				counts.Failed = n
			}
			return err
		}, "SELECT code, COUNT(*) FROM snapshot_status WHERE source = ? GROUP BY code", []byte(source))
	})
	if err != nil {
		return refresh.Counts{}, err
	}
	return counts, nil
}
