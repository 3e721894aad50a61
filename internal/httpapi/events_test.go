package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
)

// reader follows a stream without a network, so that time is the test's own.
type reader struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	head http.Header
}

func (r *reader) Header() http.Header { return r.head }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Flush()              {}
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// follow opens a stream; it must be called in a synctest bubble.
func follow(t *testing.T, f *fake, path string) *reader {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{t: t, cancel: cancel, done: make(chan struct{}), head: http.Header{}}
	h := httpapi.New(f.deps(), httpapi.Options{})
	go func() {
		defer close(r.done)
		h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil))
	}()
	synctest.Wait()
	return r
}

// read returns what came since the last read, as "name id calls" for each
// event and the text of each comment.
func (r *reader) read() string {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSuffix(r.text.String(), "\n\n"), "\n\n") {
		name, data, isEvent := strings.Cut(block, "\ndata: ")
		if !isEvent {
			out = append(out, block)
			continue
		}
		var p engine.Progress
		if err := json.Unmarshal([]byte(data), &struct {
			*engine.Progress
			Status any `json:"status"`
		}{Progress: &p}); err != nil {
			r.t.Errorf("%v in %q", err, data)
		}
		out = append(out, fmt.Sprintf("%s %d %d", strings.TrimPrefix(name, "event: "), p.ID, p.Calls))
	}
	r.text.Reset()
	return strings.Join(out, ", ")
}

func (r *reader) expect(want string) {
	r.t.Helper()
	if got := r.read(); got != want {
		r.t.Errorf("got %q, want %q", got, want)
	}
}

// ended reports whether the stream is over and nobody watches for it.
func (r *reader) ended(f *fake) bool {
	synctest.Wait()
	select {
	case <-r.done:
	default:
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.watched
}

func runAt(id, calls int64, status domain.RunStatus) domain.Run {
	return domain.Run{ID: id, Status: status, Priority: domain.PriorityHigh, RunCounts: domain.RunCounts{Calls: calls}}
}

func TestRunStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := follow(t, f, "/api/v1/runs/1/events")
		r.expect("progress 1 0")
		if got := r.head.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("the stream is of type %q", got)
		}
		<-time.After(time.Second)
		f.put(runAt(1, 1, domain.RunRunning))
		r.expect("progress 1 1")
		<-time.After(time.Second)
		f.touch()
		r.expect("") // something else changed
		f.put(runAt(1, 2, domain.RunFinalizing))
		<-time.After(time.Second)
		r.expect("progress 1 2")
		f.put(runAt(1, 2, domain.RunCompleted))
		r.expect("progress 1 2")
		if !r.ended(f) {
			t.Error("the stream goes on after the run has ended")
		}
	})
}

func TestStreamPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := follow(t, f, "/api/v1/runs/1/events")
		before := f.looks
		for i := range int64(1000) {
			f.put(runAt(1, i+1, domain.RunRunning))
			<-time.After(10 * time.Millisecond)
		}
		events := strings.Count(r.read(), "progress")
		if events < 35 || events > 41 {
			t.Errorf("%d events in 10 s, want 4 a second", events)
		}
		if looks := f.looks - before; looks > events+1 {
			t.Errorf("%d looks for %d events", looks, events)
		}
		f.put(runAt(1, 5000, domain.RunRunning))
		<-time.After(250 * time.Millisecond)
		if got := r.read(); !strings.HasSuffix(got, "progress 1 5000") {
			t.Errorf("the last change is not sent: %q", got)
		}
		r.cancel()
		if !r.ended(f) {
			t.Error("the stream goes on without its reader")
		}
	})
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := follow(t, f, "/api/v1/runs/1/events")
		<-time.After(time.Second)
		r.expect("progress 1 0")
		before := f.looks
		<-time.After(45 * time.Second)
		r.expect(": heartbeat, : heartbeat, : heartbeat")
		if f.looks != before {
			t.Errorf("%d looks while nothing changed", f.looks-before)
		}
		f.lifecycle.Stopping()
		if !r.ended(f) {
			t.Error("the stream goes on while the service stops")
		}
	})
}

func TestStreamError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := follow(t, f, "/api/v1/runs/1/events")
		r.expect("progress 1 0")
		<-time.After(time.Second)
		f.fail(domain.Errorf(domain.CodeUnavailable, "the disk is full"))
		synctest.Wait()
		r.mu.Lock()
		text := r.text.String()
		r.mu.Unlock()
		if !strings.HasPrefix(text, "event: error\n") || !strings.Contains(text, "the disk is full") || !strings.Contains(text, `"code":"unavailable"`) {
			t.Errorf("got %q", text)
		}
		if !r.ended(f) {
			t.Error("the stream goes on after its error")
		}
	})
}

func TestStreamOfAllRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.put(runAt(1, 7, domain.RunCompleted))
		f.put(runAt(2, 0, domain.RunRunning))
		r := follow(t, f, "/api/v1/events")
		r.expect("progress 2 0") // what had ended before is history
		step := func(want string, runs ...domain.Run) {
			t.Helper()
			for _, run := range runs {
				f.put(run)
			}
			<-time.After(time.Second)
			r.expect(want)
		}
		step("progress 2 1, progress 3 0", runAt(2, 1, domain.RunRunning), runAt(3, 0, domain.RunRunning))
		step("progress 3 4", runAt(3, 4, domain.RunCompleted))
		step("progress 4 9", runAt(4, 9, domain.RunFailed))  // began and ended between two looks
		step("progress 1 8", runAt(1, 8, domain.RunRunning)) // a retried job brought it back
		step("", runAt(2, 1, domain.RunRunning))
		step("progress 1 8, progress 2 1", runAt(1, 8, domain.RunCompleted), runAt(2, 1, domain.RunCanceled))
		r.cancel()
		if !r.ended(f) {
			t.Error("the stream goes on without its reader")
		}
	})
}

func TestStreamOfManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		for id := int64(1); id <= 1200; id++ {
			f.put(runAt(id, 0, domain.RunRunning))
		}
		r := follow(t, f, "/api/v1/events")
		defer r.cancel()
		if got := strings.Count(r.read(), "progress"); got != 1200 {
			t.Errorf("%d of 1200 runs were sent", got)
		}
	})
}

func TestStreamOutlivesTheWriteTimeout(t *testing.T) {
	f := newFake()
	l, err := httpapi.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer(httpapi.New(f.deps(), httpapi.Options{}), slog.New(slog.DiscardHandler))
	server.WriteTimeout = time.Nanosecond // over before anything is written
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	res, err := http.Get("http://" + l.Addr().String() + "/api/v1/runs/1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || line != "event: progress\n" {
		t.Errorf("got %q, %v", line, err)
	}
	f.lifecycle.Stopping() // or the stream would hold up the shutdown
	if err := server.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
