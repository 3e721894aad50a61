package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

const (
	readTierSQL = "SELECT tier, due_at, read_at FROM snapshot WHERE source = ? AND key = ?"
	markReadSQL = "UPDATE snapshot SET tier = ?, due_at = ?, read_at = ? WHERE source = ? AND key = ?"
)

// Read implements refresh.Snapshots. Entities without a snapshot are left out.
func (s *Snapshots) Read(ctx context.Context, reads []refresh.Read) error {
	if len(reads) == 0 {
		return nil
	}
	last := make(map[refresh.Entity]int64, len(reads))
	for _, r := range reads {
		last[r.Entity] = max(last[r.Entity], toMicros(r.At))
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for e, at := range last {
			if err := s.markRead(c, e, at); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Snapshots) markRead(c *driver.Conn, e refresh.Entity, at int64) error {
	var k refresh.Known
	err := Exec(c, readTierSQL, func(r *driver.Stmt) {
		k = refresh.Known{Tier: refresh.Tier(r.ColumnInt64(0)), Due: r.ColumnInt64(1), Read: r.ColumnInt64(2)}
	}, e.Source, e.Key)
	if err != nil || k.Tier == 0 {
		return err
	}
	k.MarkRead(at, s.tiers.For(e))
	return Exec(c, markReadSQL, nil, int64(k.Tier), k.Due, k.Read, e.Source, e.Key)
}

const dueSQL = "SELECT key, tier, read_at FROM snapshot WHERE source = ? AND due_at <= ? ORDER BY due_at, key LIMIT ?"

var claimDue = NewInsert("UPDATE snapshot SET tier = c.column3, due_at = c.column4 FROM (",
	") AS c WHERE snapshot.source = c.column1 AND snapshot.key = c.column2", 4)

// Due implements refresh.Snapshots. If nothing is due it only reads.
func (s *Snapshots) Due(ctx context.Context, q refresh.DueQuery) (due refresh.Due, err error) {
	if q.Limit <= 0 {
		return due, nil
	}
	at := toMicros(q.Now)
	some := false
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT EXISTS (SELECT 1 FROM snapshot WHERE source = ? AND due_at <= ?)",
			func(r *driver.Stmt) { some = r.ColumnBool(0) }, q.Source, at)
	})
	if err != nil || !some {
		return due, err
	}
	err = s.db.Write(ctx, func(c *driver.Conn) (err error) {
		due, err = s.claimDue(c, q, at)
		return err
	})
	return due, err
}

func (s *Snapshots) claimDue(c *driver.Conn, q refresh.DueQuery, at int64) (due refresh.Due, err error) {
	n, used := q.Limit, int64(0)
	if q.PerSecond > 0 {
		next := int64(0)
		if err := Exec(c, "SELECT next_at FROM refresh_pace WHERE source = ?", func(r *driver.Stmt) { next = r.ColumnInt64(0) }, q.Source); err != nil {
			return due, err
		}
		if n, used = refresh.Pace(next, at, q.PerSecond, q.Limit); n == 0 {
			due.Next = fromMicros(used)
			return due, nil
		}
	}
	var known []refresh.Known
	err = Exec(c, dueSQL, func(r *driver.Stmt) {
		due.Entities = append(due.Entities, refresh.Entity{Source: q.Source, Key: r.ColumnText(0)})
		k := refresh.Known{Tier: refresh.Tier(r.ColumnInt64(1)), Read: r.ColumnInt64(2)}
		k.MakeDue(at, s.tiers.For(due.Entities[len(due.Entities)-1]))
		known = append(known, k)
	}, q.Source, at, n)
	if err != nil {
		return due, err
	}
	err = claimDue.Run(c, len(due.Entities), func(stmt *driver.Stmt, base, i int) {
		stmt.BindText(base, q.Source)
		stmt.BindText(base+1, due.Entities[i].Key)
		stmt.BindInt64(base+2, int64(known[i].Tier))
		stmt.BindInt64(base+3, known[i].Due)
	}, nil)
	if err != nil || q.PerSecond <= 0 {
		return due, err
	}
	if len(due.Entities) == n {
		due.Next = fromMicros(used)
	}
	return due, Exec(c, "INSERT INTO refresh_pace (source, next_at) VALUES (?, ?) ON CONFLICT DO UPDATE SET next_at = excluded.next_at", nil, q.Source, used)
}

// statusSQL leaves a status alone that VersionedStatus.Counts says does not count.
const statusSQL = `INSERT INTO snapshot_status (source, key, version, code, tries, error, at, error_code, next_retry_at)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE NOT EXISTS (SELECT 1 FROM snapshot WHERE source = ?1 AND key = ?2 AND seen_version > ?3)
	ON CONFLICT DO UPDATE SET version = excluded.version, code = excluded.code, tries = excluded.tries, error = excluded.error, at = excluded.at,
		error_code = excluded.error_code, next_retry_at = excluded.next_retry_at
	WHERE excluded.version >= snapshot_status.version`

// SetStatus implements refresh.Snapshots. Of two statuses that of the later
// version stays, in whatever order they come.
func (s *Snapshots) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	for i := range statuses {
		if err := statuses[i].Check(); err != nil {
			return err
		}
	}
	if len(statuses) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for i := range statuses {
			t := &statuses[i]
			err := Exec(c, statusSQL, nil, t.Source, t.Key, t.Version, string(t.Code), t.Tries, t.Error, t.At,
				t.ErrorCode, toMicros(t.NextRetryAt))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// readStatus returns nil if nothing is wrong with an entity.
func readStatus(c *driver.Conn, e refresh.Entity) (status *refresh.Status, err error) {
	err = Exec(c, "SELECT code, tries, error, at, error_code, next_retry_at FROM snapshot_status WHERE source = ? AND key = ?", func(r *driver.Stmt) {
		status = &refresh.Status{
			Entity: e, Code: refresh.StatusCode(r.ColumnText(0)), Tries: r.ColumnInt(1), Error: r.ColumnText(2), At: fromMicros(r.ColumnInt64(3)),
			ErrorCode: r.ColumnText(4), NextRetryAt: fromMicros(r.ColumnInt64(5)),
		}
	}, e.Source, e.Key)
	return status, err
}
