package refresh

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

// save is a result on its way to the store, with what became of it.
type save struct {
	refreshed Refreshed
	saved     Saved
	// err is what is wrong with this one alone.
	err error
}

// applySaves stores the results of many events in one transaction. Of several
// for one entity the newest counts; the others are obsolete.
func (w *Worker) applySaves(ctx context.Context, items []*save) error {
	newest := make(map[Entity]*save, len(items))
	for _, item := range items {
		item.saved, item.err = Obsolete, nil
		if other, ok := newest[item.refreshed.Entity]; !ok || item.refreshed.newer(other.refreshed) {
			newest[item.refreshed.Entity] = item
		}
	}
	rows := make([]Refreshed, 0, len(newest))
	entities := make([]Entity, 0, len(newest))
	for entity, item := range newest {
		rows, entities = append(rows, item.refreshed), append(entities, entity)
	}
	saved, err := w.saveRows(ctx, rows)
	switch {
	case domain.CodeOf(err) == domain.CodeUnavailable:
		return err
	case err != nil:
		// One of them is at fault, and must not take the others along.
		for i, entity := range entities {
			item := newest[entity]
			one, err := w.saveRows(ctx, rows[i:i+1])
			if item.err = err; err == nil {
				item.saved = one[0]
			}
		}
	default:
		for i, entity := range entities {
			newest[entity].saved = saved[i]
		}
	}
	if w.Stored != nil {
		w.Stored(ctx, changesOf(newest))
	}
	return nil
}

// changesOf says what saving has changed. What was obsolete may have been stored
// by a process that ended before it could say so.
func changesOf(saves map[Entity]*save) []Change {
	changes := make([]Change, 0, len(saves))
	for entity, item := range saves {
		change := Change{Entity: entity}
		if item.saved != Obsolete {
			change.CheckedAt = item.refreshed.At
		}
		changes = append(changes, change)
	}
	return changes
}

func (w *Worker) saveRows(ctx context.Context, rows []Refreshed) (saved []Saved, err error) {
	err = w.Store.Do(ctx, func() error {
		for i, now := 0, w.Now(); i < len(rows); i++ {
			rows[i].Now = now
		}
		saved, err = w.Snapshots.Save(ctx, rows)
		return err
	})
	return saved, err
}

// save stores a value, however long the store takes: the call was paid for. Its
// place stays taken, so that no more is taken than can be held.
func (c *consumer) save(ctx context.Context, t *task, f Fetched) {
	item := &save{refreshed: Refreshed{Entity: t.event.Entity, Version: t.version, At: c.Now(), Body: f.Body, Hash: f.Hash}}
	ended, err := c.keep(ctx, item, f)
	if !ended {
		c.leave(t)
		return
	}
	if err != nil {
		c.giveUp(ctx, t, Fetched{Code: "REFUSED_BY_STORE", Error: err.Error()})
		return
	}
	if c.Lags != nil {
		c.Lags.Served(t.event.Source, c.priority, c.Now().Sub(t.called))
	}
	c.ackEvent(ctx, t)
}

// store saves a value. If the store has a later version although nobody has
// asked since, that version was given out by a clock that was set back, or by a
// coalescer that has forgotten: the value is the newest, and gets a version that
// says so.
func (c *consumer) store(ctx context.Context, item *save) error {
	given := item.refreshed.Version
	for {
		if err := c.saves[c.priority].Do(ctx, item); err != nil {
			return err
		}
		if item.err != nil || item.saved != Obsolete {
			return item.err
		}
		entity := item.refreshed.Entity
		newest, err := c.Coalescer.Versions(ctx, entity)
		if err != nil {
			return err
		}
		if newest[0] != given {
			return nil
		}
		standings, err := c.standings(ctx, []Entity{entity})
		if err != nil {
			return err
		}
		if standings[0].Seen <= item.refreshed.Version {
			// The same version, by a later look.
			return nil
		}
		item.refreshed.Version = standings[0].Seen + 1
		c.Coalescer.Raise(item.refreshed.Version)
	}
}

// retryUntilStored repeats a write while the store fails, taking nothing new meanwhile. It
// reports false if ctx ended first, and otherwise how the write ended.
func (c *consumer) retryUntilStored(ctx context.Context, write func() error) (ended bool, err error) {
	held := false
	for delays := backendDelays.Series(); ; {
		err = write()
		if ctx.Err() != nil && err != nil {
			return false, err
		}
		if !storeFails(err) {
			return true, err
		}
		if !held {
			held = true
			c.pauseConsumer()
			defer c.resumeConsumer()
			c.Slog.Warn("refreshes wait for the store", "error", err)
		}
		backoff.Sleep(ctx, max(delays.Next(), c.Store.Until()))
	}
}

// storeFails tells a store that fails from one that refuses something: what is
// not said to be wrong with the record is wrong with the store.
func storeFails(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.CodeUnavailable || code == domain.CodeInternal
}

// giveUp ends an event that failed for good: it is kept for a person.
func (c *consumer) giveUp(ctx context.Context, t *task, f Fetched) {
	letter := DeadLetter{
		ID: t.event.EventID, Event: t.event, Why: f.Code, Error: f.Error, HTTPStatus: f.HTTPStatus, Tries: t.tries,
		FirstAt: t.began, FailedAt: c.Now(), Topic: string(t.record.Topic), Partition: t.record.Partition, Offset: t.record.Offset,
		WorkerID: c.ID,
	}
	letter.Version = t.version
	if letter.ID == "" {
		// The same if it is taken again.
		letter.ID = fmt.Sprintf("%s-%d-%d", t.record.Topic, t.record.Partition, t.record.Offset)
	}
	if letter.Priority == 0 {
		// Of what cannot be read this is all that is known.
		letter.Priority = c.priority
	}
	if letter.Why == "" {
		letter.Why = "UPSTREAM_FAILED"
	}
	c.Slog.Warn("a refresh was given up", "entity", t.event.String(), "correlation_id", t.event.CorrelationID, "why", letter.Why, "error", letter.Error)
	ended, err := c.retryUntilStored(ctx, func() error {
		return c.Store.Do(ctx, func() error { return c.Letters.AddDeadLetters(ctx, []DeadLetter{letter}) })
	})
	if !ended {
		c.leave(t)
		return
	}
	if err != nil {
		// Nothing can be kept of it; the log line above is what is left.
		c.Slog.Error("a dead letter cannot be kept", "entity", t.event.String(), "correlation_id", t.event.CorrelationID, "error", err)
	}
	c.counters.Dead.Add(1)
	if c.Buried != nil {
		c.Buried(letter.FailedAt)
	}
	c.setStatus(ctx, t, StatusFailed, f, time.Time{})
	c.settleRequest(ctx, t)
	// Those who follow the topic are told; the store is where it is kept.
	if err := c.announceDead(ctx, t, &letter); err != nil && ctx.Err() == nil {
		c.Slog.Warn("a dead letter cannot be published; it is in the store", "error", err)
	}
	c.ackEvent(ctx, t)
}

// settleRequest ends the request that is kept of an entity. If that fails, it ends when
// it is published again.
func (c *consumer) settleRequest(ctx context.Context, t *task) {
	if t.event.Source == "" || t.event.Key == "" {
		return
	}
	lock := Lock{Entity: t.event.Entity, Version: t.version}
	if err := c.Store.Do(ctx, func() error { return c.Requests.Settle(ctx, []Lock{lock}) }); err != nil && ctx.Err() == nil {
		c.Slog.Warn("the store does not end a request that was given up; it is published again", "entity", t.event.String(), "error", err)
	}
}

// status is what is shown of a task that did not succeed.
func (t *task) status(code StatusCode, f Fetched, next time.Time) VersionedStatus {
	return VersionedStatus{Version: t.version, Status: Status{
		Entity: t.event.Entity, Code: code, Tries: max(t.tries, t.event.Waits), ErrorCode: f.Code, Error: f.Error, At: t.Now(), NextRetryAt: next,
	}}
}

// setStatus shows what is wrong with an entity.
func (c *consumer) setStatus(ctx context.Context, t *task, code StatusCode, f Fetched, next time.Time) {
	if t.event.Source == "" || t.event.Key == "" {
		return
	}
	c.showStatus(ctx, t.status(code, f, next))
}

// showStatus is for people: if the store does not take it, the refresh goes on.
func (w *Worker) showStatus(ctx context.Context, statuses ...VersionedStatus) {
	err := w.Store.Do(ctx, func() error { return w.Snapshots.SetStatus(ctx, statuses) })
	switch {
	case err == nil && w.Stored != nil:
		// Whoever cached that there is nothing is to see it.
		changes := make([]Change, len(statuses))
		for i := range statuses {
			changes[i].Entity = statuses[i].Entity
		}
		w.Stored(ctx, changes)
	case err != nil && ctx.Err() == nil:
		w.Slog.Warn("the store does not take the status of entities", "entities", len(statuses), "first", statuses[0].String(), "error", err)
	}
}

// ackEvent is done with an event and with those that followed its call: the log
// first, then the locks. A lock that stays ends by itself.
func (c *consumer) ackEvent(ctx context.Context, t *task) {
	defer c.freePlaces(1)
	followers := c.calls.end(t)
	c.counters.Obsolete.Add(int64(len(followers)))
	all := append(followers, t)
	locks := make([]Lock, 0, len(all)+2)
	for _, one := range all {
		if err := one.subscription.Done(ctx, one.record); err != nil && ctx.Err() == nil {
			c.Slog.Warn("the log does not take that an event is done; it is taken again", "entity", t.event.String(), "error", err)
		}
		locks = append(locks, one.event.Lock())
	}
	if t.event.Key == "" {
		return
	}
	if t.version != t.event.Version {
		// The request that was served along, of whatever priority.
		locks = append(locks, Lock{Entity: t.event.Entity, Version: t.version, Priority: domain.PriorityHigh},
			Lock{Entity: t.event.Entity, Version: t.version, Priority: domain.PriorityLow})
	}
	if err := c.Coalescer.Release(ctx, locks...); err != nil && ctx.Err() == nil {
		c.Slog.Debug("a lock cannot be released; it expires", "entity", t.event.String(), "error", err)
	}
}
