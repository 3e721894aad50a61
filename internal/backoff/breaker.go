package backoff

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"sluice/internal/domain"
)

// The figures: half of the last ten calls open it for thirty seconds, five
// calls in a row that succeed close it.
const (
	observed  = 10
	failures  = 5
	openTime  = 30 * time.Second
	successes = 5
)

// Breaker keeps callers away from a part that fails: after enough failures it is
// left alone for a while, then tried with a few calls.
type Breaker struct {
	name    string
	circuit circuitbreaker.CircuitBreaker[any]
	slow    time.Duration
}

// BreakerOptions say what a breaker looks at, and whom it tells.
type BreakerOptions struct {
	// Slow is how long the part may take. A call that takes longer counts as one
	// that failed, and once more each time as much has passed again: a part
	// that hangs must not have to be called ten times before it is left alone.
	// Zero is any time.
	Slow time.Duration
	// OnChange, if set, is told of every change.
	OnChange func(name string, s BreakerState)
}

// NewBreaker returns a closed breaker.
func NewBreaker(name string, o BreakerOptions) *Breaker {
	b := &Breaker{name: name, slow: o.Slow}
	builder := circuitbreaker.NewBuilder[any]().
		WithFailureThresholdRatio(failures, observed).WithDelay(openTime).WithSuccessThreshold(successes)
	if o.OnChange != nil {
		builder = builder.OnStateChanged(func(e circuitbreaker.StateChangedEvent) { o.OnChange(name, stateOf(e.NewState)) })
	}
	b.circuit = builder.Build()
	return b
}

// BreakerState is how a breaker stands.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerHalfOpen BreakerState = "half-open"
	BreakerOpen     BreakerState = "open"
)

func stateOf(s circuitbreaker.State) BreakerState {
	switch s {
	case circuitbreaker.OpenState:
		return BreakerOpen
	case circuitbreaker.HalfOpenState:
		return BreakerHalfOpen
	}
	return BreakerClosed
}

// Name is the guarded part's.
func (b *Breaker) Name() string { return b.name }

// State tells how the breaker stands.
func (b *Breaker) State() BreakerState { return stateOf(b.circuit.State()) }

// Until is how long nothing is let through any more; zero if something is.
func (b *Breaker) Until() time.Duration { return b.circuit.RemainingDelay() }

// Do calls fn unless the breaker is open; then it returns an error of code
// unavailable at once. Only errors of that code count as failures: whatever
// else is wrong, the part has answered. A caller that gave up says nothing about
// the part.
func (b *Breaker) Do(ctx context.Context, fn func() error) error {
	if !b.circuit.TryAcquirePermit() {
		return domain.Errorf(domain.CodeUnavailable, "%s failed too often and is left alone for %s", b.name, b.Until().Round(time.Second))
	}
	inTime := b.watch()
	err := fn()
	switch {
	case !inTime():
		// It was counted while it lasted.
	case err == nil, domain.CodeOf(err) != domain.CodeUnavailable && !errors.Is(err, context.DeadlineExceeded):
		b.circuit.RecordSuccess()
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		b.circuit.RecordSuccess()
	default:
		b.circuit.RecordFailure()
	}
	return err
}

// watch counts a call as failed while it is too slow. The function that it
// returns ends that, and reports whether the call was in time.
func (b *Breaker) watch() (inTime func() bool) {
	if b.slow == 0 {
		return func() bool { return true }
	}
	ended := make(chan struct{})
	timer := time.AfterFunc(b.slow, func() {
		every := time.NewTicker(b.slow)
		defer every.Stop()
		for {
			b.circuit.RecordFailure()
			select {
			case <-every.C:
			case <-ended:
				return
			}
		}
	})
	return func() bool {
		defer close(ended)
		return timer.Stop()
	}
}
