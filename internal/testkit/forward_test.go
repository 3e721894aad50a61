package testkit_test

import (
	"bufio"
	"errors"
	"net"
	"net/url"
	"os"
	"testing"
	"time"

	"sluice/internal/testkit"
)

// echo answers every line with itself.
func echo(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					_, _ = c.Write(append(lines.Bytes(), '\n'))
				}
				_ = c.Close()
			}()
		}
	}()
	return "tcp://" + l.Addr().String()
}

func TestForwarderFreezesAndThaws(t *testing.T) {
	f, at := testkit.Forward(t, echo(t))
	where, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(t.Context(), "tcp", where.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	answers := bufio.NewReader(c)
	ask := func(line string) {
		t.Helper()
		if _, err := c.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(line string) {
		t.Helper()
		if said, err := answers.ReadString('\n'); err != nil || said != line+"\n" {
			t.Fatalf("heard %q, %v; want %q", said, err, line)
		}
	}
	ask("before")
	hear("before")
	f.Freeze()
	ask("frozen")
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := answers.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a frozen forwarder lets something through, or closes: %v", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	f.Thaw()
	hear("frozen")
}
