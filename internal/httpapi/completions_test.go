package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// listener reads the stream of completions.
type listener struct {
	*reader
	times map[string]int
	last  string
	beats int
	// began is what the stream began with.
	began wire.CompletionsSnapshot
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
		case fields["event"] == "snapshot":
			if err := json.Unmarshal([]byte(fields["data"]), &l.began); err != nil {
				l.t.Errorf("%v in %s", err, block)
			}
			if l.last = fields["id"]; l.last != strconv.FormatInt(l.began.Position, 10) {
				l.t.Errorf("got %s", block)
			}
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
		time.Sleep(10 * time.Second)
		l := c.listen(c.handler, "", "")
		if got := l.head.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("the stream is of type %q", got)
		}
		if l.take(); len(l.times) != 0 {
			t.Errorf("told of what is long over: %v", l.times)
		}
		for i := 5; i < 50; i += 5 {
			c.set(i, i+5)
			time.Sleep(700 * time.Millisecond)
		}
		time.Sleep(time.Second)
		l.each(5, 50, 1)
		time.Sleep(time.Minute)
		if l.take(); l.beats < 3 || l.beats > 5 {
			t.Errorf("%d signs of life in a minute, want four", l.beats)
		}
		l.each(5, 50, 1)
		l.close()
		c.set(50, 60)
		time.Sleep(time.Minute)
		c.set(60, 65)
		back := map[string]*listener{
			"Last-Event-ID": c.listen(c.handler, "", l.last),
			"after":         c.listen(c.handler, "?after="+l.last, ""),
		}
		c.set(65, 70)
		time.Sleep(time.Second)
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
		time.Sleep(5 * time.Second)
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

// TestCompletionsAfterTheClockWasSetBack: the store dates what fires by clocks
// that are set back by an hour, and forward again.
func TestCompletionsAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		l := c.listen(c.handler, "", "")
		fire := func(from, to int, offset time.Duration) {
			t.Helper()
			var ids []string
			var specs []timer.Spec
			for i := from; i < to; i++ {
				ids = append(ids, fmt.Sprintf("t%03d", i))
				specs = append(specs, timer.Spec{ID: ids[len(ids)-1], At: time.Now().Add(-2 * time.Hour)})
			}
			now := time.Now().Add(offset)
			if _, err := c.Store.Put(t.Context(), specs, now); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Store.Fire(t.Context(), timer.Firing{IDs: ids, Now: now, Server: "elsewhere"}); err != nil {
				t.Fatal(err)
			}
			// Whatever else fires here lets listeners look.
			if _, err := c.Set(t.Context(), timer.Spec{ID: fmt.Sprintf("now%d", from), At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		fire(0, 5, 0)
		time.Sleep(10 * time.Second)
		fire(5, 10, -time.Hour)
		time.Sleep(10 * time.Second)
		fire(10, 15, 0)
		l.each(0, 15, 1)
		middle := l.last
		l.close()
		fire(15, 20, -time.Hour)
		back := c.listen(c.handler, "", middle)
		fire(20, 25, -30*time.Minute)
		back.each(15, 25, 1)
		if back.times["t014"] != 0 {
			t.Errorf("told again of %v", back.times)
		}
		back.close()
	})
}

// TestOldNamesOfEvents: a listener comes back that was here before events were
// named by their positions.
func TestOldNamesOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		c.set(0, 3)
		time.Sleep(10 * time.Second)
		at := time.Now()
		c.set(3, 6)
		time.Sleep(time.Second)
		l := c.listen(c.handler, "", fmt.Sprintf("%d:t002", at.UnixMicro()))
		time.Sleep(time.Second)
		l.each(3, 6, 1)
		if len(l.times) != 3 {
			t.Errorf("told of %v", l.times)
		}
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
		time.Sleep(time.Second)
		l.each(0, 10, 1)
		l.close()
	})
}

func TestStreamEndsWithTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		l := c.listen(c.handler, "", "")
		time.Sleep(time.Second)
		c.fake.lifecycle.Stopping()
		<-l.done
	})
}

func TestRedisStatsWithoutRedis(t *testing.T) {
	d := newFake().deps()
	if w := ask(httpapi.New(d, httpapi.Options{}), http.MethodGet, "http://localhost/debug/redis/stats"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "does not use Redis") {
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

// TestCompletionsFromElsewhere: a reader is told when it may have missed some.
func TestCompletionsFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		before := c.listen(c.handler, "", "")
		before.take().close()
		if before.last != "0" || before.began.Missed {
			t.Errorf("before anything has fired: %+v", before.began)
		}
		c.set(0, 5)
		time.Sleep(10 * time.Second)
		// It comes back with what it had when nothing had fired; the address is older.
		back := c.listen(c.handler, "?after=3", before.last)
		back.each(0, 5, 1)
		back.close()
		if back.began.Missed {
			t.Errorf("nothing was missed: %+v", back.began)
		}
		beyond := c.listen(c.handler, "", "5000")
		beyond.take().close()
		if !beyond.began.Missed || beyond.began.Position != 5 || len(beyond.times) != 0 {
			t.Errorf("a position that is not reached yet: %+v", beyond.began)
		}
	})
}
