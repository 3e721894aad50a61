package refresh

import (
	"context"
)

// dropObsolete is done with events that a newer one has overtaken. When the
// versions cannot be read the calls are made: the store refuses what is old.
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
		if versions[i] > t.event.Version && l.overtaken(ctx, t) {
			l.counters.Obsolete.Add(1)
			l.finish(ctx, t)
			continue
		}
		fresh = append(fresh, t)
	}
	return fresh
}

// overtaken reports whether a newer request does what an event asks for: it was
// carried out, or is under way. One that got a version and could not be
// published does neither; the event then goes on under a version of its own.
func (l *lane) overtaken(ctx context.Context, t *task) bool {
	if l.answered(ctx, t) {
		return true
	}
	grants, err := l.Coalescer.Acquire(ctx, Ask{Entity: t.event.Entity, Priority: l.priority})
	if err != nil {
		return false
	}
	if grants[0].Result == AlreadyProcessing {
		return true
	}
	// It may have been carried out just before its lock was free.
	if l.answered(ctx, t) {
		if err := l.Coalescer.Release(ctx, grants[0].Lock); err != nil && ctx.Err() == nil {
			l.Slog.Debug("release", "entity", t.event.String(), "error", err)
		}
		return true
	}
	t.event.Version, t.event.Priority = grants[0].Version, l.priority
	return false
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
