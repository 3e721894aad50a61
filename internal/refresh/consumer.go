package refresh

import (
	"context"
	"math"
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

// call makes the calls as the rates allow. Of several sources none waits for another.
func (c *consumer) call(ctx, working context.Context, tasks []*task) {
	bySource := map[string][]*task{}
	for _, t := range tasks {
		bySource[t.event.Source] = append(bySource[t.event.Source], t)
	}
	for source, todo := range bySource {
		if len(c.Fetchers) > 1 {
			c.work.Go(func() { c.callSource(ctx, working, source, todo) })
			continue
		}
		c.callSource(ctx, working, source, todo)
	}
}

// callSource makes the calls for one source, each in a goroutine of its own.
func (c *consumer) callSource(ctx, working context.Context, source string, todo []*task) {
	for sorted := c.Now(); len(todo) > 0; {
		grant := c.reserve(ctx, source, len(todo))
		if grant.Calls == 0 {
			c.unserved(ctx, working, grant, todo...)
			return
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
			backoff.Sleep(ctx, min(grant.RetryAt.Sub(c.Now()), c.patience()))
		}
	}
}

// patience is how long a source may let its events wait in their places. Those of one
// that must be left alone for longer are put off where there are others, which would
// find no place behind them.
func (c *consumer) patience() time.Duration {
	if len(c.Fetchers) > 1 {
		return shortWait
	}
	return math.MaxInt64
}

// unserved deals with tasks for which there is no call: those of a source that is to be
// left alone for long are put off; if the worker stops they are taken again.
func (c *consumer) unserved(ctx, working context.Context, grant granted, tasks ...*task) {
	if grant.RetryAt.IsZero() || ctx.Err() != nil {
		c.leave(tasks...)
		return
	}
	why := Fetched{Verdict: FetchWait, Everywhere: true, Unasked: true, Code: "WAITS", Error: "the upstream is to be left alone"}
	if grant.Reason == rate.ReasonDaily {
		why.Error = "the day's calls are spent"
	}
	for _, t := range tasks {
		c.work.Go(func() {
			own := why
			own.Wait = max(grant.RetryAt.Sub(c.Now()), shortWait+1)
			c.putOff(ctx, working, t, own)
		})
	}
}

// reserve waits until at least one call is granted; none only if ctx ends, or if that
// would take longer than there is patience.
func (c *consumer) reserve(ctx context.Context, source string, n int) granted {
	for delays := backendDelays.Series(); ctx.Err() == nil; {
		asked := c.Now()
		if closed := c.Upstreams[source].Until(); closed > c.patience() {
			return granted{rate.Grant{RetryAt: asked.Add(closed)}, asked}
		} else if closed > 0 {
			backoff.Sleep(ctx, closed)
			continue
		}
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
		if grant.RetryAt.Sub(c.Now()) > c.patience() {
			return granted{grant, asked}
		}
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
