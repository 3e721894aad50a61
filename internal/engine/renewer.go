package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/dispatch"
)

// renewer keeps the leases of jobs under way alive, at a third of the lease
// time. While nothing is under way it sleeps without a timer.
type renewer struct {
	dispatch dispatch.Dispatcher
	every    time.Duration
	log      *slog.Logger
	// busy gets a token when the first lease is held.
	busy chan struct{}

	mu   sync.Mutex
	held map[string]dispatch.Lease
}

func newRenewer(d dispatch.Dispatcher, cfg Config) *renewer {
	return &renewer{
		dispatch: d, every: cfg.Lease / 3, log: cfg.Log,
		busy: make(chan struct{}, 1), held: map[string]dispatch.Lease{},
	}
}

func (r *renewer) hold(leases []dispatch.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) == 0 {
		select {
		case r.busy <- struct{}{}:
		default:
		}
	}
	for _, l := range leases {
		r.held[l.ID] = l
	}
}

// drop forgets a lease and reports whether it was held.
func (r *renewer) drop(l dispatch.Lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[l.ID].Token != l.Token {
		return false
	}
	delete(r.held, l.ID)
	return true
}

func (r *renewer) all() []dispatch.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	leases := make([]dispatch.Lease, 0, len(r.held))
	for _, l := range r.held {
		leases = append(leases, l)
	}
	return leases
}

func (r *renewer) loop(ctx context.Context) {
	timer := time.NewTimer(r.every)
	defer timer.Stop()
	for {
		select {
		case <-r.busy:
		case <-ctx.Done():
			return
		}
		for more := true; more; more = r.runOnce(ctx) {
			timer.Reset(r.every)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// runOnce renews everything held and reports whether there was anything. A
// lease that is lost needs no action: its holder's claim is void by then, and
// its result changes nothing.
func (r *renewer) runOnce(ctx context.Context) bool {
	leases := r.all()
	if len(leases) == 0 {
		return false
	}
	lost, err := r.dispatch.Renew(ctx, leases...)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("leases could not be renewed; trying again soon", "leases", len(leases), "error", err)
	}
	for _, l := range lost {
		// One that was acknowledged meanwhile is not lost. One that is lost stays
		// so, and need not be asked for again.
		if r.drop(l) {
			r.log.Warn("a lease was lost; others may have the work now", leaseAttr(l))
		}
	}
	return true
}
