package refresh

import (
	"context"
	"sync"
	"time"

	"sluice/internal/source"
)

// A call may need what another record has, such as the ocid of a name. What is stored
// of it is used while it is as fresh as the upstream's file says; what is not is asked
// for first, by a call of its own that is granted and counted like every other one, and
// is stored as that record's own value: whoever reads it, or needs it next, finds it.

// chain is a consumer that makes calls for what others need.
type chain struct{ *consumer }

// dueCall is the call that is to be made next for a task: for its own key, or for one
// that must be known before.
type dueCall struct {
	key  string
	make func(ctx context.Context, sent func()) Fetched
}

// mostNeeds bounds how deep records can need each other, and how many calls a task
// makes for what it needs.
const mostNeeds = 16

// due finds the next call of a task, as long as the store takes to tell what is known.
// It fails only if ctx ends.
func (c chain) due(ctx context.Context, t *task) (due dueCall, err error) {
	fetcher := c.Fetchers[t.event.Source]
	chained, ok := fetcher.(source.Chained)
	if !ok {
		return dueCall{t.event.Key, func(ctx context.Context, sent func()) Fetched { return fetcher.Fetch(ctx, t.event.Key, sent) }}, nil
	}
	_, err = c.retryUntilStored(ctx, func() (err error) {
		due, err = c.dueOf(ctx, t, chained, t.event.Key, mostNeeds)
		return err
	})
	if ctx.Err() != nil {
		return due, ctx.Err()
	}
	return due, err
}

func (c chain) dueOf(ctx context.Context, t *task, of source.Chained, key string, depth int) (dueCall, error) {
	known := map[string][]byte{}
	for _, need := range of.Needs(key) {
		var found Snapshot
		var there bool
		err := c.Store.Do(ctx, func() (err error) {
			found, there, _, err = c.Snapshots.Snapshot(ctx, Entity{Source: t.event.Source, Key: need.Key})
			return err
		})
		if err != nil {
			return dueCall{}, err
		}
		// A look in the future was written before a clock was set back.
		age := c.Now().Sub(found.CheckedAt)
		if depth > 0 && t.asked < mostNeeds && (!there || age >= need.Within || age < -ClockSkew || found.CheckedAt.Before(t.renewed)) {
			return c.dueOf(ctx, t, of, need.Key, depth-1)
		}
		known[need.Key] = found.Body
	}
	return dueCall{key, func(ctx context.Context, sent func()) Fetched { return of.FetchKnowing(ctx, key, known, sent) }}, nil
}

// needs are the keys that are being asked for because others need them: of several
// tasks of this process that need one, one asks.
type needs struct {
	mu sync.Mutex
	by map[Entity]chan struct{}
}

// begin returns nil to whoever is to ask, who must end it; to others what to wait for.
func (n *needs) begin(e Entity) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if asking := n.by[e]; asking != nil {
		return asking
	}
	if n.by == nil {
		n.by = map[Entity]chan struct{}{}
	}
	n.by[e] = make(chan struct{})
	return nil
}

func (n *needs) end(e Entity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.by[e])
	delete(n.by, e)
}

// askFirst makes a task's call for another record that it needs. If that brings it the
// task goes on with another call; everything else is as if its own had been answered so.
func (c chain) askFirst(ctx, working context.Context, t *task, due dueCall, grantedAt time.Time) {
	need := Entity{Source: t.event.Source, Key: due.key}
	if asking := c.needs.begin(need); asking != nil {
		c.giveBack(working, t.event.Source, 1)
		select {
		case <-asking:
		case <-ctx.Done():
		}
		c.callAgain(ctx, working, t, 0)
		return
	}
	t.asked++
	f, ended := c.fetchNeed(working, t, need, due, grantedAt)
	c.needs.end(need)
	switch {
	case !ended:
		c.leave(t)
	case f.Verdict == FetchDone:
		c.callAgain(ctx, working, t, 0)
	default:
		f.Error = due.key + ", which is needed first: " + f.Error
		c.answered(ctx, working, t, f)
	}
}

// fetchNeed calls for a record and stores it, under the newest version that was given
// out for it: a request for it that waits finds it done.
func (c chain) fetchNeed(ctx context.Context, t *task, need Entity, due dueCall, grantedAt time.Time) (f Fetched, ended bool) {
	grants, err := c.Coalescer.Acquire(ctx, Ask{Entity: need, Priority: c.priority})
	if err != nil {
		c.giveBack(ctx, t.event.Source, 1)
		return Fetched{Verdict: FetchWait, Wait: backendDelays.First, Unasked: true, Code: "LOCKS", Error: err.Error()}, ctx.Err() == nil
	}
	if grants[0].Result != AlreadyProcessing {
		defer func() {
			if err := c.Coalescer.Release(context.WithoutCancel(ctx), grants[0].Lock); err != nil {
				c.Slog.Debug("a lock cannot be released; it expires", "entity", need.String(), "error", err)
			}
		}()
	}
	if f = c.fetch(ctx, t, due, grantedAt); f.Verdict != FetchDone {
		return f, ctx.Err() == nil
	}
	item := &save{refreshed: Refreshed{Entity: need, Version: grants[0].Version, At: c.Now(), Body: f.Body, Hash: f.Hash}}
	if ended, err = c.keep(ctx, item, f); err != nil {
		f = Fetched{Verdict: FetchDead, Code: "REFUSED_BY_STORE", Error: err.Error()}
	}
	return f, ended
}

// keep stores what a call brought, however long the store takes, and counts it.
func (c *consumer) keep(ctx context.Context, item *save, f Fetched) (ended bool, err error) {
	c.counters.Received.Add(int64(f.Received))
	c.counters.Kept.Add(int64(len(f.Body)))
	if ended, err = c.retryUntilStored(ctx, func() error { return c.store(ctx, item) }); !ended || err != nil {
		return ended, err
	}
	switch item.saved {
	case Stored:
		c.counters.Stored.Add(1)
	case Touched:
		c.counters.Touched.Add(1)
	default:
		c.counters.Obsolete.Add(1)
	}
	return true, nil
}
