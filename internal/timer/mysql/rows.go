package mysql

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/timer"
)

// row is a timer as it is stored.
type row struct {
	timer.Timer
	// ended is when it fired or was canceled.
	ended int64
}

const timerColumns = "id, at, set_at, status, webhook, next_at, ended_at, server, tries, error, payload"

func scanRow(r *sql.Rows, more ...any) (*row, error) {
	var t row
	var at, set, next int64
	into := []any{&t.ID, &at, &set, &t.Status, &t.Webhook, &next, &t.ended, &t.Server, &t.Tries, &t.Error, (*[]byte)(&t.Payload)}
	if err := r.Scan(append(into, more...)...); err != nil {
		return nil, err
	}
	t.At, t.SetAt, t.NextAt = instant(at), instant(set), mysqldb.Time(next)
	if len(t.Payload) == 0 {
		t.Payload = nil
	}
	if t.Status.Fired() {
		t.FiredAt = instant(t.ended)
	}
	return &t, nil
}

func scanTimer(r *sql.Rows) (timer.Timer, error) {
	t, err := scanRow(r)
	if err != nil {
		return timer.Timer{}, err
	}
	return t.Timer, nil
}

// instant reads an instant that is never missing: 0 is the beginning of 1970.
func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// kept is an instant as it is read after it was stored.
func kept(at time.Time) time.Time { return instant(at.UnixMicro()) }

// pending is the instant of something to be done as it is stored. That of the
// beginning of 1970 would mean that there is nothing to be done.
func pending(at time.Time) time.Time { return instant(max(1, at.UnixMicro())) }

// writeIDs adds ids with commas in between.
func writeIDs(s *mysqldb.Statement, ids []string) *mysqldb.Statement {
	for i, id := range ids {
		if i > 0 {
			s.Write(",")
		}
		s.Blob([]byte(id))
	}
	return s
}

// lockTimers locks those timers of the ids, given in ascending order, that
// there are.
func lockTimers(ctx context.Context, tx *sql.Tx, ids []string) (map[string]*row, error) {
	rows := make(map[string]*row, len(ids))
	for part := range slices.Chunk(ids, maxIDs) {
		var lock mysqldb.Statement
		// The index is named so that no look at a small table locks all of it.
		lock.Write("SELECT " + timerColumns + " FROM timer FORCE INDEX (PRIMARY) WHERE id IN (")
		writeIDs(&lock, part).Write(") ORDER BY id FOR UPDATE")
		err := lock.Query(ctx, tx, func(r *sql.Rows) error {
			t, err := scanRow(r)
			if err == nil {
				rows[t.ID] = t
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// updateTimer changes rows that are there, each in its own way, with one
// statement. They are locked, so that none of them can be missing by now.
var updateTimer = &mysqldb.Insert{
	Head: "INSERT INTO timer (id, at, set_at, status, next_at, ended_at, server, tries, error)",
	Tail: `ON DUPLICATE KEY UPDATE at = VALUES(at), set_at = VALUES(set_at), status = VALUES(status), next_at = VALUES(next_at),
		ended_at = VALUES(ended_at), server = VALUES(server), tries = VALUES(tries), error = VALUES(error)`,
}

// What a timer's row usually takes, and how many texts it has.
const rowBytes, rowTexts = 96, 4

// writeBack stores what became of timers that are locked.
func writeBack(ctx context.Context, tx *sql.Tx, timers []*row) error {
	if len(timers) == 0 {
		return nil
	}
	rows := make([]mysqldb.Row, len(timers))
	for i, t := range timers {
		r := &rows[i]
		r.Key = t.ID
		r.Grow(rowBytes, rowTexts)
		r.Write("(").Blob([]byte(t.ID)).Write(",")
		r.Ints(t.At.UnixMicro(), t.SetAt.UnixMicro(), int64(t.Status), mysqldb.Micros(t.NextAt), t.ended)
		r.Write(",").Blob([]byte(t.Server)).Write(",").Int(int64(t.Tries)).Write(",").Text(t.Error).Write(")")
	}
	_, err := updateTimer.Run(ctx, tx, rows)
	return err
}
