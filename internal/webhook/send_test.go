package webhook_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/webhook"
)

func TestAnswers(t *testing.T) {
	date := func(d time.Duration) string { return now.Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		status     int
		retryAfter string
		ok         bool
		wait       time.Duration
		permanent  bool
		says       string
	}{
		{status: 200, ok: true}, {status: 201, ok: true}, {status: 202, ok: true}, {status: 204, ok: true},
		{status: 299, ok: true, retryAfter: "7"},
		{status: 400, says: "400 Bad Request"}, {status: 401, says: "401"}, {status: 404, says: "404"},
		{status: 404, says: "404", retryAfter: "7"}, {status: 500, says: "500"}, {status: 599, says: "answered 599"},
		{status: 410, says: "410", permanent: true},
		{status: 429, says: "429"},
		{status: 429, says: "429", retryAfter: "17", wait: 17 * time.Second},
		{status: 503, says: "503", retryAfter: "3600", wait: time.Hour},
		{status: 503, says: "503", retryAfter: "3601", wait: time.Hour},
		{status: 503, says: "503", retryAfter: "99999999999999999999999", wait: time.Hour},
		{status: 503, says: "503", retryAfter: "-99999999999999999999999"},
		{status: 503, says: "503", retryAfter: "-5"}, {status: 503, says: "503", retryAfter: "soon"}, {status: 503, says: "503", retryAfter: "1.5"},
		{status: 429, says: "429", retryAfter: date(90 * time.Second), wait: 90 * time.Second},
		{status: 429, says: "429", retryAfter: date(90 * time.Hour), wait: time.Hour},
		{status: 429, says: "429", retryAfter: date(-time.Minute)},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			w.WriteHeader(c.status)
		})
		r := local(t).Send(t.Context(), message(url+"/?token=hidden"))
		if r.OK != c.ok || r.Status != c.status || r.RetryAfter != c.wait || r.Permanent != c.permanent ||
			!strings.Contains(r.Error, c.says) || (r.Error == "") != c.ok || strings.Contains(r.Error, "hidden") {
			t.Errorf("%d with Retry-After %q: %+v, want %+v", c.status, c.retryAfter, r, c)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Bool
	for _, status := range []int{301, 302, 303, 304, 307, 308} {
		var target string
		target = serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				followed.Store(true)
				return
			}
			w.Header().Set("Location", target+"/elsewhere")
			w.WriteHeader(status)
		})
		r := local(t).Send(t.Context(), message(target))
		if r.OK || r.Status != status || r.Permanent || !strings.Contains(r.Error, "redirect") {
			t.Errorf("%d: %+v, want a failure that says so", status, r)
		}
	}
	if followed.Load() {
		t.Error("a redirect was followed")
	}
}

// TestProxyOfTheEnvironment: a proxy would look names up itself.
func TestProxyOfTheEnvironment(t *testing.T) {
	var asked atomic.Bool
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { asked.Store(true) })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	s := sender(t, webhook.Options{AllowPrivate: true, Resolver: unplugged()})
	if r := s.Send(t.Context(), message("http://hooks.example.com/?token=hidden")); r.OK || r.Permanent || strings.Contains(r.Error, "hidden") {
		t.Errorf("a name that cannot be looked up: %+v, want a failure for now", r)
	}
	if asked.Load() {
		t.Error("the proxy was asked")
	}
}

func TestSlowReceiver(t *testing.T) {
	left := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(left)
	})
	s := sender(t, webhook.Options{AllowPrivate: true, Timeout: 50 * time.Millisecond})
	r := s.Send(t.Context(), message(url+"/?token=hidden"))
	if r.OK || r.Status != 0 || r.Permanent || r.Error != "the receiver did not answer within 50ms" {
		t.Errorf("got %+v", r)
	}
	<-left
}

func TestSenderThatStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	if r := local(t).Send(ctx, message(url)); r.OK || r.Permanent || !strings.Contains(r.Error, "was interrupted") {
		t.Errorf("got %+v", r)
	}
}

// TestEndlessAnswer: only its start is read, and that it goes on is no failure.
func TestEndlessAnswer(t *testing.T) {
	var written atomic.Int64
	stopped := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(stopped)
		block := make([]byte, 64<<10)
		for {
			n, err := w.Write(block)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	})
	if r := local(t).Send(t.Context(), message(url)); !r.OK || r.Status != 200 {
		t.Errorf("got %+v, want success", r)
	}
	<-stopped
	t.Logf("the receiver could write %d bytes", written.Load())
}

// TestAnswerThatDoesNotEnd: the head has all that counts.
func TestAnswerThatDoesNotEnd(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s, began := sender(t, webhook.Options{AllowPrivate: true, Timeout: time.Minute}), time.Now()
	if r := s.Send(t.Context(), message(url)); !r.OK || r.Status != 200 {
		t.Errorf("got %+v, want success", r)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestBrokenReceivers(t *testing.T) {
	for name, c := range map[string]struct{ answer, says string }{
		"closes":           {"", "closed the connection"},
		"closes in a head": {"HTTP/1.1 200 OK\r\nContent-", "no answer"},
		"no HTTP":          {"\x1b[31mSSH-2.0 " + strings.Repeat("x", 5000) + "\r\n", "no answer"},
		"endless head":     {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "no answer"},
	} {
		url := "http://" + listen(t, c.answer) + "/?token=hidden"
		r := local(t).Send(t.Context(), message(url))
		if r.OK || r.Status != 0 || r.Permanent || !strings.Contains(r.Error, c.says) {
			t.Errorf("%s: %+v, want a failure that says %q", name, r, c.says)
		}
		if strings.ContainsAny(r.Error, "\x1b\r\n") || strings.Contains(r.Error, "hidden") || len(r.Error) > 1000 {
			t.Errorf("%s: the error is not fit for people: %q", name, r.Error)
		}
	}
}

// listen starts a server that says one thing to everybody and hangs up.
func listen(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			// The whole request is read first: what is unread when a
			// connection is closed resets it.
			_, _ = connection.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(connection, answer)
			connection.Close()
		}
	}()
	return listener.Addr().String()
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	address := listener.Addr().String()
	listener.Close()
	if r := local(t).Send(t.Context(), message("http://"+address+"/?token=hidden")); r.OK || r.Permanent || r.Error == "" || strings.Contains(r.Error, "hidden") {
		t.Errorf("got %+v, want a failure for now", r)
	}
}

// TestStrangeCertificate: who cannot prove to be the host gets nothing.
func TestStrangeCertificate(t *testing.T) {
	var came atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Store(true) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of the handshake
	server.StartTLS()
	defer server.Close()
	if r := local(t).Send(t.Context(), message(server.URL)); r.OK || !strings.Contains(r.Error, "certificate") || came.Load() {
		t.Errorf("got %+v, came %t", r, came.Load())
	}
}

// TestRebinding: a name server first tells an open address and then, when it is
// dialled, that of a server of this machine.
func TestRebinding(t *testing.T) {
	var came atomic.Bool
	server := serve(t, func(http.ResponseWriter, *http.Request) { came.Store(true) })
	_, port, _ := strings.Cut(strings.TrimPrefix(server, "http://"), ":")
	for _, inside := range []string{"127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "::1", "169.254.169.254", "10.0.0.1"} {
		var dialling atomic.Bool
		resolver := names(func() []netip.Addr {
			if dialling.Load() {
				return addresses(inside)()
			}
			return addresses("8.8.8.8")()
		})
		s := sender(t, webhook.Options{Resolver: resolver})
		address := "http://rebind.example.com:" + port + "/?token=hidden"
		if err := s.Check(t.Context(), address); err != nil {
			t.Fatalf("check: %v", err)
		}
		dialling.Store(true)
		r := s.Send(t.Context(), message(address))
		if r.OK || !r.Permanent || !strings.Contains(r.Error, "refused") || strings.Contains(r.Error, "hidden") {
			t.Errorf("%s: %+v, want a permanent failure", inside, r)
		}
	}
	if came.Load() {
		t.Error("a server of this machine was reached")
	}
	// The same name reaches it where that is allowed: the test can fail.
	s := sender(t, webhook.Options{Resolver: names(addresses("127.0.0.1")), AllowPrivate: true})
	if r := s.Send(t.Context(), message("http://rebind.example.com:"+port+"/")); !r.OK || !came.Load() {
		t.Errorf("with private addresses allowed: %+v", r)
	}
}

// TestConnectionsAreUsedAgain: answers that are short leave them usable.
func TestConnectionsAreUsedAgain(t *testing.T) {
	peers := make(chan string, 3)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers <- r.RemoteAddr
		_, _ = w.Write(make([]byte, 4000))
	})
	s := local(t)
	for range 3 {
		if r := s.Send(t.Context(), message(url)); !r.OK {
			t.Fatalf("got %+v", r)
		}
	}
	first := <-peers
	for range 2 {
		if again := <-peers; again != first {
			t.Errorf("a message came from %s, the first from %s", again, first)
		}
	}
}
