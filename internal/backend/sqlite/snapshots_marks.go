package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Unfinished implements refresh.Requests. They are in the order of their
// entities.
func (s *Snapshots) Unfinished(ctx context.Context, p domain.Priority, after string, limit int) (requests []refresh.Pending, last string, err error) {
	var from refresh.Entity
	if after != "" {
		e, err := refresh.DecodeEvent([]byte(after))
		if err != nil {
			return nil, "", domain.Errorf(domain.CodeInvalid, "%q is no cursor of requests", after)
		}
		from = e.Entity
	}
	var broken error
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, `SELECT event, code, error, not_before FROM refresh_request
			WHERE priority = ? AND not_before IS NULL AND (source, key) > (?, ?) ORDER BY source, key LIMIT ?`, func(r *driver.Stmt) {
			one, err := readPending(r)
			if err != nil {
				broken = err
				return
			}
			requests = append(requests, one)
		}, int64(p), from.Source, from.Key, max(0, limit))
	})
	if err == nil {
		err = broken
	}
	if err != nil || len(requests) == 0 {
		return nil, after, err
	}
	end := refresh.Event{Entity: requests[len(requests)-1].Entity, Version: 1, Priority: p}
	text, err := end.Encode()
	return requests, string(text), err
}

// Waiting implements refresh.Requests.
func (s *Snapshots) Waiting(ctx context.Context) (n int64, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT count(*) FROM refresh_request WHERE not_before IS NOT NULL", func(r *driver.Stmt) { n = r.ColumnInt64(0) })
	})
	return n, err
}

// LogEpoch implements refresh.Requests.
func (s *Snapshots) LogEpoch(ctx context.Context, topic string) (epoch string, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT epoch FROM refresh_log WHERE topic = ?", func(r *driver.Stmt) { epoch = r.ColumnText(0) }, topic)
	})
	return epoch, err
}

// SetLogEpoch implements refresh.Requests.
func (s *Snapshots) SetLogEpoch(ctx context.Context, topic, epoch string) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "INSERT INTO refresh_log (topic, epoch) VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = excluded.epoch", nil, topic, epoch)
	})
}

// VersionMark implements refresh.Requests.
func (s *Snapshots) VersionMark(ctx context.Context) (mark int64, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT mark FROM refresh_version WHERE id = 1", func(r *driver.Stmt) { mark = r.ColumnInt64(0) })
	})
	return mark, err
}

// RaiseVersionMark implements refresh.Requests.
func (s *Snapshots) RaiseVersionMark(ctx context.Context, version int64) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "UPDATE refresh_version SET mark = ? WHERE id = 1 AND mark < ?", nil, version, version)
	})
}
