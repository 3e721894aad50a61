package refresh

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

// WakerOptions are what a Waker works with.
type WakerOptions struct {
	Requests Requests
	Marks    Marks
	Log      EventLog
	// Alone is set if no other process uses the store: then nothing has to be
	// looked for that this one does not know of.
	Alone bool
	Now   func() time.Time
	Slog  *slog.Logger
}

// Waker brings requests back: those that were put off when their instant has
// come, and those that were accepted when the log has lost them. It sleeps until
// the earliest instant, or until it is told of an earlier one.
type Waker struct {
	WakerOptions
	stir chan struct{}
	// waiting is how many wait for an instant, as it was last counted.
	waiting atomic.Int64

	// carried is the epoch of each topic whose requests are known to be in it: the
	// store is asked only when the log has another one.
	carried map[Topic]string
	// said is what was last written about how many wait, and when.
	said   int64
	saidAt time.Time
}

const (
	// wakeLease is how long publishing what has come back may take.
	wakeLease = 30 * time.Second
	wakeBatch = 500
	// gatherTime lets requests that are put off together be counted together. It
	// is shorter than any is put off for.
	gatherTime = 200 * time.Millisecond
	// sayEvery is how often it is said that requests wait.
	sayEvery = time.Minute
)

// NewWaker returns a waker that does not run yet.
func NewWaker(o WakerOptions) *Waker {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Slog = cmp.Or(o.Slog, slog.New(slog.DiscardHandler))
	return &Waker{WakerOptions: o, stir: make(chan struct{}, 1), carried: map[Topic]string{}}
}

// Waiting is how many requests wait for an instant, as it was last counted.
func (k *Waker) Waiting() int64 { return k.waiting.Load() }

// Parked tells the waker that a request was put off.
func (k *Waker) Parked() {
	select {
	case k.stir <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (k *Waker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := k.runOnce(ctx)
		if err != nil && ctx.Err() == nil {
			k.Slog.Warn("requests that wait cannot be brought back yet", "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-k.stir:
			backoff.Sleep(ctx, gatherTime)
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// farAway is how long a waker sleeps that knows of everything.
const farAway = 24 * time.Hour

// runOnce brings back what is due and returns how long there is nothing to do.
func (k *Waker) runOnce(ctx context.Context) (time.Duration, error) {
	longest := MaxTakeWait
	if k.Alone && k.Log.Lasting() {
		longest = farAway
	}
	if err := k.carryOver(ctx); err != nil {
		return min(longest, MaxTakeWait), err
	}
	next, err := k.wake(ctx)
	if err != nil {
		return MaxTakeWait, err
	}
	if next.IsZero() {
		return longest, nil
	}
	return min(max(next.Sub(k.Now()), time.Millisecond), longest), nil
}

// wake publishes what is due and returns when the next is.
func (k *Waker) wake(ctx context.Context) (time.Time, error) {
	for {
		due, next, err := k.Requests.Wake(ctx, k.Now(), wakeLease, wakeBatch)
		if err != nil {
			return next, err
		}
		if len(due) > 0 {
			err = k.publish(ctx, due)
		}
		if err == nil && len(due) > 0 {
			err = k.Requests.Woken(ctx, due)
		}
		if err != nil || len(due) < wakeBatch {
			return next, k.count(ctx, next, err)
		}
	}
}

// count says how many wait, if any do.
func (k *Waker) count(ctx context.Context, next time.Time, err error) error {
	n := int64(0)
	if err == nil && !next.IsZero() {
		n, err = k.Requests.Waiting(ctx)
	}
	if err != nil {
		return err
	}
	k.waiting.Store(n)
	now := k.Now()
	if n != k.said && now.Sub(k.saidAt) >= sayEvery {
		k.said, k.saidAt = n, now
		k.Slog.Info("requests wait for the upstream", "waits_for_upstream", n, "next", next)
	}
	return nil
}

func (k *Waker) publish(ctx context.Context, requests []Pending) error {
	events := make([]Event, len(requests))
	for i := range requests {
		events[i] = requests[i].Event
	}
	return publishEvents(ctx, k.Log, events)
}

// carryOver publishes what was accepted once more when the log has lost what it
// had, or is another one. What it has after all is found to be done.
func (k *Waker) carryOver(ctx context.Context) error {
	if k.Log.Lasting() {
		return nil
	}
	for _, p := range []domain.Priority{domain.PriorityHigh, domain.PriorityLow} {
		topic := topicOf(p)
		epoch, err := k.Log.Epoch(ctx, topic)
		if err != nil {
			return err
		}
		if carried, ok := k.carried[topic]; ok && carried == epoch {
			continue
		}
		known, err := k.Marks.LogEpoch(ctx, string(topic))
		if err != nil {
			return err
		}
		if known == epoch {
			k.carried[topic] = epoch
			continue
		}
		n, err := k.republish(ctx, p)
		if err != nil {
			return err
		}
		if n > 0 || known != "" {
			k.Slog.Warn("the log has lost what it had, or is another one: accepted refreshes are published again", "topic", topic, "requests", n)
		}
		if err := k.Marks.SetLogEpoch(ctx, string(topic), epoch); err != nil {
			return err
		}
		k.carried[topic] = epoch
	}
	return nil
}

func (k *Waker) republish(ctx context.Context, p domain.Priority) (total int, err error) {
	for cursor := ""; ; {
		requests, last, err := k.Requests.Unfinished(ctx, p, cursor, wakeBatch)
		if err != nil || len(requests) == 0 {
			return total, err
		}
		if err := k.publish(ctx, requests); err != nil {
			return total, err
		}
		total, cursor = total+len(requests), last
	}
}
