package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/access"
	"sluice/internal/timer"
)

// putItem is one Put on its way through the writer.
type putItem struct {
	timers  []timer.Timer
	answers []timer.Stored
	// trail is the request that it is part of, if it is.
	trail *access.Trail
}

// Put implements timer.Store.
func (s *Timers) Put(ctx context.Context, specs []timer.Spec, now time.Time) ([]timer.Stored, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	item := &putItem{timers: timer.NewTimers(specs, now), trail: access.TrailOf(ctx)}
	if err := s.puts.Do(ctx, item); err != nil {
		return nil, err
	}
	item.trail.Stored()
	return item.answers, nil
}

var insertTimer = NewInsert("INSERT INTO timer (id, at, set_at, status, webhook, next_at, payload)", "ON CONFLICT DO NOTHING", 7)

// applyPuts stores the timers of all items, those of the first items first: of
// two that want one id the first gets it.
func applyPuts(c *driver.Conn, items []*putItem) error {
	var rows []*timer.Timer
	for _, item := range items {
		item.answers = make([]timer.Stored, len(item.timers))
		for i := range item.timers {
			item.answers[i] = timer.Stored{Timer: item.timers[i], New: true}
			rows = append(rows, &item.timers[i])
		}
		if entry, due := item.trail.Due(); due {
			if err := recordEntry(c, entry); err != nil {
				return err
			}
		}
	}
	last := int64(0)
	err := Exec(c, "SELECT coalesce(max(seq), 0) FROM timer", func(r *driver.Stmt) { last = r.ColumnInt64(0) })
	if err != nil {
		return err
	}
	stored, err := insertTimers(c, rows)
	if err != nil || stored == len(rows) {
		return err
	}
	return answerTaken(c, items, last)
}

// insertTimers stores those timers whose ids are not taken and tells how many.
func insertTimers(c *driver.Conn, rows []*timer.Timer) (stored int, err error) {
	err = insertTimer.Run(c, len(rows), func(stmt *driver.Stmt, base, i int) {
		t := rows[i]
		stmt.BindText(base, t.ID)
		stmt.BindInt64(base+1, t.At.UnixMicro())
		stmt.BindInt64(base+2, t.SetAt.UnixMicro())
		stmt.BindInt64(base+3, int64(t.Status))
		stmt.BindText(base+4, t.Webhook)
		stmt.BindInt64(base+5, t.NextAt.UnixMicro())
		bindBlob(stmt, base+6, t.Payload)
	}, func(_, _, changed int) error { stored += changed; return nil })
	return stored, err
}

// answerTaken corrects the answers for ids that were taken already. What was
// stored now has a seq after the last one before.
func answerTaken(c *driver.Conn, items []*putItem, last int64) error {
	fresh := map[string]bool{}
	err := Exec(c, "SELECT id FROM timer WHERE seq > ?", func(r *driver.Stmt) { fresh[r.ColumnText(0)] = true }, last)
	if err != nil {
		return err
	}
	var taken []string
	for _, item := range items {
		for i := range item.answers {
			answer := &item.answers[i]
			answer.New = fresh[answer.ID]
			if !answer.New {
				taken = append(taken, answer.ID)
			}
			// Whoever else wants this id comes too late.
			delete(fresh, answer.ID)
		}
	}
	there, err := readTimers(c, taken)
	if err != nil {
		return err
	}
	for _, item := range items {
		for i := range item.answers {
			answer, asked := &item.answers[i], &item.timers[i]
			if answer.New {
				continue
			}
			old := there[answer.ID]
			if answer.New = asked.Replaces(old, asked.SetAt); !answer.New {
				answer.Timer = old
				continue
			}
			if err := replaceTimer(c, asked); err != nil {
				return err
			}
			there[answer.ID] = *asked
		}
	}
	return nil
}

// replaceTimer stores a timer under the id of one that is over. That one keeps
// its completion, which goes by its seq.
func replaceTimer(c *driver.Conn, t *timer.Timer) error {
	for _, rename := range []string{
		"UPDATE timer_unlogged SET id = (SELECT id || ?2 || seq FROM timer WHERE id = ?1) WHERE id = ?1",
		"UPDATE timer SET id = id || ?2 || seq WHERE id = ?1",
	} {
		if err := Exec(c, rename, nil, t.ID, timer.RetiredID("", "")); err != nil {
			return err
		}
	}
	_, err := insertTimers(c, []*timer.Timer{t})
	return err
}

// readTimers returns those timers of the given ids that there are.
func readTimers(c *driver.Conn, ids []string) (map[string]timer.Timer, error) {
	list, err := textList(ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]timer.Timer, len(ids))
	err = Exec(c, "SELECT "+timerColumns+" FROM timer WHERE id IN (SELECT value FROM json_each(?))", func(r *driver.Stmt) {
		t := scanTimer(r)
		out[t.ID] = t
	}, list)
	return out, err
}
