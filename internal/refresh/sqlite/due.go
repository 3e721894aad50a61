package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/sqlitedb"
)

// readSQL makes what was read Hot. What was due later for its colder tier is
// due as if it had been Hot all along.
const readSQL = `UPDATE snapshot SET due_at = due_at - CASE tier WHEN ?4 THEN ?5 WHEN ?6 THEN ?7 ELSE 0 END,
	tier = ?8, read_at = max(read_at, ?3) WHERE source = ?1 AND key = ?2`

// Read implements refresh.Snapshots. Entities without a snapshot are left out.
func (s *Store) Read(ctx context.Context, reads []refresh.Read) error {
	if len(reads) == 0 {
		return nil
	}
	last := make(map[refresh.Entity]int64, len(reads))
	for _, r := range reads {
		last[r.Entity] = max(last[r.Entity], sqlitedb.Micros(r.At))
	}
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		for e, at := range last {
			err := sqlitedb.Exec(c, readSQL, nil, e.Source, e.Key, at, int64(refresh.Cold), s.tiers.Sooner(refresh.Cold),
				int64(refresh.Warm), s.tiers.Sooner(refresh.Warm), int64(refresh.Hot))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

const dueSQL = "SELECT key, tier, read_at FROM snapshot WHERE source = ? AND due_at <= ? ORDER BY due_at, key LIMIT ?"

var claimDue = sqlitedb.NewInsert("UPDATE snapshot SET tier = c.column3, due_at = c.column4 FROM (",
	") AS c WHERE snapshot.source = c.column1 AND snapshot.key = c.column2", 4)

// Due implements refresh.Snapshots.
func (s *Store) Due(ctx context.Context, source string, now time.Time, limit int) (due []refresh.Entity, err error) {
	if limit <= 0 {
		return nil, nil
	}
	at := sqlitedb.Micros(now)
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		due = nil
		var fallen []refresh.Tier
		err := sqlitedb.Exec(c, dueSQL, func(r *sqlite.Stmt) {
			due = append(due, refresh.Entity{Source: source, Key: r.ColumnText(0)})
			fallen = append(fallen, s.tiers.Fallen(refresh.Tier(r.ColumnInt64(1)), r.ColumnInt64(2), at))
		}, source, at, limit)
		if err != nil {
			return err
		}
		return claimDue.Run(c, len(due), func(stmt *sqlite.Stmt, base, i int) {
			stmt.BindText(base, source)
			stmt.BindText(base+1, due[i].Key)
			stmt.BindInt64(base+2, int64(fallen[i]))
			stmt.BindInt64(base+3, at+s.tiers.Interval(fallen[i]))
		}, nil)
	})
	return due, err
}

const statusSQL = `INSERT INTO snapshot_status (source, key, version, code, tries, error, at)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM snapshot WHERE source = ?1 AND key = ?2 AND seen_version > ?3)
	ON CONFLICT DO UPDATE SET version = excluded.version, code = excluded.code, tries = excluded.tries, error = excluded.error, at = excluded.at
	WHERE excluded.version >= snapshot_status.version`

// SetStatus implements refresh.Snapshots. Of two statuses that of the later
// version stays, in whatever order they come.
func (s *Store) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	for i := range statuses {
		if err := checkStatus(&statuses[i].Status); err != nil {
			return err
		}
	}
	if len(statuses) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		for i := range statuses {
			t := &statuses[i]
			err := sqlitedb.Exec(c, statusSQL, nil, t.Source, t.Key, t.Version, string(t.Code), t.Tries, t.Error, t.At)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func checkStatus(s *refresh.Status) error {
	if s.Code != refresh.StatusRetrying && s.Code != refresh.StatusFailed {
		return domain.Errorf(domain.CodeInvalid, "%q is no status of an entity", s.Code)
	}
	return checkEntity(s.Entity)
}

// readStatus returns nil if nothing is wrong with an entity.
func readStatus(c *sqlite.Conn, e refresh.Entity) (status *refresh.Status, err error) {
	err = sqlitedb.Exec(c, "SELECT code, tries, error, at FROM snapshot_status WHERE source = ? AND key = ?", func(r *sqlite.Stmt) {
		status = &refresh.Status{
			Entity: e, Code: refresh.StatusCode(r.ColumnText(0)), Tries: r.ColumnInt(1), Error: r.ColumnText(2), At: sqlitedb.Time(r.ColumnInt64(3)),
		}
	}, e.Source, e.Key)
	return status, err
}
