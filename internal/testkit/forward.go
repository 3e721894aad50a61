package testkit

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Forwarder passes TCP connections on to a server. Frozen, it keeps every
// connection open and passes nothing: what a server sees of a machine that has
// lost its power, which closes nothing, unlike a process that was killed.
type Forwarder struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	thawed *sync.Cond
	frozen bool
	closed bool
	watch  func(sent []byte)
	open   map[net.Conn]bool
}

// Forward returns a forwarder to the server of a URL, and that URL by way of it.
// It ends with the test.
func Forward(tb testing.TB, to string) (*Forwarder, string) {
	tb.Helper()
	at, err := url.Parse(to)
	if err != nil {
		tb.Fatalf("testkit: forward: %v", err)
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("testkit: forward: %v", err)
	}
	f := &Forwarder{listener: listener, target: at.Host, open: map[net.Conn]bool{}}
	f.thawed = sync.NewCond(&f.mu)
	tb.Cleanup(f.Close)
	go f.accept()
	at.Host = listener.Addr().String()
	return f, at.String()
}

// Freeze passes nothing on from now, in either direction.
func (f *Forwarder) Freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = true
}

// Thaw passes on what has come meanwhile, and everything after it.
func (f *Forwarder) Thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = false
	f.thawed.Broadcast()
}

// Watch shows what clients send from now on, before it is passed on.
func (f *Forwarder) Watch(watch func(sent []byte)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch = watch
}

// Close ends all connections. It may be called twice.
func (f *Forwarder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed, f.frozen = true, false
	f.thawed.Broadcast()
	_ = f.listener.Close()
	for connection := range f.open {
		_ = connection.Close()
	}
}

func (f *Forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.serve(client)
	}
}

func (f *Forwarder) serve(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.Dial("tcp", f.target)
	if err != nil {
		_ = client.Close()
		return
	}
	if !f.hold(client, server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { f.pass(server, client, f.show) })
	both.Go(func() { f.pass(client, server, func([]byte) {}) })
	both.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, client)
	delete(f.open, server)
}

// hold keeps both ends for the end of the test.
func (f *Forwarder) hold(client, server net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_, _ = client.Close(), server.Close()
		return false
	}
	f.open[client], f.open[server] = true, true
	return true
}

// pass copies one direction until it ends. That an end was closed is passed on
// like everything else: not while frozen.
func (f *Forwarder) pass(to, from net.Conn, show func([]byte)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		show(buffer[:n])
		if !f.wait() {
			return
		}
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			_ = to.Close()
			if !errors.Is(err, io.EOF) {
				_ = from.Close()
			}
			return
		}
	}
}

// show shows what a client sent to whoever watches.
func (f *Forwarder) show(sent []byte) {
	f.mu.Lock()
	watch := f.watch
	f.mu.Unlock()
	if watch != nil && len(sent) > 0 {
		watch(sent)
	}
}

// wait returns when things are passed on; ok is false when they never will be.
func (f *Forwarder) wait() (ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.frozen {
		f.thawed.Wait()
	}
	return !f.closed
}
