package refresh

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh/eventlog"
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
// by somebody who ended before he could say so.
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
		saved, err = w.Snapshots.Save(ctx, rows)
		return err
	})
	return saved, err
}

// save stores a value, however long the store takes: the call was paid for. Its
// place stays taken, so that no more is taken than can be held.
func (l *lane) save(ctx context.Context, t *task, f Fetched) {
	item := &save{refreshed: Refreshed{Entity: t.event.Entity, Version: t.event.Version, At: l.Now(), Body: f.Body, Hash: f.Hash}}
	ended, err := l.insist(ctx, func() error {
		if err := l.saves.Do(ctx, item); err != nil {
			return err
		}
		return item.err
	})
	if !ended {
		l.freePlaces(1)
		return
	}
	if err != nil {
		l.bury(ctx, t, Fetched{Code: "REFUSED_BY_STORE", Error: err.Error()})
		return
	}
	switch item.saved {
	case Stored:
		l.counters.Stored.Add(1)
	case Touched:
		l.counters.Touched.Add(1)
	default:
		l.counters.Obsolete.Add(1)
	}
	l.finish(ctx, t)
}

// insist repeats a write while the store fails, taking nothing new meanwhile. It
// reports false if ctx ended first, and otherwise how the write ended.
func (l *lane) insist(ctx context.Context, write func() error) (ended bool, err error) {
	held := false
	for delay := 100 * time.Millisecond; ; delay = min(2*delay, 5*time.Second) {
		err = write()
		if ctx.Err() != nil && err != nil {
			return false, err
		}
		if !storeFails(err) {
			return true, err
		}
		if !held {
			held = true
			l.hold()
			defer l.letGo()
			l.Slog.Warn("refreshes wait for the store", "error", err)
		}
		pause(ctx, max(delay, l.Store.Until()))
	}
}

// storeFails tells a store that fails from one that refuses something: what is
// not said to be wrong with the record is wrong with the store.
func storeFails(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.CodeUnavailable || code == domain.CodeInternal
}

// bury gives an event up: it is kept for a person.
func (l *lane) bury(ctx context.Context, t *task, f Fetched) {
	letter := DeadLetter{
		ID: t.event.EventID, Event: t.event, Why: f.Code, Error: f.Error, HTTPStatus: f.HTTPStatus, Tries: t.tries,
		FirstAt: t.began, BuriedAt: l.Now(), Topic: string(t.record.Topic), Partition: t.record.Partition, Offset: t.record.Offset,
	}
	if letter.ID == "" {
		// The same if it is taken again.
		letter.ID = fmt.Sprintf("%s-%d-%d", t.record.Topic, t.record.Partition, t.record.Offset)
	}
	if letter.Priority == 0 {
		// Of what cannot be read this is all that is known.
		letter.Priority = l.priority
	}
	if letter.Why == "" {
		letter.Why = "UPSTREAM_FAILED"
	}
	l.Slog.Warn("refresh given up", "entity", t.event.String(), "why", letter.Why, "error", letter.Error)
	ended, err := l.insist(ctx, func() error {
		return l.Store.Do(ctx, func() error { return l.Snapshots.Bury(ctx, []DeadLetter{letter}) })
	})
	if !ended {
		l.freePlaces(1)
		return
	}
	if err != nil {
		// Nothing can be kept of it; the log line above is what is left.
		l.Slog.Error("a dead letter cannot be kept", "entity", t.event.String(), "error", err)
	}
	l.counters.Dead.Add(1)
	l.setStatus(ctx, t, StatusFailed, f.Error)
	// Those who follow the topic are told; the store is where it is kept.
	if err := l.Log.Publish(ctx, eventlog.Dead, eventlog.Message{Key: t.event.String(), Value: t.record.Value}); err != nil && ctx.Err() == nil {
		l.Slog.Warn("publish a dead letter", "error", err)
	}
	l.finish(ctx, t)
}

// setStatus shows what is wrong with an entity. It is for people: if the store
// does not take it, the refresh goes on.
func (l *lane) setStatus(ctx context.Context, t *task, code StatusCode, why string) {
	if t.event.Source == "" || t.event.Key == "" {
		return
	}
	status := Status{Entity: t.event.Entity, Code: code, Tries: t.tries, Error: why, At: l.Now()}
	err := l.Store.Do(ctx, func() error {
		return l.Snapshots.SetStatus(ctx, []VersionedStatus{{Status: status, Version: t.event.Version}})
	})
	switch {
	case err == nil && l.Stored != nil:
		// Whoever cached that there is nothing is to see it.
		l.Stored(ctx, []Change{{Entity: t.event.Entity}})
	case err != nil && ctx.Err() == nil:
		l.Slog.Warn("set status", "entity", t.event.String(), "error", err)
	}
}

// finish is done with an event: the log first, then the lock. A lock that stays
// ends by itself.
func (l *lane) finish(ctx context.Context, t *task) {
	defer l.freePlaces(1)
	l.dealt.Add(1)
	if err := l.consumer.Done(ctx, t.record); err != nil && ctx.Err() == nil {
		l.Slog.Warn("done", "entity", t.event.String(), "error", err)
	}
	if t.event.Key == "" {
		return
	}
	if err := l.Coalescer.Release(ctx, t.event.Lock()); err != nil && ctx.Err() == nil {
		l.Slog.Debug("release", "entity", t.event.String(), "error", err)
	}
}
