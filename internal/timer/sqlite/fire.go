package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/timer"
)

// idList renders ids as the JSON array that json_each takes, so that one
// prepared statement serves any number of them.
func idList(ids []string) (string, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("list ids: %w", err)
	}
	return string(list), nil
}

// fireSQL fires what waits and is due. The parameters are the status, and the
// instant of the next step or 0, of those with and those without a webhook.
const fireSQL = `UPDATE timer SET status = iif(webhook <> '', ?1, ?3), next_at = nullif(iif(webhook <> '', ?2, ?4), 0), ended_at = ?5, server = ?6
	WHERE id IN (SELECT value FROM json_each(?7)) AND status = ?8 AND at <= ?5 RETURNING ` + timerColumns

// Fire implements timer.Store.
func (s *Store) Fire(ctx context.Context, f timer.Firing) (fired []timer.Fired, err error) {
	ids := slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := idList(ids)
	if err != nil {
		return nil, err
	}
	next := pending(f.Now.Add(f.Grace))
	plain, plainNext := timer.Completed, int64(0)
	if f.Deliver {
		plain, plainNext = timer.Delivering, next
	}
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		fired = make([]timer.Fired, 0, len(ids))
		err := sqlitedb.Exec(c, fireSQL, func(r *sqlite.Stmt) { fired = append(fired, timer.Fired{Timer: scanTimer(r), New: true}) },
			int64(timer.Delivering), next, int64(plain), plainNext, f.Now.UnixMicro(), f.Server, list, int64(timer.Waiting))
		if err != nil || len(fired) == len(ids) {
			return err
		}
		fired, err = addOthers(c, ids, fired)
		return err
	})
	return fired, err
}

// addOthers adds the timers that were not fired.
func addOthers(c *sqlite.Conn, ids []string, fired []timer.Fired) ([]timer.Fired, error) {
	fresh := make(map[string]bool, len(fired))
	for _, f := range fired {
		fresh[f.ID] = true
	}
	others, err := readTimers(c, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return fresh[id] }))
	for _, t := range others {
		fired = append(fired, timer.Fired{Timer: t})
	}
	return fired, err
}

// Settle implements timer.Store.
func (s *Store) Settle(ctx context.Context, settled []timer.Settlement) error {
	if len(settled) == 0 {
		return nil
	}
	for _, to := range settled {
		if !to.To.Fired() {
			return domain.Errorf(domain.CodeInvalid, "a delivery of timer %s cannot end as %s", to.ID, to.To)
		}
	}
	// The caller's slice is not read behind its back: once begun, Write waits.
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		for _, to := range settled {
			next := int64(0)
			if to.To == timer.Delivering {
				next = pending(to.Next)
			}
			err := sqlitedb.Exec(c, "UPDATE timer SET status = ?1, next_at = nullif(?2, 0), tries = ?3, error = ?4 WHERE id = ?5 AND status = ?6 AND tries <= ?3",
				nil, int64(to.To), next, to.Tries, to.Error, to.ID, int64(timer.Delivering))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
