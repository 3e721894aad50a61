package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/sqlitedb"
	"sluice/internal/timer"
)

// putItem is one Put on its way through the writer.
type putItem struct {
	timers  []timer.Timer
	answers []timer.Stored
}

// Put implements timer.Store.
func (s *Store) Put(ctx context.Context, specs []timer.Spec, now time.Time) ([]timer.Stored, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	item := &putItem{timers: make([]timer.Timer, len(specs))}
	set := instant(now.UnixMicro())
	for i, spec := range specs {
		spec.At = instant(spec.At.UnixMicro())
		if len(spec.Payload) == 0 {
			spec.Payload = nil
		}
		item.timers[i] = timer.Timer{Spec: spec, Status: timer.Waiting, SetAt: set, NextAt: instant(pending(spec.At))}
	}
	if err := s.puts.Do(ctx, item); err != nil {
		return nil, err
	}
	return item.answers, nil
}

var insertTimer = sqlitedb.NewInsert("INSERT INTO timer (id, at, set_at, status, webhook, next_at, payload)", "ON CONFLICT DO NOTHING", 7)

// applyPuts stores the timers of all items, those of the first items first: of
// two that want one id the first gets it.
func applyPuts(c *sqlite.Conn, items []*putItem) error {
	var rows []*timer.Timer
	for _, item := range items {
		item.answers = make([]timer.Stored, len(item.timers))
		for i := range item.timers {
			item.answers[i] = timer.Stored{Timer: item.timers[i], New: true}
			rows = append(rows, &item.timers[i])
		}
	}
	last, stored := int64(0), 0
	err := sqlitedb.Exec(c, "SELECT coalesce(max(seq), 0) FROM timer", func(r *sqlite.Stmt) { last = r.ColumnInt64(0) })
	if err != nil {
		return err
	}
	err = insertTimer.Run(c, len(rows), func(stmt *sqlite.Stmt, base, i int) {
		t := rows[i]
		stmt.BindText(base, t.ID)
		stmt.BindInt64(base+1, t.At.UnixMicro())
		stmt.BindInt64(base+2, t.SetAt.UnixMicro())
		stmt.BindInt64(base+3, int64(t.Status))
		stmt.BindText(base+4, t.Webhook)
		stmt.BindInt64(base+5, t.NextAt.UnixMicro())
		sqlitedb.BindBlob(stmt, base+6, t.Payload)
	}, func(_, _, changed int) error { stored += changed; return nil })
	if err != nil || stored == len(rows) {
		return err
	}
	return answerTaken(c, items, last)
}

// answerTaken corrects the answers for ids that were taken already. What was
// stored now has a seq after the last one before.
func answerTaken(c *sqlite.Conn, items []*putItem, last int64) error {
	fresh := map[string]bool{}
	err := sqlitedb.Exec(c, "SELECT id FROM timer WHERE seq > ?", func(r *sqlite.Stmt) { fresh[r.ColumnText(0)] = true }, last)
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
			if answer := &item.answers[i]; !answer.New {
				answer.Timer = there[answer.ID]
			}
		}
	}
	return nil
}

// readTimers returns those timers of the given ids that there are.
func readTimers(c *sqlite.Conn, ids []string) (map[string]timer.Timer, error) {
	list, err := idList(ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]timer.Timer, len(ids))
	err = sqlitedb.Exec(c, "SELECT "+timerColumns+" FROM timer WHERE id IN (SELECT value FROM json_each(?))", func(r *sqlite.Stmt) {
		t := scanTimer(r)
		out[t.ID] = t
	}, list)
	return out, err
}
