package mysql

import (
	"context"
	"database/sql"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/timer"
)

// putItem is one Put on its way to the server.
type putItem struct {
	timers  []timer.Timer
	answers []timer.Stored
	err     error
}

// Put implements timer.Store.
func (s *Store) Put(ctx context.Context, specs []timer.Spec, now time.Time) ([]timer.Stored, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	item := &putItem{timers: make([]timer.Timer, len(specs))}
	for i, spec := range specs {
		spec.At = kept(spec.At)
		if len(spec.Payload) == 0 {
			spec.Payload = nil
		}
		item.timers[i] = timer.Timer{Spec: spec, Status: timer.Waiting, SetAt: kept(now), NextAt: pending(spec.At)}
	}
	var err error
	if len(specs) > maxShared {
		err = s.applyPuts(ctx, []*putItem{item})
	} else {
		err = s.puts.Do(ctx, item)
	}
	if err != nil {
		return nil, err
	}
	return item.answers, item.err
}

// insertTimer leaves a timer that is there already as it is; any other reason
// not to insert one is an error.
var insertTimer = &mysqldb.Insert{
	Head: "INSERT INTO timer (id, at, set_at, status, next_at, stored_by, webhook, payload)",
	Tail: "ON DUPLICATE KEY UPDATE id = id",
}

func timerRow(t *timer.Timer, storedBy int64) (r mysqldb.Row) {
	r.Key = t.ID
	r.Grow(rowBytes, rowTexts)
	r.Write("(").Blob([]byte(t.ID)).Write(",")
	r.Ints(t.At.UnixMicro(), t.SetAt.UnixMicro(), int64(t.Status), t.NextAt.UnixMicro(), storedBy)
	r.Write(",").Text(t.Webhook).Write(",").Blob(t.Payload).Write(")")
	return r
}

// applyPuts stores the timers of all items, those of the first items first: of
// two that want one id the first gets it.
func (s *Store) applyPuts(ctx context.Context, items []*putItem) error {
	first := map[string]*timer.Timer{}
	for _, item := range items {
		for i := range item.timers {
			if t := &item.timers[i]; first[t.ID] == nil {
				first[t.ID] = t
			}
		}
	}
	var there map[string]storedRow
	err := s.db.Tx(ctx, func(tx *sql.Tx) (err error) {
		there = nil
		storedBy := 1 + rand.Int64N(1<<62)
		rows := make([]mysqldb.Row, 0, len(first))
		for _, t := range first {
			rows = append(rows, timerRow(t, storedBy))
		}
		stored, err := insertTimer.Run(ctx, tx, rows)
		if err != nil || stored == int64(len(first)) {
			return err
		}
		// Some were there already; which of them has to be asked.
		there, err = readStored(ctx, tx, slices.Sorted(maps.Keys(first)), storedBy)
		return err
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		item.answer(first, there)
	}
	return nil
}

// answer says what became of the timers: there has all of them unless they are
// all new, and first has the timers that were to be stored.
func (p *putItem) answer(first map[string]*timer.Timer, there map[string]storedRow) {
	p.err, p.answers = nil, make([]timer.Stored, len(p.timers))
	for i := range p.timers {
		t := &p.timers[i]
		wanted := first[t.ID]
		old, known := there[t.ID]
		switch {
		case known && !old.own:
			p.answers[i] = timer.Stored{Timer: old.Timer}
		default:
			p.answers[i] = timer.Stored{Timer: *wanted, New: wanted == t}
		}
	}
}

// storedRow is a timer, and whether it was stored by the transaction that asks.
type storedRow struct {
	timer.Timer
	own bool
}

// readStored reads timers inside of the transaction that has stored them, or
// has locked them because they were there.
func readStored(ctx context.Context, tx *sql.Tx, ids []string, storedBy int64) (map[string]storedRow, error) {
	out := make(map[string]storedRow, len(ids))
	for part := range slices.Chunk(ids, maxIDs) {
		var find mysqldb.Statement
		find.Write("SELECT " + timerColumns + ", stored_by = ").Int(storedBy).Write(" FROM timer FORCE INDEX (PRIMARY) WHERE id IN (")
		err := writeIDs(&find, part).Write(")").Query(ctx, tx, func(r *sql.Rows) error {
			var own bool
			t, err := scanRow(r, &own)
			if err == nil {
				out[t.ID] = storedRow{t.Timer, own}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
