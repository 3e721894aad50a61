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

// blockedConn is what one waiting call needs: a name, and a connection to block
// on. It is used again by later calls.
type blockedConn struct {
	name string
	// noted is what Redis may still have noted for it.
	noted string
	conn  rueidis.DedicatedClient
	// id is what Redis calls the connection.
	id int64
}

// who names the call for n entries.
func (s *blockedConn) who(n int) string { return s.name + " " + strconv.Itoa(n) }

// hangUp gives up the connection.
func (s *blockedConn) hangUp() {
	if s.conn == nil {
		return
	}
	s.conn.Close()
	s.conn = nil
}

// blockedConns are those of a dispatcher; the free ones are kept.
type blockedConns struct {
	mu   sync.Mutex
	made int
	free []*blockedConn
}

func (all *blockedConns) take(consumer string) *blockedConn {
	all.mu.Lock()
	defer all.mu.Unlock()
	if n := len(all.free); n > 0 {
		s := all.free[n-1]
		all.free = all.free[:n-1]
		return s
	}
	all.made++
	return &blockedConn{name: fmt.Sprintf("%s/%d", consumer, all.made)}
}

func (all *blockedConns) put(s *blockedConn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.free = append(all.free, s)
}

// close hangs up and returns what Redis may have noted.
func (all *blockedConns) close() (noted []string) {
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

// dial connects and asks for the connection's id. A key comes first, so
// that a cluster's node is the one that has the streams.
func (d *Dispatcher) dial(ctx context.Context, s *blockedConn) error {
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
func (d *Dispatcher) read(ctx context.Context, s *blockedConn, n int, block time.Duration) ([]delivery, error) {
	end := d.now().Add(block)
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
	reply := d.blockUntil(ctx, s, n, end, ended)
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

// blockUntil reads from the streams and is blocked until an instant at most. The
// server ends the wait; the limit is for one that does not answer. On the clock
// of a test the server blocks for ever, and the clock ends it.
func (d *Dispatcher) blockUntil(ctx context.Context, s *blockedConn, n int, end time.Time, ended <-chan struct{}) rueidis.RedisResult {
	left := end.Sub(d.now())
	limit, block := max(left, 0)+answerTime, durationMillis(left)
	if d.clock != nil {
		limit, block = time.Hour, 0
		defer d.clock.AfterFunc(left, func() { d.unblock(context.WithoutCancel(ctx), s.id, ended) })()
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return s.conn.Do(limited, s.conn.B().Xreadgroup().Group("workers", d.consumer).Count(int64(n)).
		Block(block).Streams().Key(d.keys[0], d.keys[1]).Id(">", ">").Build())
}

// interrupt ends a blocked read without losing what it may have been given. A
// connection that cannot be unblocked in time is closed: what it was given comes
// back when its lease ends. One try would be too few: a process whose processor
// others had for that long would not even see an answer that is there.
func (d *Dispatcher) interrupt(ctx context.Context, s *blockedConn, ended <-chan struct{}) {
	const tries = 4
	who, id := s.noted, s.id
	for range tries {
		if d.tryInterrupt(ctx, who, id, ended) {
			return
		}
	}
	s.conn.Close()
}

// tryInterrupt says whether the read has ended. First the call is withdrawn, so
// that nothing more is put into a stream for it.
func (d *Dispatcher) tryInterrupt(ctx context.Context, who string, id int64, ended <-chan struct{}) bool {
	limited, cancel := context.WithTimeout(ctx, graceTime/2)
	defer cancel()
	asked := make(chan struct{})
	// The call that is interrupted counts as a task, so there is one to add to.
	d.life.spawn(func() {
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
		return true
	case <-limited.Done():
		return false
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
			brought = append(brought, delivery{id: e.FieldValues["job"], token: token})
		}
	}
	return brought, nil
}

// isGroupMissing says whether somebody deleted the streams or the group.
func isGroupMissing(err error) bool {
	refusal, ok := rueidis.IsRedisErr(err)
	return ok && (strings.HasPrefix(refusal.Error(), "NOGROUP") || strings.HasPrefix(refusal.Error(), "UNBLOCKED"))
}
