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
	// status is that of the answer, and id that of the last event.
	status int
	id     string
}

func (r *reader) Header() http.Header { return r.head }
func (r *reader) WriteHeader(n int)   { r.status = n }
func (r *reader) Flush()              {}
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// follow opens a stream, perhaps once more; it must be called in a synctest
// bubble.
func follow(t *testing.T, f *fake, path string, lastID ...string) *reader {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{t: t, cancel: cancel, done: make(chan struct{}), head: http.Header{}}
	h := httpapi.New(f.deps(), httpapi.Options{})
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if len(lastID) > 0 {
		request.Header.Set("Last-Event-ID", lastID[0])
	}
	go func() {
		defer close(r.done)
		h.ServeHTTP(r, request)
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
		head, data, isEvent := strings.Cut(block, "\ndata: ")
		if !isEvent {
			out = append(out, block)
			continue
		}
		id, name, identified := strings.Cut(head, "\nevent: ")
		if identified {
			r.id = strings.TrimPrefix(id, "id: ")
		} else {
			name = strings.TrimPrefix(head, "event: ")
		}
		var all struct {
			Runs         []json.RawMessage
			More, Missed bool
		}
		if err := json.Unmarshal([]byte(data), &all); err != nil {
			r.t.Errorf("%v in %q", err, data)
		}
		if all.Runs == nil {
			out = append(out, name+" "+r.told([]byte(data)))
			continue
		}
		var runs []string
		for _, run := range all.Runs {
			runs = append(runs, r.told(run))
		}
		if all.More {
			runs = append(runs, "more")
		}
		if all.Missed {
			runs = append(runs, "missed")
		}
		out = append(out, fmt.Sprint(name, runs))
	}
	r.text.Reset()
	return strings.Join(out, ", ")
}

// told is the id and the calls of a run.
func (r *reader) told(data []byte) string {
	r.t.Helper()
	var p engine.Progress
	if err := json.Unmarshal(data, &struct {
		*engine.Progress
		Status any `json:"status"`
	}{Progress: &p}); err != nil {
		r.t.Errorf("%v in %q", err, data)
	}
	return fmt.Sprintf("%d %d", p.ID, p.Calls)
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
		r.expect("snapshot 1 0")
		if got := r.head.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("the stream is of type %q", got)
		}
		time.Sleep(time.Second)
		f.put(runAt(1, 1, domain.RunRunning))
		r.expect("progress 1 1")
		time.Sleep(time.Second)
		f.touch()
		r.expect("") // something else changed
		f.put(runAt(1, 2, domain.RunFinalizing))
		time.Sleep(time.Second)
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
			time.Sleep(10 * time.Millisecond)
		}
		events := strings.Count(r.read(), "progress")
		if events < 35 || events > 41 {
			t.Errorf("%d events in 10 s, want 4 a second", events)
		}
		if looks := f.looks - before; looks > events+1 {
			t.Errorf("%d looks for %d events", looks, events)
		}
		f.put(runAt(1, 5000, domain.RunRunning))
		time.Sleep(250 * time.Millisecond)
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
		time.Sleep(time.Second)
		r.expect("snapshot 1 0")
		before := f.looks
		time.Sleep(45 * time.Second)
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
		r.expect("snapshot 1 0")
		time.Sleep(time.Second)
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
		r.expect("snapshot[2 0]") // what had ended before is history
		step := func(want string, runs ...domain.Run) {
			t.Helper()
			for _, run := range runs {
				f.put(run)
			}
			time.Sleep(time.Second)
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
		got := r.read()
		if runs := strings.Count(got, " 0"); runs != 1200 || strings.Count(got, "snapshot") != 3 || strings.Count(got, "more") != 2 {
			t.Errorf("%d of 1200 runs were sent: %s", runs, got)
		}
	})
}

func TestStreamOutlivesTheWriteTimeout(t *testing.T) {
	f := newFake()
	l, err := httpapi.Listen("127.0.0.1:0")
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
	if err != nil || !strings.HasPrefix(line, "id: ") {
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

// TestRunStreamIsResumed: a reader that comes back is not told again what it has.
func TestRunStreamIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := follow(t, f, "/api/v1/runs/1/events")
		r.expect("snapshot 1 0")
		r.cancel()
		again := follow(t, f, "/api/v1/runs/1/events", r.id)
		again.expect("")
		time.Sleep(time.Second)
		f.put(runAt(1, 1, domain.RunRunning))
		again.expect("progress 1 1")
		again.cancel()
		f.put(runAt(1, 2, domain.RunCompleted))
		last := follow(t, f, "/api/v1/runs/1/events", again.id)
		last.expect("snapshot 1 2")
		if !last.ended(f) {
			t.Error("the stream goes on after the run has ended")
		}
		if over := follow(t, f, "/api/v1/runs/1/events", last.id); over.status != http.StatusNoContent || !over.ended(f) {
			t.Errorf("who has everything is answered %d", over.status)
		}
		if other := follow(t, f, "/api/v1/runs/1/events", "of another service"); other.read() != "snapshot 1 2" {
			t.Error("an id that is not known hides how the run stands")
		}
	})
}

// TestStreamOfAllRunsIsResumed: what ends while nobody follows is told, whichever
// event was the last.
func TestStreamOfAllRunsIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.put(runAt(1, 7, domain.RunCompleted))
		f.put(runAt(2, 0, domain.RunRunning))
		f.put(runAt(3, 0, domain.RunRunning))
		r := follow(t, f, "/api/v1/events")
		r.expect("snapshot[2 0 3 0]")
		time.Sleep(time.Second)
		f.put(runAt(3, 5, domain.RunCompleted))
		r.expect("progress 3 5")
		r.cancel()
		f.put(runAt(2, 4, domain.RunFailed))
		f.put(runAt(4, 1, domain.RunRunning))
		f.put(runAt(5, 9, domain.RunCompleted))
		// Run 2 was active, so 3 is told once more.
		again := follow(t, f, "/api/v1/events?after=-1", r.id)
		again.expect("snapshot[4 1], progress 2 4, progress 3 5, progress 5 9")
		again.cancel()
		third := follow(t, f, "/api/v1/events", again.id)
		third.expect("snapshot[4 1], progress 5 9")
		third.cancel()
		f.put(runAt(4, 2, domain.RunCompleted))
		fourth := follow(t, f, "/api/v1/events", third.id)
		fourth.expect("snapshot[], progress 4 2, progress 5 9")
		fourth.cancel()
		fifth := follow(t, f, "/api/v1/events", fourth.id)
		fifth.expect("snapshot[]")
		fifth.cancel()
		f.put(runAt(20_000, 0, domain.RunRunning))
		old := follow(t, f, "/api/v1/events", fifth.id)
		old.expect("snapshot[20000 0 missed]")
		old.cancel()
		if bad := follow(t, f, "/api/v1/events", "nonsense"); bad.status != http.StatusUnprocessableEntity || !bad.ended(f) {
			t.Errorf("an id of no event is answered %d", bad.status)
		}
	})
}

// TestHeadOfAStreamEnds: it would have nothing to say, for ever.
func TestHeadOfAStreamEnds(t *testing.T) {
	f := newFake()
	h := httpapi.New(f.deps(), httpapi.Options{})
	for _, path := range []string{"/api/v1/events", "/api/v1/runs/1/events"} {
		if w := ask(h, http.MethodHead, "http://localhost"+path); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}
