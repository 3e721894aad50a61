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
		d.stopWaiting(ctx, s)
		return nil, err
	}
	ended, unblocked := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(unblocked)
		d.stopWaiting(ctx, s)
		d.unblock(context.WithoutCancel(ctx), s, ended)
	})
	// The server ends the wait; the limit is for one that does not answer.
	limited, cancel := context.WithDeadline(context.WithoutCancel(ctx), end.Add(answerTime))
	defer cancel()
	command := s.conn.B().Xreadgroup().Group("workers", d.consumer).Count(int64(n)).
		Block(ceilMillis(time.Until(end))).Streams().Key(d.keys[0], d.keys[1]).Id(">", ">").Build()
	reply := s.conn.Do(limited, command)
	close(ended)
	if !stop() {
		<-unblocked
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

// stopWaiting withdraws the seat's call if its context has ended.
func (d *Dispatcher) stopWaiting(ctx context.Context, s *seat) {
	if ctx.Err() == nil {
		return
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer cancel()
	d.withdraw(limited, s.noted)
	s.noted = ""
}

// unblock ends a blocked read without losing what it may have been given. The
// read may not have begun yet, so it goes on until it has ended. A connection
// that cannot be unblocked is closed.
func (d *Dispatcher) unblock(ctx context.Context, s *seat, ended <-chan struct{}) {
	limited, cancel := context.WithTimeout(ctx, graceTime)
	defer cancel()
	err := d.db.Client.Dedicated(func(c rueidis.DedicatedClient) error {
		for {
			replies := c.DoMulti(limited, c.B().Exists().Key(d.keys[0]).Build(), c.B().ClientUnblock().ClientId(s.id).Build())
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
	if err == nil {
		select {
		case <-ended:
			return
		case <-limited.Done():
		}
	}
	s.conn.Close()
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
