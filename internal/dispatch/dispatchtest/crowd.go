package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"sluice/internal/dispatch"
)

var crowdCases = []testCase{
	{name: "CrowdDoesEachJobOnce", check: crowdDoesEachJobOnce},
	{name: "SecondDispatcherSharesTheQueue", needs: func(f Features) bool { return f.Shared }, check: secondDispatcherShares},
}

// crowd counts what many workers do with the same jobs.
type crowd struct {
	*fixture
	held, done []atomic.Int32
	left       atomic.Int64
	finish     context.CancelFunc
}

const crowdJobs, crowdWorkers = 2000, 16

// crowdDoesEachJobOnce: pushed by several, leased by many, sometimes handed
// back, every job is with one worker at a time and ends once.
func crowdDoesEachJobOnce(x *fixture) {
	ctx, finish := context.WithCancel(x.Context())
	defer finish()
	c := &crowd{fixture: x, finish: finish, held: make([]atomic.Int32, crowdJobs), done: make([]atomic.Int32, crowdJobs)}
	c.left.Store(crowdJobs)
	var workers sync.WaitGroup
	x.calls.Add(crowdWorkers)
	workers.Go(func() { x.drive(ctx) })
	for range crowdWorkers {
		d := x.another()
		workers.Go(func() { c.work(ctx, d) })
	}
	for part := range int64(4) {
		workers.Go(func() { c.pushPart(part) })
	}
	workers.Wait()
	for job := range c.done {
		if n := c.done[job].Load(); n != 1 {
			x.Errorf("job %d ended %d times", job, n)
		}
	}
	x.expectStats(dispatch.Stats{})
}

func (c *crowd) pushPart(part int64) {
	for job := part; job < crowdJobs; job += 4 {
		if err := c.Push(c.Context(), high(fmt.Sprint("lane ", job%7), job)); err != nil {
			c.Errorf("push job %d: %v", job, err)
		}
	}
}

func (c *crowd) work(ctx context.Context, d dispatch.Dispatcher) {
	for turn := 0; ; turn++ {
		leases, err := d.Lease(ctx, 1+turn%5)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				c.Errorf("lease: %v", err)
			}
			return
		}
		for i, l := range leases {
			c.handle(d, l, (turn+i)%4 == 0)
		}
	}
}

func (c *crowd) handle(d dispatch.Dispatcher, l dispatch.Lease, handBack bool) {
	job := c.jobOf(l)
	if c.held[job].Add(1) != 1 {
		c.Errorf("job %d is with two workers", job)
	}
	if handBack {
		c.held[job].Add(-1)
		if err := d.Release(c.Context(), l, c.in(1)); err != nil {
			c.Errorf("release job %d: %v", job, err)
		}
		return
	}
	c.done[job].Add(1)
	c.held[job].Add(-1)
	if err := d.Ack(c.Context(), l); err != nil {
		c.Errorf("ack job %d: %v", job, err)
	}
	if c.left.Add(-1) == 0 {
		c.finish()
	}
}

func secondDispatcherShares(x *fixture) {
	other := x.another()
	x.push(high("a", 1), high("a", 2))
	leases, err := other.Lease(x.Context(), 1)
	x.ok(err)
	x.expectJobs(waiting{leases: leases}, 1)
	// A token is good in every process.
	x.ack(leases...)
	held := x.expect(2)
	lost, err := other.Renew(x.Context(), held...)
	x.ok(err)
	if len(lost) > 0 {
		x.Fatalf("another dispatcher does not know the lease %+v", lost)
	}
	x.ok(other.Park(x.Context(), "a", x.in(500)))
	x.push(high("a", 3))
	x.expectNone()
}
