package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

const (
	// The conditions are those of refresh.Pending: Accepts, Follows, Parks and Settles.
	acceptSQL = `INSERT INTO refresh_request (source, key, version, priority, waits, not_before, code, error, event)
		VALUES (?1, ?2, ?3, ?4, ?5, NULL, '', '', ?6)
		ON CONFLICT DO UPDATE SET version = excluded.version, priority = excluded.priority, waits = excluded.waits, not_before = NULL,
			code = '', error = '', event = excluded.event
		WHERE excluded.version = version AND not_before IS NULL
			OR excluded.version > version AND (not_before IS NULL OR waits = 0 OR excluded.priority > priority)`
	followSQL = putRequestSQL + `WHERE excluded.version = version AND not_before IS NULL AND waits = 0
			OR excluded.version > version AND (not_before IS NULL OR waits = 0)`
	parkSQL = putRequestSQL + "WHERE excluded.version >= version AND (excluded.waits > 0 OR not_before IS NULL)"

	putRequestSQL = `INSERT INTO refresh_request (source, key, version, priority, waits, not_before, code, error, event)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT DO UPDATE SET version = excluded.version, priority = excluded.priority, waits = excluded.waits,
			not_before = excluded.not_before, code = excluded.code, error = excluded.error, event = excluded.event
		`
	settleSQL = "DELETE FROM refresh_request WHERE source = ? AND key = ? AND version <= ?"
)

// Accept implements refresh.Requests.
func (s *Snapshots) Accept(ctx context.Context, events []refresh.Event) error {
	texts := make([][]byte, len(events))
	for i := range events {
		var err error
		if texts[i], err = encodeEvent(&events[i]); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for i := range events {
			e := &events[i]
			if err := Exec(c, acceptSQL, nil, e.Source, e.Key, e.Version, int64(e.Priority), e.Waits, texts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func encodeEvent(e *refresh.Event) ([]byte, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	return e.Encode()
}

// Follow implements refresh.Requests.
func (s *Snapshots) Follow(ctx context.Context, requests []refresh.Pending) error {
	return s.putRequests(ctx, followSQL, requests)
}

// Park implements refresh.Requests.
func (s *Snapshots) Park(ctx context.Context, requests []refresh.Pending) error {
	return s.putRequests(ctx, parkSQL, requests)
}

func (s *Snapshots) putRequests(ctx context.Context, statement string, requests []refresh.Pending) error {
	texts := make([][]byte, len(requests))
	for i := range requests {
		var err error
		if texts[i], err = encodeEvent(&requests[i].Event); err != nil {
			return err
		}
	}
	if len(requests) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for i := range requests {
			r := &requests[i]
			if err := Exec(c, statement, nil, r.Source, r.Key, r.Version, int64(r.Priority), r.Waits, r.NotBefore, r.Code, r.Error, texts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Wake implements refresh.Requests. If nothing is due it only reads.
func (s *Snapshots) Wake(ctx context.Context, now time.Time, lease time.Duration, limit int) (due []refresh.Pending, next time.Time, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) (err error) {
		due, next, err = readDueRequests(c, now, limit)
		return err
	})
	if err != nil || len(due) == 0 {
		return nil, next, err
	}
	err = s.db.Write(ctx, func(c *driver.Conn) (err error) {
		if due, next, err = readDueRequests(c, now, limit); err != nil {
			return err
		}
		for i := range due {
			err := Exec(c, "UPDATE refresh_request SET not_before = ? WHERE source = ? AND key = ?", nil, now.Add(lease), due[i].Source, due[i].Key)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return due, next, err
}

func readDueRequests(c *driver.Conn, now time.Time, limit int) (due []refresh.Pending, next time.Time, err error) {
	var broken error
	err = Exec(c, `SELECT event, code, error, not_before FROM refresh_request WHERE not_before IS NOT NULL AND not_before <= ?
		ORDER BY not_before LIMIT ?`, func(r *driver.Stmt) {
		p, err := readPending(r)
		if err != nil {
			broken = err
			return
		}
		due = append(due, p)
	}, now, max(0, limit))
	if err == nil {
		err = broken
	}
	if err != nil {
		return nil, next, err
	}
	if len(due) == limit {
		return due, now, nil
	}
	err = Exec(c, "SELECT min(not_before) FROM refresh_request WHERE not_before IS NOT NULL AND not_before > ?",
		func(r *driver.Stmt) { next = fromMicros(r.ColumnInt64(0)) }, now)
	return due, next, err
}

// readPending reads event, code, error and not_before.
func readPending(r *driver.Stmt) (p refresh.Pending, err error) {
	if p.Event, err = refresh.DecodeEvent(readBlob(r, 0)); err != nil {
		return p, domain.Errorf(domain.CodeCorrupt, "a stored request cannot be read: %w", err)
	}
	p.Code, p.Error, p.NotBefore = r.ColumnText(1), r.ColumnText(2), fromMicros(r.ColumnInt64(3))
	return p, nil
}

// Woken implements refresh.Requests.
func (s *Snapshots) Woken(ctx context.Context, requests []refresh.Pending) error {
	if len(requests) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for i := range requests {
			r := &requests[i]
			err := Exec(c, "UPDATE refresh_request SET not_before = NULL WHERE source = ? AND key = ? AND version = ? AND waits = ?", nil,
				r.Source, r.Key, r.Version, r.Waits)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Settle implements refresh.Requests.
func (s *Snapshots) Settle(ctx context.Context, locks []refresh.Lock) error {
	return s.eachLock(ctx, settleSQL, locks)
}

func (s *Snapshots) eachLock(ctx context.Context, statement string, locks []refresh.Lock) error {
	if len(locks) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for _, l := range locks {
			if err := Exec(c, statement, nil, l.Source, l.Key, l.Version); err != nil {
				return err
			}
		}
		return nil
	})
}

// Standings implements refresh.Requests.
func (s *Snapshots) Standings(ctx context.Context, entities []refresh.Entity) ([]refresh.Standing, error) {
	standings := make([]refresh.Standing, len(entities))
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		for i, e := range entities {
			if err := readStanding(c, e, &standings[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return standings, err
}

func readStanding(c *driver.Conn, e refresh.Entity, s *refresh.Standing) error {
	err := Exec(c, "SELECT seen_version, checked_at FROM snapshot WHERE source = ? AND key = ?", func(r *driver.Stmt) {
		s.Seen, s.CheckedAt = r.ColumnInt64(0), fromMicros(r.ColumnInt64(1))
	}, e.Source, e.Key)
	if err != nil {
		return err
	}
	err = Exec(c, "SELECT version FROM snapshot_status WHERE source = ? AND key = ? AND code = ?", func(r *driver.Stmt) {
		s.Failed = r.ColumnInt64(0)
	}, e.Source, e.Key, string(refresh.StatusFailed))
	if err != nil {
		return err
	}
	return Exec(c, "SELECT version, priority, waits, not_before FROM refresh_request WHERE source = ? AND key = ?", func(r *driver.Stmt) {
		s.Request, s.Priority, s.Waits = r.ColumnInt64(0), domain.Priority(r.ColumnInt64(1)), r.ColumnInt(2)
		s.NotBefore = fromMicros(r.ColumnInt64(3))
	}, e.Source, e.Key)
}
