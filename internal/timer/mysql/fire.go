package mysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// fireItem is one Fire on its way to the server.
type fireItem struct {
	timer.Firing
	fired []timer.Fired
	err   error
}

// Fire implements timer.Store.
func (s *Store) Fire(ctx context.Context, f timer.Firing) ([]timer.Fired, error) {
	item := &fireItem{Firing: f}
	item.IDs = slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	item.Now = kept(f.Now)
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
func (s *Store) applyFires(ctx context.Context, items []*fireItem) error {
	var ids []string
	for _, item := range items {
		ids = append(ids, item.IDs...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		timers, err := lockTimers(ctx, tx, ids)
		if err != nil {
			return err
		}
		var changed []*row
		for _, item := range items {
			changed = append(changed, item.apply(timers)...)
		}
		return writeBack(ctx, tx, changed)
	})
}

// apply fires what waits and is due, notes the answers and returns what it has
// fired.
func (f *fireItem) apply(timers map[string]*row) (changed []*row) {
	f.err, f.fired = nil, make([]timer.Fired, 0, len(f.IDs))
	for _, id := range f.IDs {
		t := timers[id]
		if t == nil {
			continue
		}
		due := t.Status == timer.Waiting && !t.At.After(f.Now)
		if due {
			t.Status, t.NextAt = timer.Completed, time.Time{}
			if f.Deliver || t.Webhook != "" {
				t.Status, t.NextAt = timer.Delivering, pending(f.Now.Add(f.Grace))
			}
			t.FiredAt, t.ended, t.Server = f.Now, f.Now.UnixMicro(), f.Server
			changed = append(changed, t)
		}
		f.fired = append(f.fired, timer.Fired{Timer: t.Timer, New: due})
	}
	return changed
}

// Settle implements timer.Store.
func (s *Store) Settle(ctx context.Context, settled []timer.Settlement) error {
	ids := make([]string, len(settled))
	for i, to := range settled {
		if !to.To.Fired() {
			return domain.Errorf(domain.CodeInvalid, "a delivery of timer %s cannot end as %s", to.ID, to.To)
		}
		ids[i] = to.ID
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		timers, err := lockTimers(ctx, tx, ids)
		if err != nil {
			return err
		}
		changed := map[*row]bool{}
		for _, to := range settled {
			if t := timers[to.ID]; t != nil && t.Status == timer.Delivering && t.Tries <= to.Tries {
				t.Status, t.NextAt, t.Tries, t.Error = to.To, time.Time{}, to.Tries, to.Error
				if to.To == timer.Delivering {
					t.NextAt = pending(to.Next)
				}
				changed[t] = true
			}
		}
		return writeBack(ctx, tx, slices.Collect(maps.Keys(changed)))
	})
}
