package relational

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/timer"
)

// Notifications implements notify.Store. Whoever records holds the row of the mark,
// so that events of one kind find each other's message.
type Notifications struct {
	notify.Changes
	db *DB
}

var _ notify.Store = (*Notifications)(nil)

// NewNotifications returns a store on an open database, which stays the caller's.
func NewNotifications(db *DB) *Notifications {
	return &Notifications{notify.NewChanges(db.Tx, func(tx *Tx) notify.Rows { return notificationRows{tx} }), db}
}

// Happened implements notify.Store.
func (s *Notifications) Happened(ctx context.Context, since time.Time, limit int) (events []notify.Event, err error) {
	var paused, ended, buried, givenUp Statement
	paused.With("SELECT id, source, login, reason, updated_at, version FROM account WHERE state = ? AND updated_at >= ", string(domain.AccountPaused)).
		Time(since).Write(" ORDER BY updated_at, id LIMIT ").Int(int64(limit))
	err = s.db.Run(ctx, &paused, func(r *sql.Rows) error {
		var a domain.Account
		var at, version int64
		err := r.Scan(&a.ID, &a.Source, &a.Login, &a.Reason, &at, &version)
		a.UpdatedAt = Time(at)
		events = append(events, notify.PausedAccount(a, version))
		return err
	})
	if err != nil {
		return nil, err
	}
	ended.Write("SELECT run.id, source, login, run.reason, finished_at, status, failed, known FROM run JOIN account ON account.id = account_id WHERE finished_at > 0 AND finished_at >= ").
		Time(since).Write(" AND (status = ").Int(int64(domain.RunFailed)).Write(" OR status = ").Int(int64(domain.RunCompleted)).
		Write(" AND failed > 0) ORDER BY finished_at, run.id LIMIT ").Int(int64(limit))
	err = s.db.Run(ctx, &ended, func(r *sql.Rows) error {
		var run domain.Run
		var at int64
		err := r.Scan(&run.ID, &run.Source, &run.Login, &run.Reason, &at, &run.Status, &run.Failed, &run.Known)
		run.FinishedAt = Time(at)
		events = append(events, notify.EndedRun(run))
		return err
	})
	if err != nil {
		return nil, err
	}
	buried.Write("SELECT id, why, source, entity_key, buried_at FROM dead_letter WHERE buried_at >= ").Time(since).
		Write(" ORDER BY buried_at, id LIMIT ").Int(int64(limit))
	err = s.db.Run(ctx, &buried, func(r *sql.Rows) error {
		var id, why, source, key string
		var at int64
		err := r.Scan(&id, &why, &source, &key, &at)
		events = append(events, notify.BuriedLetter(id, why, source, key, Time(at)))
		return err
	})
	if err != nil {
		return nil, err
	}
	givenUp.Write("SELECT t.id, t.error, g.at FROM timer_given_up g JOIN timer t ON t.id = g.timer WHERE g.at >= ").Time(since).
		Write(" AND t.status = ").Int(int64(timer.Dead)).Write(" ORDER BY g.at, g.timer LIMIT ").Int(int64(limit))
	err = s.db.Run(ctx, &givenUp, func(r *sql.Rows) error {
		var id, why string
		var at int64
		err := r.Scan(&id, &why, &at)
		events = append(events, notify.GivenUpTimer(id, why, Time(at)))
		return err
	})
	return events, err
}

// Mark implements notify.Store.
func (s *Notifications) Mark(ctx context.Context) (mark time.Time, err error) {
	var at int64
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&at) }, "SELECT at FROM notification_mark WHERE id = 1")
	return Time(at), err
}

// Record implements notify.Store.
func (s *Notifications) Record(ctx context.Context, recording notify.Recording) (added int, err error) {
	events := slices.SortedFunc(slices.Values(recording.Events), func(a, b notify.Event) int { return strings.Compare(a.Key, b.Key) })
	err = s.db.Tx(ctx, func(tx *Tx) error {
		added = 0
		var mark Statement
		mark.Write("UPDATE notification_mark SET at = GREATEST(at, ").Time(recording.Mark).Write(") WHERE id = 1")
		if len(events) == 0 {
			_, err := mark.Exec(ctx, tx)
			return err
		}
		if err := Query(ctx, tx, func(*sql.Rows) error { return nil }, "SELECT at FROM notification_mark WHERE id = 1 FOR UPDATE"); err != nil {
			return err
		}
		if _, err := mark.Exec(ctx, tx); err != nil {
			return err
		}
		fresh, err := addEvents(ctx, tx, events, recording.Now)
		if err != nil || len(fresh) == 0 {
			return err
		}
		// They are told in the order in which they happened.
		slices.SortStableFunc(fresh, func(a, b notify.Event) int { return a.At.Compare(b.At) })
		book := notify.NewBook(recording)
		if err := loadBook(ctx, tx, book); err != nil {
			return err
		}
		for _, e := range fresh {
			book.Add(e)
		}
		added = len(fresh)
		return writeBook(ctx, tx, book)
	})
	return added, err
}

// addEvents notes events, and returns those that were new.
func addEvents(ctx context.Context, tx *Tx, events []notify.Event, now time.Time) (fresh []notify.Event, err error) {
	known := map[Hash]bool{}
	for part := range slices.Chunk(events, maxIdentities) {
		var find Statement
		find.Write("SELECT identity FROM notification_event WHERE identity IN (")
		for i, e := range part {
			if i > 0 {
				find.Write(",")
			}
			find.Hash(HashOf(e.Key))
		}
		err := find.Write(")").Query(ctx, tx, func(r *sql.Rows) error {
			var identity []byte
			err := r.Scan(&identity)
			if len(identity) == len(Hash{}) {
				known[Hash(identity)] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var rows []Row
	for _, e := range events {
		identity := HashOf(e.Key)
		if known[identity] {
			continue
		}
		known[identity] = true
		row := Row{Key: string(identity[:])}
		row.Write("(").Hash(identity).Write(",").Time(now).Write(")")
		rows, fresh = append(rows, row), append(fresh, e)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	_, err = insertNotificationEvent.Run(ctx, tx, rows)
	return fresh, err
}

// insertNotificationEvent: whoever records holds the mark, so that no two insert
// the same.
var insertNotificationEvent = &Insert{Head: "INSERT INTO notification_event (identity, seen_at)", Upsert: Upsert{Key: "identity"}}

// loadBook reads the messages that take more events, and the paces.
func loadBook(ctx context.Context, q Querier, book *notify.Book) error {
	var open Statement
	open.Write("SELECT " + notificationColumns + " FROM notification WHERE state = ").Int(int64(notify.Waiting)).Write(" AND attempt = 0 ORDER BY id FOR UPDATE")
	err := open.Query(ctx, q, func(r *sql.Rows) error {
		m, err := scanNotification(r)
		if err == nil {
			book.Known(m)
		}
		return err
	})
	if err != nil {
		return err
	}
	return Query(ctx, q, func(r *sql.Rows) error {
		var target, kind string
		var next int64
		err := r.Scan(&target, &kind, &next)
		book.Pace(target, notify.Kind(kind), Time(next))
		return err
	}, "SELECT target, kind, next_at FROM notification_pace")
}

var insertPace = &Insert{
	Head:   "INSERT INTO notification_pace (target, kind, next_at)",
	Upsert: Upsert{Key: "target, kind", Set: "next_at = excluded.next_at"},
}

func writeBook(ctx context.Context, tx *Tx, book *notify.Book) error {
	var paces []Row
	for _, entry := range book.Entries() {
		if err := (notificationRows{tx}).WriteMessage(ctx, &entry.Message); err != nil {
			return err
		}
		if entry.New {
			row := Row{Key: entry.Target + "\x00" + string(entry.Kind)}
			row.Write("(").Text(entry.Target).Write(",").Text(string(entry.Kind)).Write(",").Time(entry.Pace).Write(")")
			paces = append(paces, row)
		}
	}
	if len(paces) == 0 {
		return nil
	}
	_, err := insertPace.Run(ctx, tx, paces)
	return err
}

const notificationColumns = "id, target, kind, state, due_at, attempt, tries, error, created_at, ended_at, data"

func scanNotification(r *sql.Rows) (m notify.Message, err error) {
	var due, created, ended int64
	var data []byte
	err = r.Scan(&m.ID, &m.Target, &m.Kind, &m.State, &due, &m.Attempt, &m.Tries, &m.Error, &created, &ended, &data)
	if err != nil {
		return m, err
	}
	m.Due, m.CreatedAt, m.EndedAt = Time(due), Time(created), Time(ended)
	if err := json.Unmarshal(data, &m.Digest); err != nil {
		return m, domain.Errorf(domain.CodeCorrupt, "notification %s cannot be read: %w", m.ID, err)
	}
	return m, nil
}

var upsertNotification = &Insert{
	Head: "INSERT INTO notification (" + notificationColumns + ")",
	Upsert: Upsert{Key: "id", Set: "state = excluded.state, due_at = excluded.due_at, attempt = excluded.attempt, tries = excluded.tries, " +
		"error = excluded.error, ended_at = excluded.ended_at, data = excluded.data"},
}
