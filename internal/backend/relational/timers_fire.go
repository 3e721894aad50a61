package relational

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"sluice/internal/timer"
)

// fireItem is one Fire on its way to the server.
type fireItem struct {
	timer.Firing
	fired []timer.FireResult
	err   error
}

// Fire implements timer.Store.
func (s *Timers) Fire(ctx context.Context, f timer.Firing) ([]timer.FireResult, error) {
	item := &fireItem{Firing: f}
	item.IDs = slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	item.Now = timer.Instant(f.Now)
	var err error
	switch {
	case len(item.IDs) == 0:
		return nil, nil
	case len(item.IDs) > maxShared:
		err = s.applyFires(ctx, []*fireItem{item})
	default:
		err = s.fires.Do(ctx, item)
	}
	if err != nil {
		return nil, err
	}
	return item.fired, item.err
}

// applyFires fires the timers of all items, those of the first items first.
func (s *Timers) applyFires(ctx context.Context, items []*fireItem) error {
	var ids []string
	for _, item := range items {
		ids = append(ids, item.IDs...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return s.db.Tx(ctx, func(tx *Tx) error {
		timers, err := lockTimers(ctx, tx, ids)
		if err != nil {
			return err
		}
		var changed []*timerRecord
		var fired, unlogged []string
		for _, item := range items {
			rows := item.apply(timers)
			changed = append(changed, rows...)
			for _, t := range rows {
				fired = append(fired, t.ID)
				if item.Log {
					unlogged = append(unlogged, t.ID)
				}
			}
		}
		if err := noteIDs(ctx, tx, noteCompleted, fired); err != nil {
			return err
		}
		if err := noteIDs(ctx, tx, noteUnlogged, unlogged); err != nil {
			return err
		}
		return writeTimers(ctx, tx, changed)
	})
}

// apply fires what waits and is due, notes the answers and returns what it has
// fired.
func (f *fireItem) apply(timers map[string]*timerRecord) (changed []*timerRecord) {
	f.err, f.fired = nil, make([]timer.FireResult, 0, len(f.IDs))
	for _, id := range f.IDs {
		t := timers[id]
		if t == nil {
			continue
		}
		fired := f.Fire(&t.Timer)
		if fired {
			t.ended = t.FiredAt.UnixMicro()
			changed = append(changed, t)
		}
		f.fired = append(f.fired, timer.FireResult{Timer: t.Timer, New: fired})
	}
	return changed
}

// Settle implements timer.Store.
func (s *Timers) Settle(ctx context.Context, settled []timer.Settlement) error {
	ids := make([]string, len(settled))
	for i := range settled {
		if err := settled[i].Check(); err != nil {
			return err
		}
		ids[i] = settled[i].ID
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return s.db.Tx(ctx, func(tx *Tx) error {
		timers, err := lockTimers(ctx, tx, ids)
		if err != nil {
			return err
		}
		changed := map[*timerRecord]bool{}
		var unlogged []string
		var givenUp []Row
		for i := range settled {
			t := timers[settled[i].ID]
			if t == nil || !settled[i].Settle(&t.Timer) {
				continue
			}
			changed[t] = true
			if t.Status == timer.Dead {
				row := Row{Key: t.ID}
				row.Write("(").Blob([]byte(t.ID)).Write(",").Time(settled[i].At).Write(")")
				givenUp = append(givenUp, row)
			}
			if settled[i].Log {
				unlogged = append(unlogged, t.ID)
			}
		}
		if err := noteIDs(ctx, tx, noteUnlogged, unlogged); err != nil {
			return err
		}
		if _, err := noteGivenUp.Run(ctx, tx, givenUp); err != nil {
			return err
		}
		return writeTimers(ctx, tx, slices.Collect(maps.Keys(changed)))
	})
}

// noteGivenUp notes when a delivery was given up, for those who are to be told.
var noteGivenUp = &Insert{
	Head:   "INSERT INTO timer_given_up (timer, at)",
	Upsert: Upsert{Key: "timer", Set: Overwrite("at")},
}

// GivenUp implements timer.Store. Of what was given up some is delivered again, or
// another timer by now.
func (s *Timers) GivenUp(ctx context.Context) (n int64, err error) {
	var count Statement
	count.Write("SELECT COUNT(*) FROM timer_given_up g JOIN timer t ON t.id = g.timer WHERE t.status = ").Int(int64(timer.Dead))
	err = s.db.Run(ctx, &count, func(r *sql.Rows) error { return r.Scan(&n) })
	return n, err
}
