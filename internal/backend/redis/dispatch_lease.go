package redis

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/dispatch"
)

const (
	// mostRequests is how many waiting calls of one process share a script.
	mostRequests = 64
	// mostLeased caps what one call leases, so that no script runs for long.
	mostLeased = 1000
)

// delivery is an entry that a blocking read brought.
type delivery struct{ id, token string }

// leaseRequest is one call's wish for leases. The answer may come when the call has
// gone: then what it holds goes back.
type leaseRequest struct {
	who, before string
	want        int
	wait        time.Duration
	brought     []delivery
	// newGroup asks to make sure that there is a group to read from.
	newGroup bool

	leases []dispatch.Lease
	block  time.Duration
	err    error
	state  atomic.Int32
}

// The states of a request.
const (
	requestOpen int32 = iota
	requestAnswered
	requestAbandoned
)

// Lease implements dispatch.Dispatcher. A call that waits is blocked in a read
// of its own connection and costs nothing until an entry is put into a stream
// for it.
func (d *Dispatcher) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	if n < 1 {
		return nil, fmt.Errorf("lease %d entries: at least 1 is needed", n)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	waiting, done, ok := d.life.begin(ctx)
	if !ok {
		return nil, errClosed("dispatcher")
	}
	defer done()
	leases, err := d.leaseOrWait(waiting, min(n, mostLeased))
	if err != nil && waiting.Err() != nil {
		err = ctx.Err()
		if err == nil {
			err = errClosed("dispatcher")
		}
	}
	return leases, err
}

func (d *Dispatcher) leaseOrWait(ctx context.Context, n int) ([]dispatch.Lease, error) {
	s := d.conns.take(d.consumer)
	defer d.conns.put(s)
	end := d.now().Add(d.maxWait)
	var brought []delivery
	newGroup, failed := false, false
	for {
		r, err := d.ask(ctx, s, n, end.Sub(d.now()), brought, newGroup)
		if err != nil || len(r.leases) > 0 {
			return r.leases, err
		}
		brought, err = d.read(ctx, s, n, r.block)
		if ctx.Err() != nil {
			d.handBack(context.WithoutCancel(ctx), brought)
			return nil, ctx.Err()
		}
		// A read that fails once is tried again: asking shows whether Redis is
		// there, and a connection may be old.
		newGroup = isGroupMissing(err)
		if err != nil && !newGroup {
			if failed {
				return nil, failure(err)
			}
			failed = true
		}
		if err == nil && len(brought) == 0 && end.Sub(d.now()) < time.Millisecond {
			return nil, nil
		}
	}
}

// ask confirms what a read brought and leases up to n, or notes that the call
// waits.
func (d *Dispatcher) ask(ctx context.Context, s *blockedConn, n int, wait time.Duration, brought []delivery, newGroup bool) (*leaseRequest, error) {
	r := &leaseRequest{who: s.who(n), before: s.noted, want: n, wait: wait, brought: brought, newGroup: newGroup}
	s.noted = r.who
	patient, cancel := withGrace(ctx)
	defer cancel()
	err := d.requests.Do(patient, r)
	if err != nil && r.state.CompareAndSwap(requestOpen, requestAbandoned) {
		return &leaseRequest{}, err
	}
	if len(r.leases) > 0 {
		s.noted = ""
	}
	return r, r.err
}

// answer serves requests of concurrent calls.
func (d *Dispatcher) answer(ctx context.Context, requests []*leaseRequest) error {
	for len(requests) > 0 {
		n, want := 0, 0
		for n < len(requests) && (n == 0 || want+requests[n].want <= mostLeased) {
			want += requests[n].want
			n++
		}
		err := d.answerSome(ctx, requests[:n])
		for _, r := range requests[:n] {
			r.err = err
			if !r.state.CompareAndSwap(requestOpen, requestAnswered) {
				d.takeBack(ctx, r)
			}
		}
		requests = requests[n:]
	}
	return nil
}

func (d *Dispatcher) answerSome(ctx context.Context, requests []*leaseRequest) error {
	newGroup := "0"
	args := []string{d.consumer, ""}
	for _, r := range requests {
		if r.newGroup {
			newGroup = "1"
		}
		args = append(args, r.who, r.before, strconv.FormatInt(durationMillis(r.wait), 10), strconv.Itoa(len(r.brought)))
		for _, b := range r.brought {
			args = append(args, b.id, b.token)
		}
	}
	args[1] = newGroup
	m, err := d.run(ctx, dispatchScripts.lease, args...)
	if err != nil {
		return err
	}
	values, err := m.ToArray()
	if err != nil {
		return failure(err)
	}
	return failure(parseAnswer(values, requests))
}

// leaseWidth is how many values the script returns for each lease.
const leaseWidth = 5

func parseAnswer(values []rueidis.RedisMessage, requests []*leaseRequest) error {
	block, err := values[0].AsInt64()
	if err != nil {
		return err
	}
	values = values[1:]
	for _, r := range requests {
		r.block = min(time.Duration(min(block, int64(time.Hour/time.Millisecond)))*time.Millisecond, max(r.wait, time.Millisecond))
		if len(values) == 0 {
			return fmt.Errorf("the answer is too short")
		}
		n, err := values[0].AsInt64()
		if err != nil || len(values) < 1+int(n)*leaseWidth {
			return fmt.Errorf("the answer is too short")
		}
		values = values[1:]
		for range n {
			l, err := parseLease(values)
			if err != nil {
				return err
			}
			r.leases = append(r.leases, l)
			values = values[leaseWidth:]
		}
	}
	return nil
}

func parseLease(values []rueidis.RedisMessage) (l dispatch.Lease, err error) {
	if l.ID, err = values[0].ToString(); err != nil {
		return l, err
	}
	if l.Token, err = values[1].AsUint64(); err != nil {
		return l, err
	}
	rank, err := values[2].ToString()
	if err != nil {
		return l, err
	}
	l.Priority, l.Class = priorityOf(rank), classOf(rank)
	deliveries, err := values[3].AsInt64()
	if err != nil {
		return l, err
	}
	l.Deliveries = int(deliveries)
	l.Lane, err = values[4].ToString()
	return l, err
}

// takeBack undoes the answer to a call that has gone.
func (d *Dispatcher) takeBack(ctx context.Context, r *leaseRequest) {
	brought := make([]delivery, len(r.leases))
	for i, l := range r.leases {
		brought[i] = delivery{l.ID, strconv.FormatUint(l.Token, 10)}
	}
	d.handBack(ctx, brought)
	d.withdraw(ctx, r.who)
}

// handBack returns entries that reached nobody. If that fails they come back
// when their leases end.
func (d *Dispatcher) handBack(ctx context.Context, brought []delivery) {
	if len(brought) == 0 {
		return
	}
	var args []string
	for _, b := range brought {
		args = append(args, b.id, b.token, "0")
	}
	if _, err := d.run(ctx, dispatchScripts.release, args...); err != nil {
		d.log.Warn("hand back what a canceled wait brought", "entries", len(brought), "error", err)
	}
}

// withdraw forgets that a call waits. If that fails it runs out by itself.
func (d *Dispatcher) withdraw(ctx context.Context, who string) {
	if _, err := d.run(ctx, dispatchScripts.leave, "", who); err != nil {
		d.log.Debug("withdraw a wait", "error", err)
	}
}
