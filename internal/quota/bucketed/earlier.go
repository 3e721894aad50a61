package bucketed

import (
	"context"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/ration/keeper"
)

const (
	// longestCall is how long a call may last that was in flight when a process ended.
	longestCall = 30 * time.Second
	// dearCall is what a call costs that nothing is known about.
	dearCall = 4
	// permitLife is how long a call may be out.
	permitLife = time.Duration(keeper.Life) * time.Microsecond
)

// TakeOver writes down what an earlier version stored of windows, for owners of whom
// nothing is written down yet: at least what was taken, so that no window begins anew
// because of it. What an endpoint had of its minute is not known any more, so an owner who
// may have called within the last minute waits for it to be over.
func TakeOver(ctx context.Context, cfg quota.Config, windows []domain.QuotaWindow, store keeper.Store, now time.Time) error {
	groups, err := store.Groups(ctx)
	if err != nil {
		return err
	}
	earlier := make(map[string][]domain.QuotaWindow)
	for _, w := range windows {
		if _, ok := cfg.Buckets[w.Bucket]; ok && !slices.Contains(groups, Group(w.Owner)) {
			earlier[w.Owner] = append(earlier[w.Owner], w)
		}
	}
	for name, some := range earlier {
		rows := make([]keeper.Stored, 0, len(some)+1)
		var closed time.Time
		for i := range some {
			limits := cfg.Buckets[some[i].Bucket]
			rows = append(rows, earlierRow(&some[i], limits, cfg.Concurrency, now))
			closed = latest(closed, some[i].ParkedUntil, minuteOver(&some[i], limits, now))
		}
		if closed.After(now) {
			rows = append(rows, keeper.Stored{Group: Group(name), Count: keeper.GatePrefix + gate, Until: closed, Seq: 1})
		}
		if err := store.Save(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// earlierRow is a window as it is written down now. If the process that stored it left no
// word about its last moments, as many calls as the owner may have in flight are taken to
// have been, dear ones.
func earlierRow(w *domain.QuotaWindow, l quota.Limits, concurrency int, now time.Time) keeper.Stored {
	limit := w.Limit
	if limit <= 0 {
		limit = l.Limit
	}
	row := keeper.Stored{
		Group: Group(w.Owner), Count: w.Bucket, Limit: int64(w.Limit), Spent: int64(max(limit-w.Remaining, 0)), End: w.Reset, Until: now, Seq: 1,
	}
	switch {
	case !w.Touched.IsZero():
		row.Late = int64(w.InFlight)
	case concurrency > 0:
		row.Late = int64(concurrency) * dearCall
	default:
		row.Late = int64(limit)
	}
	row.Late = min(row.Late, row.Spent)
	switch {
	case !w.Reset.IsZero():
		row.Until = w.Reset.Add(l.Window + permitLife)
	case !w.Started.IsZero():
		row.Until = now.Add(l.Window + permitLife)
	}
	return row
}

// minuteOver is when nothing counts any more of the minutes of endpoints.
func minuteOver(w *domain.QuotaWindow, l quota.Limits, now time.Time) time.Time {
	if l.PointsPerMinute <= 0 || w.Started.IsZero() && w.Reset.IsZero() && w.Touched.IsZero() {
		return time.Time{}
	}
	last := now
	switch {
	case !w.Touched.IsZero():
		last = w.Touched.Add(longestCall)
	case !w.Reset.IsZero():
		last = w.Reset.Add(longestCall)
	}
	if last.After(now) {
		last = now
	}
	return last.Add(quota.PeriodOf(l))
}

func latest(all ...time.Time) time.Time {
	return slices.MaxFunc(all, time.Time.Compare)
}
