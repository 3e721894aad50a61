package testkit

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
)

// Proxy passes bytes on, and ends a connection when it has passed certain ones
// to the server and the answer has come.
type Proxy struct {
	// Address is where it listens.
	Address string
	mu      sync.Mutex
	trigger []byte
}

// Lose sets after which bytes a connection is lost; nil is none.
func (p *Proxy) Lose(trigger []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger = trigger
}

func (p *Proxy) triggered(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trigger != nil && bytes.Contains(b, p.trigger)
}

// StartProxy starts a proxy in front of a server. It ends with the test.
func StartProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p := &Proxy{Address: listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(context.WithoutCancel(t.Context()), client, server)
		}
	}()
	return p
}

func (p *Proxy) serve(ctx context.Context, client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	lose := make(chan struct{}, 1)
	go PassWhile(client, server, func(b []byte) bool {
		if p.triggered(b) {
			lose <- struct{}{}
		}
		return true
	})
	PassWhile(server, client, func([]byte) bool {
		select {
		case <-lose:
			return false
		default:
			return true
		}
	})
}

// PassWhile copies until one side ends or wanted says no.
func PassWhile(from, to net.Conn, wanted func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !wanted(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
