package refresh

import (
	"context"
	"time"

	"sluice/internal/backoff"
)

const (
	// shortWait is how long an event may wait in its place, and shortWaits how
	// often: longer waits are instants at which it comes back.
	shortWait  = 2 * time.Second
	shortWaits = 3
	// longestWait bounds the growing waits for one entity, and longestPark how
	// long a request is put off in all before it is given up.
	longestWait = time.Hour
	longestPark = 24 * time.Hour
)

// park is a request on its way to where it waits, with what is shown of it.
type park struct {
	request Pending
	status  VersionedStatus
	// err is what is wrong with this one alone.
	err error
}

// applyParks puts many requests off in one transaction.
func (w *Worker) applyParks(ctx context.Context, items []*park) error {
	requests, statuses := make([]Pending, len(items)), make([]VersionedStatus, len(items))
	for i, item := range items {
		requests[i], statuses[i] = item.request, item.status
	}
	err := w.Store.Do(ctx, func() error { return w.Requests.Park(ctx, requests) })
	switch {
	case err == nil:
		w.showStatus(ctx, statuses...)
	case storeFails(err):
		return err
	default:
		// One of them is at fault, and must not take the others along.
		for i, item := range items {
			if item.err = w.Store.Do(ctx, func() error { return w.Requests.Park(ctx, requests[i:i+1]) }); item.err == nil {
				w.showStatus(ctx, statuses[i])
			}
		}
	}
	return nil
}

// putOff lets an event come back when the upstream wants to be asked again. It
// is done with the log at once, and holds no place while it waits.
func (c *consumer) putOff(ctx, working context.Context, t *task, f Fetched) {
	wait := f.Wait
	if wait <= shortWait && t.waits < shortWaits {
		t.waits++
		c.callAgain(ctx, working, t, wait)
		return
	}
	if !f.Everywhere {
		// The longer it takes, the more seldom it is asked.
		delays := backoff.Delays{First: max(wait, shortWait), Longest: max(longestWait, wait)}
		wait = delays.Delay(min(t.event.Waits, 10))
		if c.Now().Sub(t.event.RequestedAt) > longestPark {
			f.Error = "postponed for more than " + longestPark.String() + ": " + f.Error
			c.giveUp(working, t, f)
			return
		}
	}
	event := t.event
	event.Version = t.version
	event.Waits++
	at := c.Now().Add(wait)
	item := &park{
		request: Pending{Event: event, Code: f.Code, Error: f.Error, NotBefore: at},
		status:  t.status(StatusRetrying, f, at),
	}
	ended, err := c.retryUntilStored(working, func() error {
		if err := c.parks.Do(working, item); err != nil {
			return err
		}
		return item.err
	})
	if !ended {
		c.leave(t)
		return
	}
	if err != nil {
		c.giveUp(working, t, Fetched{Code: "REFUSED_BY_STORE", Error: err.Error()})
		return
	}
	c.counters.Parked.Add(1)
	if c.Parked != nil {
		c.Parked()
	}
	c.ackEvent(working, t)
}
