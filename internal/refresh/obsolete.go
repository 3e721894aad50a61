package refresh

import (
	"context"
	"time"
)

// dropObsolete sets events aside that a newer one has overtaken, and returns the
// others. When the versions cannot be read the calls are made: the store refuses
// what is old.
func (l *lane) dropObsolete(ctx context.Context, tasks []*task) []*task {
	if len(tasks) == 0 {
		return nil
	}
	entities := make([]Entity, len(tasks))
	for i, t := range tasks {
		entities[i] = t.event.Entity
	}
	versions, err := l.Coalescer.Versions(ctx, entities...)
	if err != nil {
		return tasks
	}
	fresh := tasks[:0]
	for i, t := range tasks {
		if versions[i] > t.event.Version {
			l.work.Go(func() { l.outlive(ctx, t) })
			continue
		}
		fresh = append(fresh, t)
	}
	return fresh
}

const (
	// firstLook and lastLook are how long an event waits before it is looked again
	// what became of the one that overtook it.
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// outlive waits until a newer request has done what an event asks for, and is
// done with the event then. The newer one may never do so: its publishing may
// have failed, or its worker have died. Its lock ends by itself, and the event
// goes on under a version of its own.
func (l *lane) outlive(ctx context.Context, t *task) {
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		switch l.overtaken(ctx, t) {
		case overtakenDone:
			l.counters.Obsolete.Add(1)
			l.finish(ctx, t)
			return
		case overtakenFree:
			l.call(ctx, []*task{t})
			return
		case overtakenYet:
			pause(ctx, wait)
		}
		if ctx.Err() != nil {
			l.freePlaces(1) // it is taken again
			return
		}
	}
}

// overtake is how an event stands that a newer request has overtaken.
type overtake uint8

const (
	// overtakenDone: the upstream was asked since.
	overtakenDone overtake = iota
	// overtakenYet: the newer request holds the lock.
	overtakenYet
	// overtakenFree: nobody is about to ask, and the event may.
	overtakenFree
)

func (l *lane) overtaken(ctx context.Context, t *task) overtake {
	if l.answered(ctx, t) {
		return overtakenDone
	}
	grants, err := l.Coalescer.Acquire(ctx, Ask{Entity: t.event.Entity, Priority: l.priority})
	if err != nil {
		// The call is made: the store refuses what is old.
		return overtakenFree
	}
	if grants[0].Result == AlreadyProcessing {
		return overtakenYet
	}
	// It may have been carried out just before its lock was free.
	if l.answered(ctx, t) {
		if err := l.Coalescer.Release(ctx, grants[0].Lock); err != nil && ctx.Err() == nil {
			l.Slog.Debug("release", "entity", t.event.String(), "error", err)
		}
		return overtakenDone
	}
	t.event.Version, t.event.Priority = grants[0].Version, l.priority
	return overtakenFree
}

// answered reports whether the upstream was asked after the event was published.
func (l *lane) answered(ctx context.Context, t *task) bool {
	snapshot, found, status, err := l.Snapshots.Snapshot(ctx, t.event.Entity)
	if err != nil {
		return false
	}
	return found && snapshot.CheckedAt.After(t.event.RequestedAt) ||
		status != nil && status.Code == StatusFailed && status.At.After(t.event.RequestedAt)
}

// hold lets the lane take nothing new until as many letGo have followed.
func (l *lane) hold() {
	l.holdMu.Lock()
	defer l.holdMu.Unlock()
	if l.holds++; l.holds == 1 {
		l.consumer.Pause()
	}
}

func (l *lane) letGo() {
	l.holdMu.Lock()
	defer l.holdMu.Unlock()
	if l.holds--; l.holds == 0 {
		l.consumer.Resume()
	}
}
