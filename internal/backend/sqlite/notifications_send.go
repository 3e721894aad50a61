package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/notify"
)

// readNotifications reads messages; query is what follows the columns.
func readNotifications(c *driver.Conn, query string, args ...any) (found []notify.Message, err error) {
	var wrong error
	err = Exec(c, "SELECT "+notificationColumns+" FROM notification "+query, func(r *driver.Stmt) {
		m, err := scanNotification(r)
		found, wrong = append(found, m), cmp.Or(wrong, err)
	}, args...)
	return found, cmp.Or(err, wrong)
}

// Due implements notify.Store.
func (s *Notifications) Due(ctx context.Context, now time.Time, limit int) (due []notify.Message, next time.Time, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) (err error) {
		if due, err = readNotifications(c, "WHERE due_at <= ? ORDER BY due_at LIMIT ?", now, limit); err != nil {
			return err
		}
		return Exec(c, "SELECT coalesce(min(due_at), 0) FROM notification WHERE due_at > ?", func(r *driver.Stmt) { next = fromMicros(r.ColumnInt64(0)) }, now)
	})
	return due, next, err
}

// notificationRows implements notify.Rows. Who writes is alone, so that nothing is to
// be locked.
type notificationRows struct{ c *driver.Conn }

// LockMessage implements notify.Rows.
func (r notificationRows) LockMessage(_ context.Context, id string) (m notify.Message, found bool, err error) {
	messages, err := readNotifications(r.c, "WHERE id = ?", id)
	if err != nil || len(messages) == 0 {
		return m, false, err
	}
	return messages[0], true, nil
}

// WriteMessage implements notify.Rows, whether or not the message is there.
func (r notificationRows) WriteMessage(_ context.Context, m *notify.Message) error {
	data, err := json.Marshal(m.Digest)
	if err != nil {
		return fmt.Errorf("write notification %s: %w", m.ID, err)
	}
	return Exec(r.c, "REPLACE INTO notification ("+notificationColumns+") VALUES (?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, nullif(?, 0), ?)", nil,
		m.ID, m.Target, string(m.Kind), int64(m.State), m.Due, m.Attempt, m.Tries, m.Error, m.CreatedAt, m.EndedAt, data)
}

// Messages implements notify.Store.
func (s *Notifications) Messages(ctx context.Context, q notify.Query) (found []notify.Message, err error) {
	query, args := "WHERE 1", []any{}
	add := func(condition string, value any) { query, args = query+" AND "+condition, append(args, value) }
	if q.State != 0 {
		add("state = ?", int64(q.State))
	}
	if q.Target != "" {
		add("target = ?", q.Target)
	}
	if q.Before != "" {
		add("id < ?", q.Before)
	}
	if q.Limit <= 0 {
		q.Limit = notify.MaxList
	}
	args = append(args, q.Limit)
	err = s.db.Read(ctx, func(c *driver.Conn) (err error) {
		found, err = readNotifications(c, query+" ORDER BY id DESC LIMIT ?", args...)
		return err
	})
	return found, err
}

// Counts implements notify.Store.
func (s *Notifications) Counts(ctx context.Context) (counts []notify.Count, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		for _, state := range notify.Left() {
			err := Exec(c, "SELECT target, count(*) FROM notification WHERE state = ? GROUP BY target", func(r *driver.Stmt) {
				counts = append(counts, notify.Count{Target: r.ColumnText(0), State: state, N: r.ColumnInt64(1)})
			}, int64(state))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return counts, err
}

// Forget implements notify.Store.
func (s *Notifications) Forget(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		removed = 0
		for _, query := range []string{
			"DELETE FROM notification WHERE id IN (SELECT id FROM notification WHERE ended_at < ? ORDER BY ended_at LIMIT ?)",
			"DELETE FROM notification_event WHERE key IN (SELECT key FROM notification_event WHERE seen_at < ? ORDER BY seen_at LIMIT ?)",
		} {
			if err := Exec(c, query, nil, before, limit); err != nil {
				return err
			}
			removed += c.Changes()
		}
		return nil
	})
	return removed, err
}
