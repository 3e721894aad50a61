package relational

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"sluice/internal/notify"
)

// readNotifications reads messages; find says which.
func readNotifications(ctx context.Context, q Querier, find *Statement) (found []notify.Message, err error) {
	err = find.Query(ctx, q, func(r *sql.Rows) error {
		m, err := scanNotification(r)
		found = append(found, m)
		return err
	})
	return found, err
}

// Due implements notify.Store.
func (s *Notifications) Due(ctx context.Context, now time.Time, limit int) (due []notify.Message, next time.Time, err error) {
	err = s.db.Read(ctx, func(q Querier) (err error) {
		var find, later Statement
		find.Write("SELECT " + notificationColumns + " FROM notification WHERE due_at > 0 AND due_at <= ").Time(now).Write(" ORDER BY due_at LIMIT ").Int(int64(limit))
		if due, err = readNotifications(ctx, q, &find); err != nil {
			return err
		}
		var at int64
		err = later.Write("SELECT COALESCE(MIN(due_at), 0) FROM notification WHERE due_at > 0 AND due_at > ").Time(now).
			Query(ctx, q, func(r *sql.Rows) error { return r.Scan(&at) })
		next = Time(at)
		return err
	})
	return due, next, err
}

// notificationRows implements notify.Rows.
type notificationRows struct{ tx *Tx }

// LockMessage implements notify.Rows.
func (r notificationRows) LockMessage(ctx context.Context, id string) (m notify.Message, found bool, err error) {
	var lock Statement
	lock.Write("SELECT " + notificationColumns + " FROM notification WHERE id = ").Text(id).Write(" FOR UPDATE")
	messages, err := readNotifications(ctx, r.tx, &lock)
	if err != nil || len(messages) == 0 {
		return m, false, err
	}
	return messages[0], true, nil
}

// WriteMessage implements notify.Rows, whether or not the message is there.
func (r notificationRows) WriteMessage(ctx context.Context, m *notify.Message) error {
	data, err := json.Marshal(m.Digest)
	if err != nil {
		return fmt.Errorf("write notification %s: %w", m.ID, err)
	}
	row := Row{Key: m.ID}
	row.Write("(").Text(m.ID).Write(",").Text(m.Target).Write(",").Text(string(m.Kind)).Write(",").Int(int64(m.State)).Write(",").Time(m.Due).
		Write(",").Int(m.Attempt).Write(",").Int(int64(m.Tries)).Write(",").Text(m.Error).Write(",").Time(m.CreatedAt).Write(",").Time(m.EndedAt).
		Write(",").Blob(data).Write(")")
	_, err = upsertNotification.Run(ctx, r.tx, []Row{row})
	return err
}

// Messages implements notify.Store.
func (s *Notifications) Messages(ctx context.Context, q notify.Query) (found []notify.Message, err error) {
	var find Statement
	find.Write("SELECT " + notificationColumns + " FROM notification WHERE 1 = 1")
	if q.State != 0 {
		find.Write(" AND state = ").Int(int64(q.State))
	}
	if q.Target != "" {
		find.Write(" AND target = ").Text(q.Target)
	}
	if q.Before != "" {
		find.Write(" AND id < ").Text(q.Before)
	}
	if q.Limit <= 0 {
		q.Limit = notify.MaxList
	}
	find.Write(" ORDER BY id DESC LIMIT ").Int(int64(q.Limit))
	err = s.db.Read(ctx, func(querier Querier) (err error) {
		found, err = readNotifications(ctx, querier, &find)
		return err
	})
	return found, err
}

// Counts implements notify.Store.
func (s *Notifications) Counts(ctx context.Context) (counts []notify.Count, err error) {
	for _, state := range notify.Left() {
		var find Statement
		find.Write("SELECT target, COUNT(*) FROM notification WHERE state = ").Int(int64(state)).Write(" GROUP BY target")
		err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
			one := notify.Count{State: state}
			err := r.Scan(&one.Target, &one.N)
			counts = append(counts, one)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Forget implements notify.Store. What is old is looked for without locks, and
// counted by whoever removes it.
func (s *Notifications) Forget(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		removed = 0
		for _, old := range []struct{ table, key, at string }{
			{"notification", "id", "ended_at"}, {"notification_event", "identity", "seen_at"},
		} {
			n, err := forget(ctx, tx, old.table, old.key, old.at, before, limit)
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return removed, err
}

func forget(ctx context.Context, tx *Tx, table, key, at string, before time.Time, limit int) (int, error) {
	var find, remove Statement
	remove.Write("DELETE FROM " + table + " WHERE " + key + " IN (")
	count := 0
	err := find.Write("SELECT "+key+" FROM "+table+" WHERE "+at+" > 0 AND "+at+" < ").Time(before).
		Write(" ORDER BY "+at+" LIMIT ").Int(int64(limit)).Query(ctx, tx, func(r *sql.Rows) error {
		var value []byte
		if err := r.Scan(&value); err != nil {
			return err
		}
		if count++; count > 1 {
			remove.Write(",")
		}
		if key == "identity" {
			remove.Hash(Hash(value))
		} else {
			remove.Text(string(value))
		}
		return nil
	})
	if err != nil || count == 0 {
		return 0, err
	}
	result, err := remove.Write(")").Exec(ctx, tx)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
