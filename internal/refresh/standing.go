package refresh

import (
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

// dropObsolete is done with events that ask for nothing any more, and returns the
// others, each with the version that it is to be called under. One read of the
// store tells what was refreshed, given up or put off already, also by a process
// that ended before it could say so to the log; what cannot be read is called
// for, and the store refuses what is old.
//
// The event that comes first calls for all that was asked of the entity so far:
// nobody waits for a later one behind it, and the later one finds it done.
//
// A LOW event that a HIGH one has superseded lets that one go first: where they
// are taken by two processes, both would call.
func (c *consumer) dropObsolete(ctx, working context.Context, tasks []*task) []*task {
	if len(tasks) == 0 {
		return nil
	}
	entities := make([]Entity, len(tasks))
	for i, t := range tasks {
		entities[i] = t.event.Entity
	}
	if versions, err := c.Coalescer.Versions(working, entities...); err == nil {
		for i, t := range tasks {
			t.version = max(t.version, versions[i])
		}
	}
	standings, err := c.standings(working, entities)
	if err != nil {
		return tasks
	}
	var done, superseded []*task
	var settled []Lock
	todo := make([]*task, 0, len(tasks))
	now := c.Now()
	for i, t := range tasks {
		s := standings[i]
		switch {
		case s.dealtWith(t.event):
			if s.Request > 0 && s.Request <= max(s.Seen, s.Failed) {
				settled = append(settled, Lock{Entity: t.event.Entity, Version: s.Request})
			}
			done = append(done, t)
		case s.putOff(t.event, now):
			done = append(done, t)
		case s.superseded(t.event) && now.Sub(t.began) < newerTimeout:
			superseded = append(superseded, t)
		default:
			todo = append(todo, t)
		}
	}
	c.ackObsolete(working, done, settled)
	c.awaitNewer(ctx, working, superseded)
	return c.mergeByEntity(todo)
}

const (
	// newerTimeout is how long an event that was superseded waits for the other, whose
	// process may have ended before it was published. By then its lock has ended
	// as well.
	newerTimeout = 30 * time.Second
	// newerPoll is after how long it is looked whether the other is done.
	newerPoll = 500 * time.Millisecond
)

// awaitNewer lets events wait in their places for those that have superseded them.
// A call that is under way in this process is followed at once.
func (c *consumer) awaitNewer(ctx, working context.Context, tasks []*task) {
	waiting := tasks[:0]
	for _, t := range tasks {
		if c.calls.follow(t) {
			c.freePlaces(1)
			continue
		}
		waiting = append(waiting, t)
	}
	if len(waiting) == 0 {
		return
	}
	c.work.Go(func() {
		backoff.Sleep(ctx, newerPoll)
		if ctx.Err() != nil {
			c.leave(waiting...)
			return
		}
		if todo := c.dropObsolete(ctx, working, waiting); len(todo) > 0 {
			c.call(ctx, working, todo)
		}
	})
}

// mergeByEntity lets tasks of one entity be served by the first of them.
func (c *consumer) mergeByEntity(tasks []*task) []*task {
	first := make(map[Entity]*task, len(tasks))
	todo := tasks[:0]
	for _, t := range tasks {
		if c.calls.follow(t) {
			c.freePlaces(1)
			continue
		}
		if other := first[t.event.Entity]; other != nil {
			other.version = max(other.version, t.version)
			other.followers = append(other.followers, t)
			c.freePlaces(1)
			continue
		}
		first[t.event.Entity] = t
		todo = append(todo, t)
	}
	return todo
}

// ackObsolete is done with events that need no call.
func (c *consumer) ackObsolete(ctx context.Context, done []*task, settled []Lock) {
	if len(done) == 0 {
		return
	}
	c.work.Go(func() {
		if len(settled) > 0 {
			if err := c.Store.Do(ctx, func() error { return c.Requests.Settle(ctx, settled) }); err != nil && ctx.Err() == nil {
				// They end when they are published again.
				c.Slog.Warn("the store does not end requests that are done; they are published again", "requests", len(settled), "error", err)
			}
		}
		for _, t := range done {
			c.counters.Obsolete.Add(1)
			c.ackEvent(ctx, t)
		}
	})
}

func (c *consumer) standings(ctx context.Context, entities []Entity) (standings []Standing, err error) {
	err = c.Store.Do(ctx, func() error {
		standings, err = c.Requests.Standings(ctx, entities)
		return err
	})
	return standings, err
}

// keyChecker is an upstream that knows the one spelling of a key.
type keyChecker interface {
	CheckKey(key string) (string, error)
}

// complete gives an event a source, a key and a version that names a character
// in the words of other programs: it gets what a request would have got.
func (c *consumer) complete(ctx context.Context, t *task) error {
	if t.event.Source != "" {
		return nil
	}
	if len(c.Fetchers) != 1 {
		return domain.Errorf(domain.CodeInvalid, "an event does not name its source, and there are %d", len(c.Fetchers))
	}
	for name, fetcher := range c.Fetchers {
		t.event.Source = name
		if checker, ok := fetcher.(keyChecker); ok {
			key, err := checker.CheckKey(t.event.Key)
			if err != nil {
				return err
			}
			t.event.Key = key
		}
	}
	t.event.Priority = c.priority
	for delays := backendDelays.Series(); ; {
		grants, err := c.Coalescer.Acquire(ctx, Ask{Entity: t.event.Entity, Priority: c.priority})
		if err == nil {
			// One that is under way is served as well.
			t.event.Version, t.version = grants[0].Version, grants[0].Version
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		c.Slog.Warn("refreshes wait for their locks", "entity", t.event.String(), "error", err)
		backoff.Sleep(ctx, delays.Next())
	}
}
