package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns both ends of a connection over the network.
func pair(t *testing.T) (here *limited, there net.Conn) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	conn, err := dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	here = underneath(conn)
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return here, there
}

// eventually waits for what the kernel takes a moment for.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so", what)
		}
	}
}

// TestConnectionThatRests is alive until something comes, also while the driver
// reads in the background.
func TestConnectionThatRests(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(net.Conn) error{
		"its end":    func(c net.Conn) error { return c.Close() },
		"a farewell": func(c net.Conn) error { _, err := c.Write([]byte("E")); return err },
	} {
		here, there := pair(t)
		if !here.isAlive() {
			t.Error("a new one is not alive")
		}
		if err := end(there); err != nil {
			t.Fatal(err)
		}
		eventually(t, name, func() bool { return !here.isAlive() })
	}
	here, there := pair(t)
	read, begun := make(chan error, 1), make(chan struct{})
	go func() {
		close(begun)
		_, err := here.Read(make([]byte, 10))
		read <- err
	}()
	<-begun
	for range 100 {
		if !here.isAlive() {
			t.Fatal("one that is read from is not alive")
		}
		time.Sleep(100 * time.Microsecond)
	}
	here.rest()
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, io.EOF) || here.isAlive() {
		t.Errorf("after its end (%v) it is alive", err)
	}
}

// TestSilentServer has its time, and a connection that rests has all the time.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		here := &limited{Conn: near}
		go func() { _, _ = io.Copy(io.Discard, far) }()
		read := func() <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := here.Read(make([]byte, 1))
				done <- err
			}()
			synctest.Wait()
			return done
		}
		// Begun by the driver while the connection rests.
		early := read()
		time.Sleep(10 * answerTime)
		if len(early) != 0 {
			t.Errorf("a read has ended while nobody waited: %v", <-early)
		}
		begun := time.Now()
		if _, err := here.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := <-early; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != answerTime {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		begun = time.Now()
		if err := <-read(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != answerTime {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		// Somebody else's deadline stands.
		if err := here.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		if err := <-read(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		_, _ = near.Close(), far.Close()
	})
}

func TestDialing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(ctx, "tcp", "127.0.0.1:1"); err == nil {
		t.Error("a canceled call connects")
	}
}
