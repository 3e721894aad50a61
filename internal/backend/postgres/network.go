package postgres

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	// answerTime is how long a server may be silent that is to answer. It is
	// longer than any statement may wait for a lock.
	answerTime = 30 * time.Second
	closeTime  = time.Second
)

// dial opens a network connection on which nothing takes forever.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{KeepAlive: time.Minute}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &limited{Conn: conn}, nil
}

// limited is a network connection on which an answer has its time: a server
// whose machine is gone does not answer, and does not say so. A connection that
// rests may do so for as long as it is wanted.
//
// The driver may have a read under way while a connection rests: it begins one
// when a write takes long, and has no way to take it back.
type limited struct {
	net.Conn
	mu sync.Mutex
	// own is set while somebody else has set a deadline, as the driver does to
	// interrupt what is under way.
	own bool
	// waiting is set from a write until rest.
	waiting bool
	// ended is set when a read has failed.
	ended bool
}

// SetDeadline implements net.Conn.
func (l *limited) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own = !t.IsZero()
	return l.Conn.SetDeadline(t)
}

// Write implements net.Conn.
func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.waiting = true
	var err error
	if !l.own {
		// Also that of a read which is under way.
		err = l.Conn.SetDeadline(time.Now().Add(answerTime))
	}
	l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return l.Conn.Write(b)
}

// Read implements net.Conn.
func (l *limited) Read(b []byte) (n int, err error) {
	l.mu.Lock()
	if l.waiting && !l.own {
		err = l.SetReadDeadline(time.Now().Add(answerTime))
	}
	l.mu.Unlock()
	if err == nil {
		n, err = l.Conn.Read(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = l.ended || err != nil
	return n, err
}

// rest is called when no answer is waited for.
func (l *limited) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = false
	if !l.own {
		// A connection on which this fails is closed.
		_ = l.Conn.SetDeadline(time.Time{})
	}
}

// isAlive reports whether nothing has come on a connection that rests: its end,
// or a server's farewell.
func (l *limited) isAlive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended && isQuiet(l.Conn)
}

// underneath returns what dial has made, nil if the driver has wrapped it in
// something unknown.
func underneath(conn net.Conn) *limited {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	l, _ := conn.(*limited)
	return l
}
