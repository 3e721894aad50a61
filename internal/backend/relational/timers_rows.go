package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/timer"
)

// timerRecord is a timer as it is stored.
type timerRecord struct {
	timer.Timer
	// ended is when it fired or was canceled.
	ended int64
}

const timerColumns = "id, at, set_at, status, webhook, next_at, ended_at, server, tries, error, payload"

func scanTimerRecord(r *sql.Rows, more ...any) (*timerRecord, error) {
	var t timerRecord
	var at, set, next int64
	into := []any{&t.ID, &at, &set, &t.Status, &t.Webhook, &next, &t.ended, &t.Server, &t.Tries, &t.Error, (*[]byte)(&t.Payload)}
	if err := r.Scan(append(into, more...)...); err != nil {
		return nil, err
	}
	t.At, t.SetAt, t.NextAt = timer.StoredInstant(at), timer.StoredInstant(set), Time(next)
	if len(t.Payload) == 0 {
		t.Payload = nil
	}
	if t.Status.HasFired() {
		t.FiredAt = timer.StoredInstant(t.ended)
	}
	return &t, nil
}

func scanTimer(r *sql.Rows) (timer.Timer, error) {
	t, err := scanTimerRecord(r)
	if err != nil {
		return timer.Timer{}, err
	}
	return t.Timer, nil
}

// writeIDs adds ids with commas in between.
func writeIDs(s *Statement, ids []string) *Statement {
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
func lockTimers(ctx context.Context, tx *Tx, ids []string) (map[string]*timerRecord, error) {
	rows := make(map[string]*timerRecord, len(ids))
	for part := range slices.Chunk(ids, maxTimerIDs) {
		var lock Statement
		// The index is named so that no look at a small table locks all of it.
		lock.Write("SELECT " + timerColumns + " FROM timer /*! FORCE INDEX (PRIMARY) */ WHERE id IN (")
		writeIDs(&lock, part).Write(") ORDER BY id FOR UPDATE")
		err := lock.Query(ctx, tx, func(r *sql.Rows) error {
			t, err := scanTimerRecord(r)
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
var updateTimer = &Insert{
	Head:   "INSERT INTO timer (id, at, set_at, status, next_at, ended_at, server, tries, error)",
	Upsert: Upsert{Key: "id", Set: Overwrite("at", "set_at", "status", "next_at", "ended_at", "server", "tries", "error")},
}

// What a timer's row usually takes, and how many texts it has.
const timerRowBytes, timerRowTexts = 96, 4

// writeTimers stores what became of timers that are locked.
func writeTimers(ctx context.Context, tx *Tx, timers []*timerRecord) error {
	if len(timers) == 0 {
		return nil
	}
	rows := make([]Row, len(timers))
	for i, t := range timers {
		r := &rows[i]
		r.Key = t.ID
		r.Grow(timerRowBytes, timerRowTexts)
		r.Write("(").Blob([]byte(t.ID)).Write(",")
		r.Ints(t.At.UnixMicro(), t.SetAt.UnixMicro(), int64(t.Status), Micros(t.NextAt), t.ended)
		r.Write(",").Blob([]byte(t.Server)).Write(",").Int(int64(t.Tries)).Write(",").Text(t.Error).Write(")")
	}
	_, err := updateTimer.Run(ctx, tx, rows)
	return err
}
