package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/timer"
)

// Notifications implements notify.Store.
type Notifications struct {
	notify.Changes
	db *DB
}

var _ notify.Store = (*Notifications)(nil)

// NewNotifications returns a store on an open database, which stays the caller's.
func NewNotifications(db *DB) *Notifications {
	return &Notifications{notify.NewChanges(db.Write, func(c *driver.Conn) notify.Rows { return notificationRows{c} }), db}
}

// Happened implements notify.Store.
func (s *Notifications) Happened(ctx context.Context, since time.Time, limit int) (events []notify.Event, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		events = nil
		err := Exec(c, `SELECT id, source, login, reason, updated_at, version FROM account
			WHERE state = ? AND updated_at >= ? ORDER BY updated_at, id LIMIT ?`, func(r *driver.Stmt) {
			a := domain.Account{ID: r.ColumnInt64(0), Source: r.ColumnText(1), Login: r.ColumnText(2), Reason: r.ColumnText(3), UpdatedAt: fromMicros(r.ColumnInt64(4))}
			events = append(events, notify.PausedAccount(a, r.ColumnInt64(5)))
		}, string(domain.AccountPaused), since, limit)
		if err != nil {
			return err
		}
		err = Exec(c, `SELECT run.id, source, login, run.reason, finished_at, status, failed, known FROM run JOIN account ON account.id = account_id
			WHERE finished_at >= max(?, 1) AND (status = ? OR status = ? AND failed > 0) ORDER BY finished_at, run.id LIMIT ?`, func(r *driver.Stmt) {
			run := domain.Run{ID: r.ColumnInt64(0), Source: r.ColumnText(1), Login: r.ColumnText(2), Reason: r.ColumnText(3),
				FinishedAt: fromMicros(r.ColumnInt64(4)), Status: domain.RunStatus(r.ColumnInt(5))}
			run.Failed, run.Known = r.ColumnInt64(6), r.ColumnInt64(7)
			events = append(events, notify.EndedRun(run))
		}, since, int64(domain.RunFailed), int64(domain.RunCompleted), limit)
		if err != nil {
			return err
		}
		err = Exec(c, "SELECT id, why, source, key, buried_at FROM dead_letter WHERE buried_at >= ? ORDER BY buried_at, id LIMIT ?", func(r *driver.Stmt) {
			events = append(events, notify.BuriedLetter(r.ColumnText(0), r.ColumnText(1), r.ColumnText(2), r.ColumnText(3), fromMicros(r.ColumnInt64(4))))
		}, since, limit)
		if err != nil {
			return err
		}
		return Exec(c, `SELECT t.id, t.error, g.at FROM timer_given_up g CROSS JOIN timer t ON t.id = g.id
			WHERE g.at >= ? AND t.status = ? ORDER BY g.at, g.id LIMIT ?`, func(r *driver.Stmt) {
			events = append(events, notify.GivenUpTimer(r.ColumnText(0), r.ColumnText(1), fromMicros(r.ColumnInt64(2))))
		}, since, int64(timer.Dead), limit)
	})
	return events, err
}

// Mark implements notify.Store.
func (s *Notifications) Mark(ctx context.Context) (mark time.Time, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT at FROM notification_mark WHERE id = 1", func(r *driver.Stmt) { mark = fromMicros(r.ColumnInt64(0)) })
	})
	return mark, err
}

// Record implements notify.Store.
func (s *Notifications) Record(ctx context.Context, recording notify.Recording) (added int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		added = 0
		if err := Exec(c, "UPDATE notification_mark SET at = max(at, ?) WHERE id = 1", nil, recording.Mark); err != nil {
			return err
		}
		book := notify.NewBook(recording)
		if len(recording.Events) > 0 {
			if err := loadBook(c, book); err != nil {
				return err
			}
		}
		for _, e := range recording.Events {
			if err := Exec(c, "INSERT INTO notification_event (key, seen_at) VALUES (?, ?) ON CONFLICT DO NOTHING", nil, e.Key, recording.Now); err != nil {
				return err
			}
			if c.Changes() == 1 {
				book.Add(e)
				added++
			}
		}
		return writeBook(ctx, c, book)
	})
	return added, err
}

// loadBook reads the messages that take more events, and the paces.
func loadBook(c *driver.Conn, book *notify.Book) error {
	var wrong error
	err := Exec(c, "SELECT "+notificationColumns+" FROM notification WHERE state = ? AND attempt = 0", func(r *driver.Stmt) {
		m, err := scanNotification(r)
		if wrong = cmp.Or(wrong, err); err == nil {
			book.Known(m)
		}
	}, int64(notify.Waiting))
	if err = cmp.Or(err, wrong); err != nil {
		return err
	}
	return Exec(c, "SELECT target, kind, next_at FROM notification_pace", func(r *driver.Stmt) {
		book.Pace(r.ColumnText(0), notify.Kind(r.ColumnText(1)), fromMicros(r.ColumnInt64(2)))
	})
}

func writeBook(ctx context.Context, c *driver.Conn, book *notify.Book) error {
	for _, entry := range book.Entries() {
		if err := (notificationRows{c}).WriteMessage(ctx, &entry.Message); err != nil {
			return err
		}
		if !entry.New {
			continue
		}
		err := Exec(c, "INSERT INTO notification_pace (target, kind, next_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_at = excluded.next_at", nil,
			entry.Target, string(entry.Kind), entry.Pace)
		if err != nil {
			return err
		}
	}
	return nil
}

const notificationColumns = "id, target, kind, state, due_at, attempt, tries, error, created_at, ended_at, data"

func scanNotification(r *driver.Stmt) (notify.Message, error) {
	m := notify.Message{
		ID: r.ColumnText(0), Target: r.ColumnText(1), Kind: notify.Kind(r.ColumnText(2)), State: notify.State(r.ColumnInt(3)), Due: fromMicros(r.ColumnInt64(4)),
		Attempt: r.ColumnInt64(5), Tries: r.ColumnInt(6), Error: r.ColumnText(7), CreatedAt: fromMicros(r.ColumnInt64(8)), EndedAt: fromMicros(r.ColumnInt64(9)),
	}
	if err := json.Unmarshal(readBlob(r, 10), &m.Digest); err != nil {
		return m, domain.Errorf(domain.CodeCorrupt, "notification %s cannot be read: %w", m.ID, err)
	}
	return m, nil
}
