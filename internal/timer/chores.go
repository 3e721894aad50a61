package timer

import (
	"context"
	"slices"
	"time"

	"sluice/internal/due"
)

// chore does what is no timer but waits for its time like one. Of several all
// want the same.
func (s *Service) chore(ctx context.Context, taken ...due.Taken) {
	var err error
	next := time.Time{}
	switch id := taken[0].ID; {
	case id == due.RebuildID || isIntent(id):
		err = s.rebuild(ctx)
	case id == logID:
		next, err = s.bringLogUpToDate(ctx)
	case id == due.MissedID:
		_, err = s.DetectMissed(ctx)
	case id == pruneID:
		if err = s.prune(ctx); err == nil {
			next = s.nextPrune().At
		}
	}
	if ctx.Err() != nil {
		return // it is handed out again
	}
	if err != nil {
		s.Slog.Warn("a timer chore failed; trying again", "chore", taken[0].ID, "error", err)
		next = s.Now().Add(retryStore)
	}
	ctx = context.WithoutCancel(ctx)
	if next.IsZero() {
		s.reportToTrigger(ctx, outcome{done: taken})
		return
	}
	s.reportToTrigger(ctx, outcome{again: later(taken, next)})
}

// rebuildBatch is how many timers the trigger is told of at once.
const rebuildBatch = 1000

// rebuild fills the trigger from the store. What the trigger knows already
// stays as it is, if it is not later than the row says.
func (s *Service) rebuild(ctx context.Context) error {
	began, total := s.Now(), 0
	batch := make([]due.Entry, 0, rebuildBatch)
	flush := func() error {
		total += len(batch)
		err := s.Trigger.Put(ctx, batch...)
		batch = batch[:0]
		return err
	}
	err := s.firings.Open(ctx, func(d Due) error {
		if batch = append(batch, entryOf(d.ID, d.At)); len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	waiting := total + len(batch)
	batch = append(batch, s.standing()...)
	if err := flush(); err != nil {
		return err
	}
	if waiting > 0 {
		s.Slog.Info("the trigger was filled from the store", "timers", waiting, "took", s.Now().Sub(began))
	}
	return nil
}

const (
	// missedAfter is how long after its instant a timer counts as missed.
	missedAfter = 2 * time.Second
	missedBatch = 500
	missedShown = 100
)

// Missed is what a look for missed timers found.
type Missed struct {
	// Found counts what was overdue; FiredNow those that had no completion yet and
	// have it now. The others waited for their delivery.
	Found    int `json:"found"`
	FiredNow int `json:"fired"`
	// Timers names the first of them.
	Timers []string `json:"timers"`
}

// DetectMissed looks for timers that should have fired and did not, and fires
// them, late but once.
func (s *Service) DetectMissed(ctx context.Context) (Missed, error) {
	found, seen := Missed{Timers: []string{}}, map[string]struct{}{}
	until := s.Now().Add(-missedAfter)
	for {
		// What is being delivered may stay overdue, and stand before what is not
		// seen yet.
		limit := missedBatch + 2*len(seen)
		overdue, err := s.firings.Overdue(ctx, until, limit)
		if err != nil {
			return found, err
		}
		var fresh []string
		for _, d := range overdue {
			if _, known := seen[d.ID]; !known {
				seen[d.ID] = struct{}{}
				fresh = append(fresh, d.ID)
			}
		}
		for ids := range slices.Chunk(fresh, missedBatch) {
			if err := s.makeUp(ctx, ids, &found); err != nil {
				return found, err
			}
		}
		if len(overdue) < limit {
			break
		}
	}
	if found.Found > 0 {
		s.Slog.Warn("missed timers were found", "found", found.Found, "fired", found.FiredNow)
		s.watchers.Notify()
	}
	return found, nil
}

// makeUp gives overdue timers their completion here and now: whatever became of
// the trigger, the rows are the truth. What is to be delivered of them is left
// to whoever takes them from the trigger next.
func (s *Service) makeUp(ctx context.Context, ids []string, found *Missed) error {
	done, err := s.intents.hold(ctx)
	if err != nil {
		// A trigger that fails is no reason not to fire: it has them, or is
		// filled when it works again.
		done = func(bool) {}
	}
	now := s.Now()
	made, err := s.firings.Fire(ctx, Firing{
		IDs: ids, Now: now, Server: s.Server, Deliver: s.Hook != nil, Log: s.Log != nil,
		// Nobody has these in hand.
		Grace: 0,
	})
	if err != nil {
		done(false)
		return err
	}
	found.Found += len(ids)
	found.Timers = append(found.Timers, ids[:min(len(ids), missedShown-len(found.Timers))]...)
	var entries []due.Entry
	var over []string
	for _, f := range made {
		if f.New {
			found.FiredNow++
			s.count(f.Timer)
		}
		switch {
		case !f.NextAt.IsZero():
			entries = append(entries, entryOf(f.ID, f.NextAt))
		case f.Status == Completed:
			// What is canceled may be rescheduled at this moment.
			over = append(over, DueID(f.ID))
		}
	}
	told := s.schedule(ctx, entries...) && s.logSoon(ctx)
	done(told)
	if !told || len(over) == 0 {
		return nil
	}
	if err := s.Trigger.Remove(ctx, over...); err != nil {
		// Who takes them finds them fired.
		s.Slog.Warn("missed timers cannot be removed from the trigger", "error", err)
	}
	return nil
}

// pruneBatch bounds one transaction that removes old timers.
const pruneBatch = 1000

// prune removes what is older than the retention.
func (s *Service) prune(ctx context.Context) error {
	before := s.Now().Add(-Retention)
	removers := []func(context.Context, time.Time, int) (int, error){s.firings.Prune}
	if s.Log != nil {
		removers = append(removers, s.Log.Prune)
	}
	for _, remove := range removers {
		for n := pruneBatch; n == pruneBatch; {
			var err error
			if n, err = remove(ctx, before, pruneBatch); err != nil {
				return err
			}
		}
	}
	return nil
}

// standing is the work that waits in every trigger beside timers.
func (s *Service) standing() []due.Entry {
	entries := []due.Entry{s.nextPrune()}
	if s.Log != nil {
		// Whoever was here before may have left something unwritten.
		entries = append(entries, due.Entry{ID: logID, At: s.Now()})
	}
	return entries
}

// nextPrune is when old timers are looked for next: once a day.
func (s *Service) nextPrune() due.Entry {
	return due.Entry{ID: pruneID, At: s.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)}
}
