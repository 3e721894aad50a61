package redis

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"sluice/internal/batch"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// How many arguments a script takes for each entry or lease.
const (
	pushWidth    = 4
	ackWidth     = 2
	releaseWidth = 3
	renewWidth   = 2
)

// dispatchBatch is how many entries one call of a script handles, so that none
// keeps Redis from others for long.
const dispatchBatch = 500

// scriptPart is what one caller adds to a call of a script.
type scriptPart struct {
	args []string
	// lost are the places of leases that are not valid any more.
	lost []int
	err  error
}

// merge returns a group that sends the parts of concurrent callers together.
func (d *Dispatcher) merge(script *luaScript, width int) *batch.Group[scriptPart] {
	return batch.New(dispatchBatch, func(ctx context.Context, parts []*scriptPart) error {
		for len(parts) > 0 {
			n, size := 0, 0
			for n < len(parts) && (n == 0 || size+len(parts[n].args) <= dispatchBatch*width) {
				size += len(parts[n].args)
				n++
			}
			d.sendParts(ctx, script, width, parts[:n])
			parts = parts[n:]
		}
		return nil
	})
}

func (d *Dispatcher) sendParts(ctx context.Context, script *luaScript, width int, parts []*scriptPart) {
	var args []string
	for _, p := range parts {
		args = append(args, p.args...)
	}
	m, err := d.run(ctx, script, args...)
	var lost []int64
	if err == nil {
		lost, err = m.AsIntSlice()
	}
	first := 0
	for _, p := range parts {
		p.err = failure(err)
		end := first + len(p.args)/width
		for len(lost) > 0 && int(lost[0]) < end {
			p.lost = append(p.lost, int(lost[0])-first)
			lost = lost[1:]
		}
		first = end
	}
}

// send sends a caller's arguments and returns the places of the leases among
// them that are lost.
func send(ctx context.Context, group *batch.Group[scriptPart], args []string, width int) (lost []int, err error) {
	first := 0
	for chunk := range slices.Chunk(args, dispatchBatch*width) {
		p := &scriptPart{args: chunk}
		if err := group.Do(ctx, p); err != nil {
			return lost, err
		}
		if p.err != nil {
			return lost, p.err
		}
		for _, place := range p.lost {
			lost = append(lost, first+place)
		}
		first += len(chunk) / width
	}
	return lost, nil
}

// Push implements dispatch.Dispatcher. A job that is due later moves up if it
// is pushed with an earlier instant; everything else about it stays.
func (d *Dispatcher) Push(ctx context.Context, entries ...dispatch.Entry) error {
	args := make([]string, 0, len(entries)*pushWidth)
	for i := range entries {
		e := &entries[i]
		args = append(args, e.ID, rankOf(e.Priority, e.Class), instantMillis(e.NotBefore), e.Lane)
	}
	_, err := send(ctx, d.pushes, args, pushWidth)
	return err
}

// Ack implements dispatch.Dispatcher.
func (d *Dispatcher) Ack(ctx context.Context, leases ...dispatch.Lease) error {
	_, err := send(ctx, d.acks, leaseArgs(leases), ackWidth)
	return err
}

// Renew implements dispatch.Dispatcher. A lease is lost from its last instant
// on, also if nobody else has the job yet.
func (d *Dispatcher) Renew(ctx context.Context, leases ...dispatch.Lease) (lost []dispatch.Lease, err error) {
	places, err := send(ctx, d.renewals, leaseArgs(leases), renewWidth)
	for _, place := range places {
		lost = append(lost, leases[place])
	}
	return lost, err
}

// Release implements dispatch.Dispatcher. Entries that were handed back go
// before those never handed out, in the order in which they came back.
func (d *Dispatcher) Release(ctx context.Context, lease dispatch.Lease, at time.Time) error {
	_, err := send(ctx, d.releases, []string{lease.ID, strconv.FormatUint(lease.Token, 10), instantMillis(at)}, releaseWidth)
	return err
}

func leaseArgs(leases []dispatch.Lease) []string {
	args := make([]string, 0, len(leases)*ackWidth)
	for i := range leases {
		args = append(args, leases[i].ID, strconv.FormatUint(leases[i].Token, 10))
	}
	return args
}

// Park implements dispatch.Dispatcher. The server is told how long, by whatever
// clock it goes.
func (d *Dispatcher) Park(ctx context.Context, lane string, until time.Time) error {
	// Scripts count in doubles.
	wait := min(until.Sub(d.now()), math.MaxInt64>>12)
	_, err := d.run(ctx, dispatchScripts.park, lane, strconv.FormatInt(wait.Microseconds(), 10))
	return err
}

// Resume implements dispatch.Dispatcher.
func (d *Dispatcher) Resume(ctx context.Context, lane string) error {
	_, err := d.run(ctx, dispatchScripts.resume, lane)
	return err
}

// Remove implements dispatch.Dispatcher. A leased job stays with its worker.
func (d *Dispatcher) Remove(ctx context.Context, ids ...string) error {
	for chunk := range slices.Chunk(ids, dispatchBatch) {
		if _, err := d.run(ctx, dispatchScripts.remove, chunk...); err != nil {
			return err
		}
	}
	return nil
}

// The ranks are the order of a lane's queues.
const (
	highChild     = "0"
	highDiscovery = "1"
	lowChild      = "2"
	lowDiscovery  = "3"
)

func rankOf(p domain.Priority, c domain.Class) string {
	child := c == domain.ClassChild || c == domain.ClassWalk
	switch {
	case p == domain.PriorityHigh && child:
		return highChild
	case p == domain.PriorityHigh:
		return highDiscovery
	case child:
		return lowChild
	}
	return lowDiscovery
}

func priorityOf(rank string) domain.Priority {
	if rank == highChild || rank == highDiscovery {
		return domain.PriorityHigh
	}
	return domain.PriorityLow
}

func classOf(rank string) domain.Class {
	if rank == highChild || rank == lowChild {
		return domain.ClassChild
	}
	return domain.ClassDiscovery
}
