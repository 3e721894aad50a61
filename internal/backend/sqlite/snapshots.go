package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Snapshots implements refresh.Snapshots. What makes it fast is that concurrent
// calls share one fsync, that bodies are compressed before it is their turn,
// and that a value that did not change costs a small row and an entry in the
// index of what is due.
//
// A body is stored once, when the value is: the present value is part of the
// history from the beginning. Forget takes it out of the history without
// removing it; it goes when another value takes its place. So whoever archives
// what Values lists, and forgets it then, has every value once.
type Snapshots struct {
	db     *DB
	tiers  refresh.Tiers
	saves  *merger[refresh.SaveCall]
	packer *refresh.Packer
}

var _ refresh.Snapshots = (*Snapshots)(nil)

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
	s.saves = newMerger(db, s.applySaves)
	return s, nil
}

// snapshotSQL reads a snapshot together with its body.
const snapshotSQL = `SELECT s.version, s.hash, s.checked_at, s.updated_at, s.tier, v.body FROM snapshot s
	LEFT JOIN snapshot_value v ON v.source = s.source AND v.key = s.key AND v.version = s.version AND v.hash = s.hash
	WHERE s.source = ? AND s.key = ?`

// Snapshot implements refresh.Snapshots.
func (s *Snapshots) Snapshot(ctx context.Context, e refresh.Entity) (found refresh.Snapshot, ok bool, status *refresh.Status, err error) {
	var packed []byte
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		err := Exec(c, snapshotSQL, func(r *driver.Stmt) {
			ok = true
			found = refresh.Snapshot{
				Entity: e, Version: r.ColumnInt64(0), CheckedAt: fromMicros(r.ColumnInt64(2)), UpdatedAt: fromMicros(r.ColumnInt64(3)),
				Tier: refresh.Tier(r.ColumnInt64(4)),
			}
			r.ColumnBytes(1, found.Hash[:])
			packed = readBlob(r, 5)
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
func (s *Snapshots) Counts(ctx context.Context, source string) (refresh.Counts, error) {
	counts := refresh.NewCounts()
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		err := Exec(c, "SELECT tier, count(*), sum(bytes) FROM snapshot WHERE source = ? GROUP BY tier", func(r *driver.Stmt) {
			counts.AddTier(refresh.Tier(r.ColumnInt64(0)), r.ColumnInt64(1), r.ColumnInt64(2))
		}, source)
		if err != nil {
			return err
		}
		return Exec(c, "SELECT code, count(*) FROM snapshot_status WHERE source = ? GROUP BY code", func(r *driver.Stmt) {
			counts.AddStatus(refresh.StatusCode(r.ColumnText(0)), r.ColumnInt64(1))
		}, source)
	})
	if err != nil {
		return refresh.Counts{}, err
	}
	return counts, nil
}
