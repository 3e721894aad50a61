package relational

import (
	"context"
	"database/sql"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Snapshots implements refresh.Snapshots. What makes it fast is that the calls of
// a process share transactions of few, set-based statements, and that a value
// that did not change costs a small row.
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
type Snapshots struct {
	db     *DB
	tiers  refresh.Tiers
	saves  *batch.Group[saveItem]
	packer *refresh.Packer
}

var _ refresh.Snapshots = (*Snapshots)(nil)

const (
	// maxSaves bounds how many calls share a transaction.
	maxSaves = 64
	// maxIdentities bounds how many a statement lists.
	maxIdentities = 1000
)

// NewSnapshots returns a store on an open database, which stays the caller's.
func NewSnapshots(db *DB, o refresh.TierOptions) (*Snapshots, error) {
	t, err := refresh.NewTiers(o)
	if err != nil {
		return nil, err
	}
	packer, err := refresh.NewPacker()
	if err != nil {
		return nil, err
	}
	s := &Snapshots{db: db, tiers: t, packer: packer}
	s.saves = batch.New(maxSaves, s.shareSaves).Patient(groupPatience)
	return s, nil
}

func entityIdentity(e refresh.Entity) Hash { return HashOf(e.Source, e.Key) }

// snapshotSQL reads all that is known of an entity in one statement, which
// sees one state of the database.
const snapshotSQL = `SELECT s.version, s.hash, s.checked_at, s.updated_at, s.tier, v.body, t.code, t.tries, t.error, t.at, t.error_code, t.next_retry_at FROM snapshot s
	LEFT JOIN snapshot_value v ON v.identity = s.identity AND v.version = s.version AND v.hash = s.hash
	LEFT JOIN snapshot_status t ON t.identity = s.identity WHERE s.identity = `

// Snapshot implements refresh.Snapshots.
func (s *Snapshots) Snapshot(ctx context.Context, e refresh.Entity) (found refresh.Snapshot, ok bool, status *refresh.Status, err error) {
	var find Statement
	find.Write(snapshotSQL).Hash(entityIdentity(e))
	var hash, packed []byte
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var checked, updated int64
		var code, text, errorCode sql.NullString
		var tries, at, next sql.NullInt64
		if err := r.Scan(&found.Version, &hash, &checked, &updated, &found.Tier, &packed, &code, &tries, &text, &at, &errorCode, &next); err != nil {
			return err
		}
		found.CheckedAt, found.UpdatedAt = Time(checked), Time(updated)
		if code.Valid {
			status = &refresh.Status{
				Entity: e, Code: refresh.StatusCode(code.String), Tries: int(tries.Int64), Error: text.String, At: Time(at.Int64),
				ErrorCode: errorCode.String, NextRetryAt: optionalTime(next.Int64),
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
func (s *Snapshots) Counts(ctx context.Context, source string) (refresh.Counts, error) {
	var counts refresh.Counts
	err := s.db.Snapshot(ctx, func(tx *Tx) error {
		counts = refresh.NewCounts()
		err := Query(ctx, tx, func(r *sql.Rows) error {
			var tier refresh.Tier
			var n, bytes int64
			err := r.Scan(&tier, &n, &bytes)
			counts.AddTier(tier, n, bytes)
			return err
		}, "SELECT tier, COUNT(*), SUM(bytes) FROM snapshot WHERE source = ? AND version > 0 GROUP BY tier", []byte(source))
		if err != nil {
			return err
		}
		return Query(ctx, tx, func(r *sql.Rows) error {
			var code refresh.StatusCode
			var n int64
			err := r.Scan(&code, &n)
			counts.AddStatus(code, n)
			return err
		}, "SELECT code, COUNT(*) FROM snapshot_status WHERE source = ? GROUP BY code", []byte(source))
	})
	if err != nil {
		return refresh.Counts{}, err
	}
	return counts, nil
}
