package relational

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"sluice/internal/access"
	"sluice/internal/timer"
)

// putItem is one Put on its way to the server.
type putItem struct {
	timers  []timer.Timer
	answers []timer.Stored
	err     error
	// trail is the request that it is part of, if it is.
	trail *access.Trail
}

// Put implements timer.Store.
func (s *Timers) Put(ctx context.Context, specs []timer.Spec, now time.Time) ([]timer.Stored, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	item := &putItem{timers: timer.NewTimers(specs, now), trail: access.TrailOf(ctx)}
	var err error
	if len(specs) > maxShared {
		err = s.applyPuts(ctx, []*putItem{item})
	} else {
		err = s.puts.Do(ctx, item)
	}
	if err != nil {
		return nil, err
	}
	if item.err == nil {
		item.trail.Stored()
	}
	return item.answers, item.err
}

// insertTimer leaves a timer that is there already as it is; any other reason
// not to insert one is an error.
var insertTimer = &Insert{
	Head:   "INSERT INTO timer (id, at, set_at, status, next_at, stored_by, webhook, payload)",
	Upsert: Upsert{Key: "id"},
}

func timerRow(t *timer.Timer, storedBy int64) (r Row) {
	r.Key = t.ID
	r.Grow(timerRowBytes, timerRowTexts)
	r.Write("(").Blob([]byte(t.ID)).Write(",")
	r.Ints(t.At.UnixMicro(), t.SetAt.UnixMicro(), int64(t.Status), t.NextAt.UnixMicro(), storedBy)
	r.Write(",").Text(t.Webhook).Write(",").Blob(t.Payload).Write(")")
	return r
}

// applyPuts stores the timers of all items, those of the first items first: of
// two that want one id the first gets it.
func (s *Timers) applyPuts(ctx context.Context, items []*putItem) error {
	first := map[string]*timer.Timer{}
	for _, item := range items {
		for i := range item.timers {
			if t := &item.timers[i]; first[t.ID] == nil {
				first[t.ID] = t
			}
		}
	}
	var there map[string]storedRow
	err := s.db.Tx(ctx, func(tx *Tx) (err error) {
		there = nil
		if err := recordTrails(ctx, tx, items); err != nil {
			return err
		}
		storedBy := 1 + rand.Int64N(1<<62)
		rows := make([]Row, 0, len(first))
		for _, t := range first {
			rows = append(rows, timerRow(t, storedBy))
		}
		stored, err := insertTimer.Run(ctx, tx, rows)
		if err != nil || stored == int64(len(first)) {
			return err
		}
		// Some were there already; which of them has to be asked.
		there, err = readStored(ctx, tx, slices.Sorted(maps.Keys(first)), storedBy)
		if err == nil && len(there) < len(first) {
			// One of them was removed in between.
			return errAgain
		}
		if err == nil {
			err = replaceTimers(ctx, tx, items, first, there, storedBy)
		}
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
func readStored(ctx context.Context, tx *Tx, ids []string, storedBy int64) (map[string]storedRow, error) {
	out := make(map[string]storedRow, len(ids))
	for part := range slices.Chunk(ids, maxTimerIDs) {
		var find Statement
		find.Write("SELECT " + timerColumns + ", stored_by = ").Int(storedBy).Write(" FROM timer /*! FORCE INDEX (PRIMARY) */ WHERE id IN (")
		err := writeIDs(&find, part).Write(")").Query(ctx, tx, func(r *sql.Rows) error {
			var own bool
			t, err := scanTimerRecord(r, &own)
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

// replaceTimers stores timers that take the ids of others that are over, and
// notes that they are there now.
func replaceTimers(ctx context.Context, tx *Tx, items []*putItem, first map[string]*timer.Timer, there map[string]storedRow, storedBy int64) error {
	replaced := map[string]*timer.Timer{}
	for _, item := range items {
		for i := range item.timers {
			t := &item.timers[i]
			if old := there[t.ID]; replaced[t.ID] == nil && !old.own && t.Replaces(old.Timer, t.SetAt) {
				replaced[t.ID] = t
			}
		}
	}
	if len(replaced) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(replaced))
	if err := retireTimers(ctx, tx, ids, storedBy); err != nil {
		return err
	}
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i] = timerRow(replaced[id], storedBy)
		first[id], there[id] = replaced[id], storedRow{*replaced[id], true}
	}
	stored, err := insertTimer.Run(ctx, tx, rows)
	if err == nil && stored != int64(len(rows)) {
		return errAgain // somebody else was faster
	}
	return err
}

// retired is the stored_by of what is kept for its completion alone.
const retired = -1

// retireTimers gives timers that are over other ids. Nobody gives positions
// meanwhile: who does has read by which ids completions go.
func retireTimers(ctx context.Context, tx *Tx, ids []string, storedBy int64) error {
	if _, err := lockPositions(ctx, tx); err != nil {
		return err
	}
	for _, id := range ids {
		to := []byte(timer.RetiredID(id, strconv.FormatInt(storedBy, 36)))
		var rename Statement
		rename.Write("UPDATE timer /*! FORCE INDEX (PRIMARY) */ SET stored_by = ").Int(retired).Write(", id = ").Blob(to)
		rename.Write(" WHERE id = ").Blob([]byte(id)).Write(" AND status = ").Int(int64(timer.Completed))
		result, err := rename.Exec(ctx, tx)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return cmp.Or(err, errAgain) // somebody else was faster
		}
		for _, table := range []string{"timer_completion", "timer_unlogged"} {
			var follow Statement
			follow.Write("UPDATE " + table + " /*! FORCE INDEX (PRIMARY) */ SET timer = ").Blob(to).Write(" WHERE timer = ").Blob([]byte(id))
			if _, err := follow.Exec(ctx, tx); err != nil {
				return err
			}
		}
	}
	return nil
}
