package refresh

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/backoff"
)

// The parts that a breaker protects.
const (
	breakerRedis    = "redis"
	breakerStore    = "store"
	breakerUpstream = "upstream"
)

// slowStore is how long the store may take before that counts as a failure. The
// upstream's calls end by themselves, and a log that is slow is not in the way.
const slowStore = 2 * time.Second

// breakerOf names the breaker of an upstream. Where there is but one its name says
// nothing.
func breakerOf(source string, upstreams int) string {
	if upstreams <= 1 {
		return breakerUpstream
	}
	return breakerUpstream + " " + source
}

// newBreakers returns a breaker for each part.
func newBreakers(log *slog.Logger, opened func(part string), upstreams ...string) map[string]*backoff.Breaker {
	breakers := map[string]*backoff.Breaker{}
	for _, name := range append([]string{breakerRedis, breakerStore}, upstreams...) {
		options := backoff.BreakerOptions{OnChange: func(name string, to backoff.BreakerState) {
			log.Warn("a breaker changed its state", "part", name, "state", to)
			if to == backoff.BreakerOpen && opened != nil {
				opened(name)
			}
		}}
		if name == breakerStore {
			options.Slow = slowStore
		}
		breakers[name] = backoff.NewBreaker(name, options)
	}
	return breakers
}

// breakerWrites refuses new requests at once while what carries them is down.
type breakerWrites struct {
	coalescer Coalescer
	log       Publisher
	breaker   *backoff.Breaker
}

// Acquire implements Coalescer.
func (w *breakerWrites) Acquire(ctx context.Context, asks ...Ask) (grants []Grant, err error) {
	err = w.breaker.Do(ctx, func() error {
		grants, err = w.coalescer.Acquire(ctx, asks...)
		return err
	})
	return grants, err
}

// Release implements Coalescer. Giving a lock back is worth trying always.
func (w *breakerWrites) Release(ctx context.Context, locks ...Lock) error {
	return w.coalescer.Release(ctx, locks...)
}

// Versions implements Coalescer.
func (w *breakerWrites) Versions(ctx context.Context, entities ...Entity) ([]int64, error) {
	return w.coalescer.Versions(ctx, entities...)
}

// Raise implements Coalescer.
func (w *breakerWrites) Raise(version int64) { w.coalescer.Raise(version) }

// Publish implements Publisher.
func (w *breakerWrites) Publish(ctx context.Context, topic Topic, messages ...Message) error {
	return w.breaker.Do(ctx, func() error { return w.log.Publish(ctx, topic, messages...) })
}
