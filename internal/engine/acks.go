package engine

import (
	"context"
	"sync"
	"time"

	"sluice/internal/dispatch"
)

// ackGap is how long acknowledgements gather. Nobody waits for them: until then
// the lease keeps the job from being handed out again.
const ackGap = 3 * time.Millisecond

// acks acknowledges jobs beside the workers, many at a time: for a dispatcher
// that is a trip away one costs as much as a hundred.
type acks struct {
	send func(ctx context.Context, leases []dispatch.Lease)

	mu      sync.Mutex
	waiting []dispatch.Lease
	busy    bool
	// under is what has not been sent yet.
	under sync.WaitGroup
}

func newAcks(send func(context.Context, []dispatch.Lease)) *acks { return &acks{send: send} }

// add acknowledges a lease soon.
func (a *acks) add(ctx context.Context, l dispatch.Lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, l)
	if !a.busy {
		a.busy = true
		a.under.Go(func() { a.run(ctx) })
	}
}

// run sends what gathers until nothing does.
func (a *acks) run(ctx context.Context) {
	for {
		pause(ctx, ackGap)
		a.mu.Lock()
		leases := a.waiting
		a.waiting = nil
		if len(leases) == 0 {
			a.busy = false
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		a.send(ctx, leases)
	}
}
