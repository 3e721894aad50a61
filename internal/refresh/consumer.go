package refresh

import (
	"context"
	"sync"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// consumer is one priority's flow through the worker.
type consumer struct {
	*Worker
	topic          Topic
	group          string
	priority       domain.Priority
	size, inFlight int

	subscription LogConsumer
	// places bounds the events under way.
	places chan struct{}
	work   sync.WaitGroup
	// holds is how many reasons there are to take nothing new.
	holdMu sync.Mutex
	holds  int
}

// serve joins its group and deals with what comes, again and again. It
// takes while ctx lasts; what it has begun goes on while working does.
func (c *consumer) serve(ctx, working context.Context) {
	delays := backendDelays.Series()
	for ctx.Err() == nil {
		subscription, err := c.Log.Join(ctx, c.group, c.topic)
		if err == nil {
			delays.Reset()
			c.subscription, c.places = subscription, make(chan struct{}, c.inFlight)
			err = c.run(ctx, working)
			c.close(working)
		}
		if err != nil && ctx.Err() == nil {
			c.Slog.Warn("refreshes wait for their log", "topic", c.topic, "error", err)
		}
		backoff.Sleep(ctx, delays.Next())
	}
}

// closeTime is how long leaving the group may take.
const closeTime = 5 * time.Second

func (c *consumer) close(ctx context.Context) {
	c.work.Wait()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := c.subscription.Close(limited); err != nil {
		c.Slog.Warn("the consumer does not leave its group", "priority", c.priority, "error", err)
	}
}

// run takes records and has them dealt with. It returns when the log fails.
func (c *consumer) run(ctx, working context.Context) error {
	for ctx.Err() == nil {
		// No more is taken than there are places: the rest is others'.
		n := c.reservePlaces(ctx)
		if n == 0 {
			return nil
		}
		records, err := c.subscription.Take(ctx, n)
		c.freePlaces(n - len(records))
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		c.counters.Taken.Add(int64(len(records)))
		c.handleRecords(ctx, working, records)
		c.throttleLow(ctx)
	}
	return nil
}

const (
	// highLags is how many HIGH events may wait before LOW stands back.
	highLags  = 500
	standBack = 500 * time.Millisecond
)

// throttleLow keeps LOW back while HIGH lags. It stays a member of its group.
func (c *consumer) throttleLow(ctx context.Context) {
	if c.Lags == nil {
		return
	}
	if c.priority != domain.PriorityLow || c.Lags.Lag(domain.PriorityHigh).Records <= highLags {
		return
	}
	c.pauseConsumer()
	defer c.resumeConsumer()
	for ctx.Err() == nil && c.Lags.Lag(domain.PriorityHigh).Records > highLags {
		backoff.Sleep(ctx, standBack)
	}
}

// reservePlaces waits for a place and takes as many as a batch needs.
func (c *consumer) reservePlaces(ctx context.Context) int {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	n := 1
	for n < c.size {
		select {
		case c.places <- struct{}{}:
			n++
		default:
			return n
		}
	}
	return n
}

func (c *consumer) freePlaces(n int) {
	for range n {
		<-c.places
	}
}

// pauseConsumer lets the consumer take nothing new until as many resumeConsumer have followed.
func (c *consumer) pauseConsumer() {
	c.holdMu.Lock()
	defer c.holdMu.Unlock()
	if c.holds++; c.holds == 1 {
		c.subscription.Pause()
	}
}

func (c *consumer) resumeConsumer() {
	c.holdMu.Lock()
	defer c.holdMu.Unlock()
	if c.holds--; c.holds == 0 {
		c.subscription.Resume()
	}
}

// longReserve is how long tasks may wait for the rate before it is looked up once
// more what is known of their entities, and asked of them.
const longReserve = 250 * time.Millisecond

// call makes the calls as the rate allows, each in a goroutine of its own.
func (c *consumer) call(ctx, working context.Context, tasks []*task) {
	bySource, sorted := map[string][]*task{}, c.Now()
	for _, t := range tasks {
		bySource[t.event.Source] = append(bySource[t.event.Source], t)
	}
	for source, todo := range bySource {
		for len(todo) > 0 {
			for ctx.Err() == nil && c.Upstream.Until() > 0 {
				backoff.Sleep(ctx, c.Upstream.Until())
			}
			grant := c.reserve(ctx, source, len(todo))
			if grant.Calls == 0 {
				// The worker stops; they are taken again.
				c.leave(todo...)
				break
			}
			if c.Now().Sub(sorted) > longReserve {
				todo, sorted = c.dropObsolete(ctx, working, todo), c.Now()
				c.giveBack(working, source, max(grant.Calls-len(todo), 0))
				grant.Calls = min(grant.Calls, len(todo))
			}
			for _, t := range todo[:grant.Calls] {
				c.work.Go(func() { c.attempt(ctx, working, t, grant.at) })
			}
			todo = todo[grant.Calls:]
			if len(todo) > 0 {
				// Asking sooner would be another place in the line, and this one
				// would go to waste.
				backoff.Sleep(ctx, grant.RetryAt.Sub(c.Now()))
			}
		}
	}
}

// reserve waits until at least one call is granted; none only if ctx ends.
func (c *consumer) reserve(ctx context.Context, source string, n int) granted {
	for delays := backendDelays.Series(); ctx.Err() == nil; {
		asked := c.Now()
		grant, err := c.Rate.Reserve(ctx, source, c.priority, n)
		if err != nil {
			// Nobody knows how much is left: nothing is called.
			c.Slog.Warn("refreshes wait for their rate", "source", source, "error", err)
			backoff.Sleep(ctx, delays.Next())
			continue
		}
		if grant.Calls > 0 {
			return granted{grant, asked}
		}
		c.counters.Waited.Add(1)
		backoff.Sleep(ctx, max(grant.RetryAt.Sub(c.Now()), time.Millisecond))
	}
	return granted{}
}

// granted is a grant and when it was given, or a little earlier.
type granted struct {
	rate.Grant
	at time.Time
}

func (c *consumer) giveBack(ctx context.Context, source string, n int) {
	if n == 0 {
		return
	}
	if err := c.Rate.Refund(ctx, source, c.priority, n); err != nil {
		c.Slog.Warn("the rate does not take calls back", "source", source, "error", err)
	}
}
