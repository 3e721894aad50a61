package refresh

import (
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/logs"
)

// task is one event under way.
type task struct {
	*consumer
	event        Event
	record       LogRecord
	subscription LogConsumer
	// version is what the call is made under: the event's, or that of the newest
	// request for the entity, which the same call serves.
	version int64
	tries   int
	// waits is how often it waited for the upstream in its place.
	waits int
	// renewed is when what its call needs of other records turned out to be no longer
	// so: what was looked at before is asked for anew.
	renewed time.Time
	// asked is how many calls it made for what it needs.
	asked int
	// began is when it was taken, called when the call began.
	began, called time.Time
	// followers end with the task; they hold no place.
	followers []*task
}

// handleRecords sorts records: what cannot be read is given up, what is done or put off is
// done with, the rest is called for.
func (c *consumer) handleRecords(ctx, working context.Context, records []LogRecord) {
	tasks := make([]*task, 0, len(records))
	for _, r := range records {
		event, err := DecodeEvent(r.Value)
		t := &task{consumer: c, event: event, record: r, subscription: c.subscription, version: event.Version, began: c.Now()}
		if err == nil {
			err = c.complete(working, t)
		}
		if err != nil {
			c.work.Go(func() { c.giveUp(working, t, Fetched{Code: "UNREADABLE_EVENT", Error: err.Error()}) })
			continue
		}
		if _, known := c.Fetchers[t.event.Source]; !known {
			c.work.Go(func() {
				c.giveUp(working, t, Fetched{Code: "UNKNOWN_SOURCE", Error: "there is no source " + t.event.Source})
			})
			continue
		}
		tasks = append(tasks, t)
	}
	if tasks = c.dropObsolete(ctx, working, tasks); len(tasks) > 0 {
		c.call(ctx, working, tasks)
	}
}

// staleGrant is how old a grant may be when its call is about to be made. A
// process that stood still meanwhile would add its calls to those of a second that
// they were not granted for. It asks once more then, and once only: a keeper may
// take as long to answer.
const staleGrant = 200 * time.Millisecond

// attempt makes one call that was granted and deals with its answer.
func (c *consumer) attempt(ctx, working context.Context, t *task, grantedAt time.Time) {
	if c.Now().Sub(grantedAt) > staleGrant {
		grant := c.reserve(ctx, t.event.Source, 1)
		if grant.Calls == 0 {
			c.unserved(ctx, working, grant, t)
			return
		}
		grantedAt = grant.at
	}
	switch {
	case ctx.Err() != nil, t.tries+t.waits == 0 && t.record.Gone():
		// Nothing is begun any more, or it is another's to do.
		c.giveBack(working, t.event.Source, 1)
		c.leave(t)
		return
	case c.calls.begin(t):
		c.giveBack(working, t.event.Source, 1)
		c.freePlaces(1)
		return
	}
	t.called = c.Now()
	due, err := chain{c}.due(working, t)
	switch {
	case err != nil:
		c.giveBack(working, t.event.Source, 1)
		c.leave(t)
	case due.key != t.event.Key:
		chain{c}.askFirst(ctx, working, t, due, grantedAt)
	default:
		c.answered(ctx, working, t, c.fetch(working, t, due, grantedAt))
	}
}

// answered deals with an answer to a call that a task has made.
func (c *consumer) answered(ctx, working context.Context, t *task, f Fetched) {
	if f.Everywhere {
		if f.Verdict == FetchDead {
			// It is not about this entity: a person must look at the credential.
			f.Verdict, f.Wait = FetchWait, refusedPause
		}
		c.backOff(working, t, f)
	}
	c.judge(ctx, working, t, f)
}

func (c *consumer) fetch(ctx context.Context, t *task, due dueCall, grantedAt time.Time) (f Fetched) {
	upstream := c.Upstreams[t.event.Source]
	ctx, span := c.Tracer.StartCall(ctx, "refresh", nil)
	defer func() {
		span.Text("source", t.event.Source).Text("key", due.key).Text("priority", t.event.Priority.String()).
			Text(logs.CorrelationAttribute, t.event.CorrelationID).Failed(f.Error).End()
	}()
	err := upstream.Do(ctx, func() error {
		c.counters.Calls.Add(1)
		f = due.make(ctx, func() { c.sent(ctx, t.event.Source, grantedAt) })
		// What is no longer so is no failure of the upstream's.
		if f.Verdict == FetchRetry && !f.Renew {
			return domain.Errorf(domain.CodeUnavailable, "%s", f.Error)
		}
		return nil
	})
	if err != nil && f.Verdict == 0 {
		// The breaker is open: the call was not made.
		f = Fetched{Verdict: FetchWait, Wait: max(upstream.Until(), time.Second), Everywhere: true, Unasked: true, Error: err.Error(), Free: true}
	}
	if f.Free {
		c.giveBack(ctx, t.event.Source, 1)
	}
	return f
}

// refusedPause is how long an upstream is left alone that refuses everything.
const refusedPause = time.Minute

// backOff lets nobody call the upstream for a while.
func (c *consumer) backOff(ctx context.Context, t *task, f Fetched) {
	if f.Unasked {
		return
	}
	c.Slog.Warn("the upstream asked to back off", "source", t.event.Source, "for", f.Wait, "error", f.Error)
	if err := c.Rate.Pause(ctx, t.event.Source, c.Now().Add(f.Wait)); err != nil && ctx.Err() == nil {
		c.Slog.Warn("the rate does not pause an upstream that asked to back off", "source", t.event.Source, "error", err)
	}
}

func (c *consumer) judge(ctx, working context.Context, t *task, f Fetched) {
	switch {
	case working.Err() != nil:
		c.leave(t) // it is taken again
	case f.Verdict == FetchDone:
		c.save(working, t, f)
	case f.Verdict == FetchWait:
		c.putOff(ctx, working, t, f)
	case f.Verdict == FetchRetry && t.tries+1 < c.Tries && (!f.Renew || t.renewed.IsZero()):
		t.tries++
		if f.Renew {
			t.renewed = c.Now()
		}
		c.counters.Retried.Add(1)
		delay := backoff.Delays{First: c.Backoff, Spread: backoff.Upper}.Delay(t.tries - 1)
		c.setStatus(working, t, StatusRetrying, f, c.Now().Add(delay))
		c.callAgain(ctx, working, t, delay)
	default:
		t.tries++
		c.giveUp(working, t, f)
	}
}

// callAgain calls once more after a short while.
func (c *consumer) callAgain(ctx, working context.Context, t *task, d time.Duration) {
	backoff.Sleep(ctx, d)
	grant := c.reserve(ctx, t.event.Source, 1)
	if grant.Calls == 0 {
		c.unserved(ctx, working, grant, t)
		return
	}
	c.attempt(ctx, working, t, grant.at)
}

// leave gives tasks up that are not done: they are taken again.
func (c *consumer) leave(tasks ...*task) {
	for _, t := range tasks {
		c.calls.end(t)
		c.freePlaces(1)
	}
}
