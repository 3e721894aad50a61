package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/httpapi"
)

// pipes is a listener whose connections have no network in between, so that
// their time is the test's.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.incoming:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serveOnPipes serves a handler as the service does until the returned
// function is called.
func serveOnPipes(t *testing.T, h http.Handler, most int) (dial func() net.Conn, stop func()) {
	t.Helper()
	l := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- httpapi.Serve(ctx, l, h, httpapi.ServerOptions{Connections: most}) }()
	dial = func() net.Conn {
		here, there := net.Pipe()
		go func() {
			select {
			case l.incoming <- there:
			case <-l.closed:
				_ = there.Close()
			}
		}()
		return here
	}
	return dial, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	}
}

// closedAfter is how long the server lets a connection live on which the test
// sends a text and no more.
func closedAfter(t *testing.T, conn net.Conn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	// The server may close it before it has read everything.
	_, _ = io.WriteString(conn, text)
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("reading: %v", err)
	}
	return time.Since(began)
}

func TestSlowCallersAreCutOff(t *testing.T) {
	reading := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})
	for name, test := range map[string]struct {
		text string
		most time.Duration
	}{
		"says nothing":             {"", 10 * time.Second},
		"never ends its header":    {"GET / HTTP/1.1\r\nHost: localhost\r\n", 10 * time.Second},
		"never ends its body":      {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1", time.Minute},
		"asks once and stays idle": {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, stop := serveOnPipes(t, reading, 10)
				if took := closedAfter(t, dial(), test.text); took > test.most {
					t.Errorf("it is cut off after %s, later than %s", took, test.most)
				}
				stop()
			})
		})
	}
}

func TestReaderThatDoesNotReadIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Duration, 1)
		dial, stop := serveOnPipes(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			began := time.Now()
			_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", 1<<20)))
			ended <- time.Since(began)
		}), 10)
		conn := dial()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if took := <-ended; took > 2*time.Minute {
			t.Errorf("the answer was held for %s", took)
		}
		stop()
		_ = conn.Close()
	})
}

// TestPlacesOfRequestsUnderWayAreKept takes every place with requests; the
// next caller waits until one of them ends, and nobody is cut off.
func TestPlacesOfRequestsUnderWayAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		gate := make(chan struct{})
		dial, stop := serveOnPipes(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/held" {
				<-gate
			}
		}), most)
		answers := make(chan string, most+1)
		ask := func(path string) {
			conn := dial()
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			line, err := bufio.NewReader(conn).ReadString('\n')
			answers <- path + " " + strings.TrimSpace(line) + fmt.Sprint(err)
		}
		for range most {
			go ask("/held")
		}
		synctest.Wait()
		go ask("/next")
		synctest.Wait()
		select {
		case got := <-answers:
			t.Errorf("while all places are taken: %s", got)
		default:
		}
		close(gate)
		for range most + 1 {
			if got := <-answers; !strings.HasSuffix(got, "HTTP/1.1 200 OK<nil>") {
				t.Errorf("got %s", got)
			}
		}
		stop()
	})
}

// TestStoppingDoesNotWaitForAPlace stops a server whose next caller waits.
func TestStoppingDoesNotWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		dial, stop := serveOnPipes(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate }), 1)
		busy := dial()
		if _, err := io.WriteString(busy, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		waiting := dial()
		synctest.Wait()
		stop()
		close(gate)
		for _, conn := range []net.Conn{busy, waiting} {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	})
}
