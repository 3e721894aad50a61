package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/httpapi"
)

// unreadBody begins a request whose body never ends.
const unreadBody = "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1"

// TestAnswersThatLeaveTheBodyUnreadCloseAtOnce: whoever is refused before his
// request is read does not keep his place while the rest of it does not come.
func TestAnswersThatLeaveTheBodyUnreadCloseAtOnce(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"with an answer":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"without a word":     func(http.ResponseWriter, *http.Request) {},
		"in the middle":      func(w http.ResponseWriter, r *http.Request) { _, _ = r.Body.Read(make([]byte, 1)); w.WriteHeader(422) },
		"with a long answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<16)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, stop := serveOnPipes(t, refuse, 10)
				if took := closedAfter(t, dial(), fmt.Sprintf(unreadBody, "/")); took > 2*time.Second {
					t.Errorf("the connection is closed %s after its answer", took)
				}
				stop()
			})
		})
	}
}

// TestNothingFollowsCONNECT: what comes after it is nobody's.
func TestNothingFollowsCONNECT(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := serveOnPipes(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }), 10)
		if took := closedAfter(t, dial(), "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"); took > 2*time.Second {
			t.Errorf("the connection is closed after %s", took)
		}
		stop()
	})
}

// TestRequestsThatAreReadKeepTheirConnection: what was read to its end is used
// again.
func TestRequestsThatAreReadKeepTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := serveOnPipes(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}), 10)
		conn := dial()
		defer conn.Close()
		answers := bufio.NewReader(conn)
		for range 3 {
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Close {
				t.Error("the connection is closed though the request was read")
			}
		}
		_ = conn.Close()
		stop()
	})
}

// TestBodiesThatDoNotComeMakeRoom: every place is taken by requests whose body is
// being read and does not come; the next caller is served at once.
func TestBodiesThatDoNotComeMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		dial, stop := serveOnPipes(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}), most)
		for range 3 * most {
			conn := dial()
			defer conn.Close()
			go func() { _, _ = fmt.Fprintf(conn, unreadBody, "/hook") }()
			synctest.Wait()
		}
		began := time.Now()
		if line := askOn(dial(), "/livez"); line != "HTTP/1.1 200 OK" {
			t.Errorf("the probe is answered %q", line)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the probe is answered after %s", took)
		}
		stop()
	})
}

// askOn asks for a path and returns the first line of the answer.
func askOn(conn net.Conn, path string) string {
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	from net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.from }

// TestNoAddressTakesAllPlaces: an address with requests under way on three quarters
// of the places gets no more, and others are served.
func TestNoAddressTakesAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		gate, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- httpapi.Serve(ctx, l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/held" {
					<-gate
				}
			}), httpapi.ServerOptions{Connections: 4})
		}()
		dial := func(from string) net.Conn {
			here, there := net.Pipe()
			l.incoming <- addressed{there, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}
			return here
		}
		answers := make(chan string, 3)
		for i := range 3 {
			// Of an IPv6 address the first 64 bits count.
			go func() { answers <- askOn(dial(fmt.Sprintf("[2001:db8::%d]:1", i+1)), "/held") }()
			synctest.Wait()
		}
		if line := askOn(dial("[2001:db8::9]:1"), "/livez"); line != "EOF" && !strings.Contains(line, "closed") {
			t.Errorf("the fourth request of the address is answered %q", line)
		}
		for _, other := range []string{"[2001:db8:0:1::1]:1", "192.0.2.1:1"} {
			if line := askOn(dial(other), "/livez"); line != "HTTP/1.1 200 OK" {
				t.Errorf("%s is answered %q", other, line)
			}
		}
		close(gate)
		for range 3 {
			if line := <-answers; line != "HTTP/1.1 200 OK" {
				t.Errorf("a request under way is answered %q", line)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
}
