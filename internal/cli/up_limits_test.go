package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serveCommand runs a command until the test ends, on an API that answers
// everything at once, and returns its address.
func serveCommand(t *testing.T, args ...string) (address string) {
	t.Helper()
	urls, ended := make(chan string, 1), make(chan int, 1)
	ctx, stop := context.WithCancel(t.Context())
	app := &App{Out: io.Discard, Err: io.Discard, Env: func(string) (string, bool) { return "", false }, Now: time.Now}
	app.Open = func(context.Context, ServiceOptions) (*Service, error) {
		nothing := func(context.Context) error { return nil }
		return &Service{
			API:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			Start: nothing, Close: nothing, Stopping: func() {}, Err: func() error { return nil },
			Announce: func(url string) error { urls <- url; return nil },
		}, nil
	}
	go func() {
		ended <- app.Run(ctx, append(args, "--addr", "127.0.0.1:0", "--data-dir", t.TempDir()))
	}()
	t.Cleanup(func() { stop(); <-ended })
	select {
	case url := <-urls:
		return strings.TrimPrefix(url, "http://")
	case code := <-ended:
		ended <- code
		t.Fatalf("%v ended with %d", args, code)
		return ""
	}
}

// connect opens a connection that the test closes at its end.
func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// livez asks on a connection and reads the whole answer.
func livez(t *testing.T, conn net.Conn, header string) int {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n%s\r\n", header); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// TestUpIsNotShutOutByIdleConnections fills every place of the real command
// with connections that say nothing, or said something once.
func TestUpIsNotShutOutByIdleConnections(t *testing.T) {
	const most = 4
	address := serveCommand(t, "up", "--max-connections", fmt.Sprint(most))
	var first net.Conn
	for i := range 5 * most {
		conn := connect(t, address)
		if i == 0 {
			first = conn
		}
		if i%2 == 0 {
			if status := livez(t, conn, ""); status != http.StatusOK {
				t.Fatalf("connection %d: got %d", i, status)
			}
		}
	}
	if status := livez(t, connect(t, address), ""); status != http.StatusOK {
		t.Errorf("after all of them: got %d", status)
	}
	// The longest waiting one had to go.
	if n, err := first.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the first connection is still open: %d, %v", n, err)
	}
}

func TestUpRefusesLargeHeaders(t *testing.T) {
	address := serveCommand(t, "up")
	if status := livez(t, connect(t, address), "X-Large: "+strings.Repeat("x", 70<<10)+"\r\n"); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 70 KiB: got %d", status)
	}
	if status := livez(t, connect(t, address), "X-Large: "+strings.Repeat("x", 16<<10)+"\r\n"); status != http.StatusOK {
		t.Errorf("a header of 16 KiB: got %d", status)
	}
}
