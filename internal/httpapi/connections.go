package httpapi

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"sluice/internal/access"
)

// connections bounds how many are open, so that whoever opens many and says
// nothing cannot shut others out: what waits for its caller, for a request or for
// the rest of one, is closed, longest waiting first, when its place is needed. What
// is being worked on keeps its place; that is bounded by the server's time limits.
//
// Of one address there are at most three quarters of all, so that others find a
// place whatever it does.
type connections struct {
	most, share int

	mu   sync.Mutex
	open map[net.Conn]*place
	// from counts them by address.
	from map[netip.Addr]int
	// waiting are the places that wait for their callers, the longest waiting first.
	waiting *list.List
	closed  bool
	// room is signalled when a connection may have made room.
	room *sync.Cond
}

// place is that of one connection.
type place struct {
	all  *connections
	conn net.Conn
	from netip.Addr
	// element is where it is among the waiting, nil if it is not.
	element *list.Element
	// active says that a request is under way, or several in HTTP/2: so many of
	// them, of which awaiting wait for the rest of their body.
	active             bool
	requests, awaiting int
}

func newConnections(most int) *connections {
	c := &connections{most: most, share: most - most/4, open: map[net.Conn]*place{}, from: map[netip.Addr]int{}, waiting: list.New()}
	c.room = sync.NewCond(&c.mu)
	return c
}

// limit returns a listener that keeps to the bound.
func (c *connections) limit(l net.Listener) net.Listener { return &limitedListener{l, c} }

// admit gives a new connection a place. It blocks while all are taken by
// requests under way, and reports over when there is nothing to wait for. A
// connection whose address has its share under way gets no place.
func (c *connections) admit(conn net.Conn) (admitted, over bool) {
	from := addressOf(conn)
	for {
		evicted, admitted, over := c.tryAdmit(conn, from)
		if evicted == nil {
			return admitted, over
		}
		cutOff(evicted)
	}
}

// cutOff ends a connection without a word: one that is encrypted would wait for its
// caller to take the last one. Its server finds it closed.
func cutOff(conn net.Conn) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	_ = conn.Close()
}

// tryAdmit admits, or returns the connection to be closed first.
func (c *connections) tryAdmit(conn net.Conn, from netip.Addr) (evicted net.Conn, admitted, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.most && c.waiting.Len() == 0 && !c.closed {
		c.room.Wait()
	}
	if c.closed {
		return nil, false, true
	}
	if from.IsValid() && c.from[from] >= c.share {
		for e := c.waiting.Front(); e != nil; e = e.Next() {
			if waits, _ := e.Value.(*place); waits.from == from {
				return c.evict(waits), false, false
			}
		}
		return nil, false, false
	}
	if len(c.open) >= c.most {
		waits, _ := c.waiting.Front().Value.(*place)
		return c.evict(waits), false, false
	}
	p := &place{all: c, conn: conn, from: from}
	c.open[conn] = p
	c.from[from]++
	c.settle(p)
	return nil, true, false
}

func (c *connections) evict(p *place) net.Conn {
	c.forget(p)
	return p.conn
}

// moved follows what the server says of its connections.
func (c *connections) moved(conn net.Conn, to http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.open[conn]
	if p == nil {
		return
	}
	switch to {
	case http.StateActive:
		p.active = true
	case http.StateIdle:
		p.active = false
	case http.StateClosed, http.StateHijacked:
		c.forget(p)
		return
	case http.StateNew:
		return
	}
	c.settle(p)
}

// change changes a place's counts.
func (p *place) change(how func(p *place)) {
	if p == nil {
		return
	}
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	how(p)
	if p.all.open[p.conn] == p {
		p.all.settle(p)
	}
}

// settle puts a place among the waiting, or takes it out.
func (c *connections) settle(p *place) {
	waits := !p.active || p.requests > 0 && p.awaiting == p.requests
	switch {
	case waits && p.element == nil:
		p.element = c.waiting.PushBack(p)
		c.room.Signal()
	case !waits && p.element != nil:
		c.waiting.Remove(p.element)
		p.element = nil
	}
}

func (c *connections) forget(p *place) {
	if p.element != nil {
		c.waiting.Remove(p.element)
	}
	delete(c.open, p.conn)
	if c.from[p.from]--; c.from[p.from] == 0 {
		delete(c.from, p.from)
	}
	c.room.Signal()
}

// placeOf is nil for a connection that has none.
func (c *connections) placeOf(conn net.Conn) *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[conn]
}

// addressOf is where a connection comes from, as far as callers are told apart.
func addressOf(conn net.Conn) netip.Addr {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return access.Network(from.Addr())
}

// end wakes whoever waits for a place.
func (c *connections) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.room.Broadcast()
}

type limitedListener struct {
	net.Listener
	connections *connections
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, over := l.connections.admit(conn)
		if admitted {
			return conn, nil
		}
		cutOff(conn)
		if over {
			return nil, net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.connections.end()
	return l.Listener.Close()
}
