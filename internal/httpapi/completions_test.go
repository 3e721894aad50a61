package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/httpapi"
	"sluice/internal/timer"
)

// listener reads the stream of completions.
type listener struct {
	*reader
	times map[string]int
	last  string
	beats int
}

// listen opens a stream; lastID is what a browser that comes back sends.
func (c *clockwork) listen(h http.Handler, query, lastID string) *listener {
	ctx, cancel := context.WithCancel(c.t.Context())
	l := &listener{times: map[string]int{}, reader: &reader{t: c.t, cancel: cancel, done: make(chan struct{}), head: http.Header{}}}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/completions/events"+query, nil)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	go func() {
		defer close(l.done)
		h.ServeHTTP(l.reader, r)
	}()
	synctest.Wait()
	return l
}

// take reads what came since.
func (l *listener) take() *listener {
	l.t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for block := range strings.SplitSeq(strings.TrimSuffix(l.text.String(), "\n\n"), "\n\n") {
		fields := map[string]string{}
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			fields[name] = value
		}
		switch {
		case fields["event"] == "completion":
			var c timer.Completion
			if err := json.Unmarshal([]byte(fields["data"]), &c); err != nil {
				l.t.Errorf("%v in %s", err, block)
			}
			l.times[c.Timer]++
			l.last = fields["id"]
		case strings.HasPrefix(block, ": heartbeat"):
			l.beats++
		case block != "":
			l.t.Errorf("got %s", block)
		}
	}
	l.text.Reset()
	return l
}

func (l *listener) close() {
	l.cancel()
	<-l.done
}

func (c *clockwork) set(from, to int) {
	c.t.Helper()
	for i := from; i < to; i++ {
		if _, err := c.Set(c.t.Context(), timer.Spec{ID: fmt.Sprintf("t%03d", i), At: time.Now()}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// each checks that timers were told, so many times at the most.
func (l *listener) each(from, to, most int) {
	l.t.Helper()
	l.take()
	for i := from; i < to; i++ {
		if n := l.times[fmt.Sprintf("t%03d", i)]; n < 1 || n > most {
			l.t.Errorf("told of timer %d %d times", i, n)
		}
	}
}

func TestCompletionStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		c.set(0, 5)
		<-time.After(10 * time.Second)
		l := c.listen(c.handler, "", "")
		if got := l.head.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("the stream is of type %q", got)
		}
		if l.take(); len(l.times) != 0 {
			t.Errorf("told of what is long over: %v", l.times)
		}
		for i := 5; i < 50; i += 5 {
			c.set(i, i+5)
			<-time.After(700 * time.Millisecond)
		}
		<-time.After(time.Second)
		l.each(5, 50, 1)
		<-time.After(time.Minute)
		if l.take(); l.beats < 3 || l.beats > 5 {
			t.Errorf("%d signs of life in a minute, want four", l.beats)
		}
		l.each(5, 50, 1)
		l.close()
		c.set(50, 60)
		<-time.After(time.Minute)
		c.set(60, 65)
		back := map[string]*listener{
			"Last-Event-ID": c.listen(c.handler, "", l.last),
			"after":         c.listen(c.handler, "?after="+l.last, ""),
		}
		c.set(65, 70)
		<-time.After(time.Second)
		for name, again := range back {
			again.each(50, 70, 1)
			if again.times["t000"] != 0 {
				t.Errorf("%s: told of what was before: %v", name, again.times)
			}
			again.close()
		}
	})
}

// TestCompletionStreamOfMany has more to tell than one look at the log holds.
func TestCompletionStreamOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		l := c.listen(c.handler, "", "")
		var specs []timer.Spec
		for i := range 2500 {
			specs = append(specs, timer.Spec{ID: fmt.Sprintf("m%04d", i), At: time.Now().Add(time.Duration(i%2) * time.Second)})
		}
		if _, err := c.Set(t.Context(), specs...); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		if l.take(); len(l.times) != 2500 {
			t.Errorf("told of %d, want 2500", len(l.times))
		}
		for id, n := range l.times {
			if n != 1 {
				t.Errorf("told of %s %d times", id, n)
			}
		}
		l.close()
	})
}

// slowHistory shows completions only so long after they were fired, as a copy
// of a database does that is behind.
type slowHistory struct {
	timer.Store
	mu    sync.Mutex
	delay map[string]time.Duration
}

func (s *slowHistory) hold(id string, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay[id] = delay
}

func (s *slowHistory) Completions(ctx context.Context, from time.Time, after string, limit int) ([]timer.Completion, error) {
	all, err := s.Store.Completions(ctx, from, after, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []timer.Completion
	for _, c := range all {
		if time.Since(c.Fired) >= s.delay[c.Timer] {
			out = append(out, c)
		}
	}
	return out, err
}

// TestCompletionsThatShowLate: some show seconds after others that fired later,
// and some when nothing else happens any more.
func TestCompletionsThatShowLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowHistory{delay: map[string]time.Duration{}}
		c := newClockwork(t, func(o *timer.Options) {
			slow.Store = o.Store
			o.Store = slow
		})
		l := c.listen(c.handler, "", "")
		for i := range 40 {
			if i%3 == 0 {
				slow.hold(fmt.Sprintf("t%03d", i), 2500*time.Millisecond)
			}
			c.set(i, i+1)
			<-time.After(200 * time.Millisecond)
		}
		<-time.After(10 * time.Second)
		l.each(0, 40, 1)
		l.close()
	})
}

// brokenLog takes nothing.
type brokenLog struct{ timer.Log }

func (brokenLog) Append(context.Context, []timer.Completion) error {
	return context.DeadlineExceeded
}

// TestStreamDoesNotWaitForTheLog: who is told of what fires does not depend on
// a log of its own.
func TestStreamDoesNotWaitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, func(o *timer.Options) { o.Log = brokenLog{} })
		l := c.listen(c.handler, "", "")
		c.set(0, 10)
		<-time.After(time.Second)
		l.each(0, 10, 1)
		l.close()
	})
}

func TestStreamEndsWithTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		l := c.listen(c.handler, "", "")
		<-time.After(time.Second)
		c.fake.lifecycle.Stopping()
		<-l.done
	})
}

func TestRedisStatsWithoutRedis(t *testing.T) {
	d := newFake().deps()
	if w := ask(httpapi.New(d, httpapi.Options{}), http.MethodGet, "http://localhost/debug/redis/stats"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "no Redis") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	d.Redis = func(context.Context) (any, error) { return map[string]int{"keys": 7}, nil }
	for token, status := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, "Bearer s3cret": http.StatusOK} {
		w := ask(httpapi.New(d, httpapi.Options{APIToken: "s3cret"}), http.MethodGet, "http://sluice.example/debug/redis/stats", "Authorization", token)
		if w.Code != status || (status == http.StatusOK) != strings.Contains(w.Body.String(), `"keys":7`) {
			t.Errorf("with %q: got %d %s", token, w.Code, w.Body)
		}
	}
}
