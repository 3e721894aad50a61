package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/timer"
)

// textList renders ids as the JSON array that json_each takes, so that one
// prepared statement serves any number of them.
func textList(ids []string) (string, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("list ids: %w", err)
	}
	return string(list), nil
}

// fireSQL fires what waits and is due, as Firing.Fires says. The parameters are the status, and the
// instant of the next step or 0, of those with and those without a webhook.
const fireSQL = `UPDATE timer SET status = iif(webhook <> '', ?1, ?3), next_at = nullif(iif(webhook <> '', ?2, ?4), 0), ended_at = ?5, server = ?6
	WHERE id IN (SELECT value FROM json_each(?7)) AND status = ?8 AND at <= ?5 RETURNING ` + timerColumns

// Fire implements timer.Store.
func (s *Timers) Fire(ctx context.Context, f timer.Firing) (fired []timer.FireResult, err error) {
	ids := slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := textList(ids)
	if err != nil {
		return nil, err
	}
	hooked, hookedNext := f.Becomes(true)
	plain, plainNext := f.Becomes(false)
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		fired = make([]timer.FireResult, 0, len(ids))
		if err := numberCompletions(c, f, list); err != nil {
			return err
		}
		err := Exec(c, fireSQL, func(r *driver.Stmt) { fired = append(fired, timer.FireResult{Timer: scanTimer(r), New: true}) },
			int64(hooked), hookedNext, int64(plain), plainNext, f.Now.UnixMicro(), f.Server, list, int64(timer.Waiting))
		if err != nil || len(fired) == len(ids) {
			return err
		}
		fired, err = addOthers(c, ids, fired)
		return err
	})
	return fired, err
}

// addOthers adds the timers that were not fired.
func addOthers(c *driver.Conn, ids []string, fired []timer.FireResult) ([]timer.FireResult, error) {
	fresh := make(map[string]bool, len(fired))
	for _, f := range fired {
		fresh[f.ID] = true
	}
	others, err := readTimers(c, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return fresh[id] }))
	for _, t := range others {
		fired = append(fired, timer.FireResult{Timer: t})
	}
	return fired, err
}

// Settle implements timer.Store.
func (s *Timers) Settle(ctx context.Context, settled []timer.Settlement) error {
	if len(settled) == 0 {
		return nil
	}
	ids := make([]string, len(settled))
	for i := range settled {
		if err := settled[i].Check(); err != nil {
			return err
		}
		ids[i] = settled[i].ID
	}
	list, err := textList(ids)
	if err != nil {
		return err
	}
	// The caller's slice is not read behind its back: once begun, Write waits.
	return s.db.Write(ctx, func(c *driver.Conn) error {
		timers := make(map[string]*timer.Timer, len(settled))
		err := Exec(c, "SELECT id, status, tries FROM timer WHERE id IN (SELECT value FROM json_each(?))", func(r *driver.Stmt) {
			t := &timer.Timer{Spec: timer.Spec{ID: r.ColumnText(0)}, Status: timer.Status(r.ColumnInt(1)), Tries: r.ColumnInt(2)}
			timers[t.ID] = t
		}, list)
		if err != nil {
			return err
		}
		for i := range settled {
			t := timers[settled[i].ID]
			if t == nil || !settled[i].Settle(t) {
				continue
			}
			err := Exec(c, "UPDATE timer SET status = ?, next_at = nullif(?, 0), tries = ?, error = ? WHERE id = ?", nil,
				int64(t.Status), t.NextAt, t.Tries, t.Error, t.ID)
			if err == nil && settled[i].Log {
				err = Exec(c, "INSERT OR IGNORE INTO timer_unlogged VALUES (?)", nil, t.ID)
			}
			if err == nil && t.Status == timer.Dead {
				err = Exec(c, "REPLACE INTO timer_given_up (id, at) VALUES (?, ?)", nil, t.ID, settled[i].At)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// GivenUp implements timer.Store. Of what was given up some is delivered again, or
// another timer by now.
func (s *Timers) GivenUp(ctx context.Context) (n int64, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT count(*) FROM timer_given_up g CROSS JOIN timer t ON t.id = g.id WHERE t.status = ?",
			func(r *driver.Stmt) { n = r.ColumnInt64(0) }, int64(timer.Dead))
	})
	return n, err
}
