package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// seat is what one waiting call needs: a name, and a connection to block on.
// Seats are used again by later calls.
type seat struct {
	name string
	// noted is what Redis may still have noted for the seat.
	noted string
	conn  rueidis.DedicatedClient
	// id is what Redis calls the connection.
	id int64
}

// who names the seat's call for n entries.
func (s *seat) who(n int) string { return s.name + " " + strconv.Itoa(n) }

// hangUp gives up the connection.
func (s *seat) hangUp() {
	if s.conn == nil {
		return
	}
	s.conn.Close()
	s.conn = nil
}

// seats are the free seats of a dispatcher.
type seats struct {
	mu   sync.Mutex
	made int
	free []*seat
}

func (all *seats) take(consumer string) *seat {
	all.mu.Lock()
	defer all.mu.Unlock()
	if n := len(all.free); n > 0 {
		s := all.free[n-1]
		all.free = all.free[:n-1]
		return s
	}
	all.made++
	return &seat{name: fmt.Sprintf("%s/%d", consumer, all.made)}
}

func (all *seats) put(s *seat) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.free = append(all.free, s)
}

// close hangs up and returns what Redis may have noted.
func (all *seats) close() (noted []string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range all.free {
		s.hangUp()
		if s.noted != "" {
			noted = append(noted, s.noted)
			s.noted = ""
		}
	}
	return noted
}

// dial connects a seat and asks for the connection's id. A key comes first, so
// that a cluster's node is the one that has the streams.
func (d *Dispatcher) dial(ctx context.Context, s *seat) error {
	if s.conn != nil {
		return nil
	}
	s.conn, _ = d.db.Client.Dedicate()
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	b := s.conn.B()
	replies := s.conn.DoMulti(limited, b.Exists().Key(d.keys[0]).Build(), b.ClientId().Build())
	id, err := replies[1].AsInt64()
	if err != nil {
		s.hangUp()
		return err
	}
	s.id = id
	return nil
}

// read waits for entries that are put into the streams, for as long as block.
// The end of ctx ends it at once; it returns what was delivered until then.
func (d *Dispatcher) read(ctx context.Context, s *seat, n int, block time.Duration) ([]delivery, error) {
	end := time.Now().Add(block)
	if err := d.dial(ctx, s); err != nil {
		if ctx.Err() != nil {
			d.withdraw(context.WithoutCancel(ctx), s.noted)
		}
		return nil, err
	}
	ended, interrupted := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		d.interrupt(context.WithoutCancel(ctx), s, ended)
	})
	// The server ends the wait; the limit is for one that does not answer.
	limited, cancel := context.WithDeadline(context.WithoutCancel(ctx), end.Add(answerTime))
	defer cancel()
	command := s.conn.B().Xreadgroup().Group("workers", d.consumer).Count(int64(n)).
		Block(ceilMillis(time.Until(end))).Streams().Key(d.keys[0], d.keys[1]).Id(">", ">").Build()
	reply := s.conn.Do(limited, command)
	close(ended)
	if !stop() {
		<-interrupted
	}
	if err := reply.NonRedisError(); err != nil {
		s.hangUp()
		return nil, err
	}
	if err := reply.Error(); err != nil {
		if rueidis.IsRedisNil(err) {
			return nil, nil
		}
		return nil, err
	}
	return parseRead(reply)
}

// interrupt ends a blocked read without losing what it may have been given.
// First the call is withdrawn, so that nothing more is put into a stream for
// it. A connection that cannot be unblocked in time is closed.
func (d *Dispatcher) interrupt(ctx context.Context, s *seat, ended <-chan struct{}) {
	limited, cancel := context.WithTimeout(ctx, graceTime)
	defer cancel()
	asked, who, id := make(chan struct{}), s.noted, s.id
	// The call that is interrupted counts as a task, so there is one to add to.
	d.life.Go(func() {
		defer close(asked)
		d.withdraw(limited, who)
		d.unblock(limited, id, ended)
	})
	select {
	case <-asked:
	case <-limited.Done():
	}
	select {
	case <-ended:
	case <-limited.Done():
		s.conn.Close()
	}
}

// unblock asks Redis to end a blocked read. The read may not have begun yet, so
// it asks until it has ended. A key comes first, as in dial.
func (d *Dispatcher) unblock(ctx context.Context, id int64, ended <-chan struct{}) {
	err := d.db.Client.Dedicated(func(c rueidis.DedicatedClient) error {
		for {
			replies := c.DoMulti(ctx, c.B().Exists().Key(d.keys[0]).Build(), c.B().ClientUnblock().ClientId(id).Build())
			if done, err := replies[1].AsInt64(); err != nil || done == 1 {
				return err
			}
			select {
			case <-ended:
				return nil
			case <-time.After(time.Millisecond):
			}
		}
	})
	if err != nil {
		d.log.Debug("unblock a read", "error", err)
	}
}

func parseRead(reply rueidis.RedisResult) (brought []delivery, err error) {
	streams, err := reply.AsXRead()
	if err != nil {
		return nil, err
	}
	for _, entries := range streams {
		for _, e := range entries {
			token, _, _ := strings.Cut(e.ID, "-")
			brought = append(brought, delivery{job: e.FieldValues["job"], token: token})
		}
	}
	return brought, nil
}

// isGroupMissing says whether somebody deleted the streams or the group.
func isGroupMissing(err error) bool {
	refusal, ok := rueidis.IsRedisErr(err)
	return ok && (strings.HasPrefix(refusal.Error(), "NOGROUP") || strings.HasPrefix(refusal.Error(), "UNBLOCKED"))
}
