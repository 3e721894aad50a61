package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/httpapi/wire"
)

const (
	// streamPause is the least time between two looks at the truth.
	streamPause = 250 * time.Millisecond
	// streamShare bounds what a stream costs: after a look that took long it
	// rests that many times as long.
	streamShare = 4
	// streamWriteTimeout is how long a reader may take for one event.
	streamWriteTimeout = 10 * time.Second
)

// look reads the truth and sends what has changed; it reports when there is
// nothing more to come.
type look func(ctx context.Context, out *eventStream) (ended bool, err error)

// watch returns a channel that gets a token when something has changed.
type watch func() (changed <-chan struct{}, end func())

// stream looks whenever something has changed, until there is nothing more to
// come, the reader goes away or the service stops.
func (s *common) stream(hctx huma.Context, operation string, watch watch, look look) {
	r, w := humago.Unwrap(hctx)
	ctx := r.Context()
	out := openStream(w)
	if r.Method == http.MethodHead {
		// Nothing of it would be sent, and it would never end.
		return
	}
	changed, endWatch := watch()
	defer endWatch()
	heartbeat := time.NewTicker(wire.Heartbeat)
	defer heartbeat.Stop()
	for {
		began := time.Now()
		ended, err := look(ctx, out)
		if err != nil && out.err == nil && ctx.Err() == nil {
			_ = out.event(wire.EventError, s.problem(ctx, operation, err).Problem)
		}
		if ended || err != nil || !s.rest(ctx, max(streamPause, streamShare*time.Since(began))) {
			return
		}
		if !s.awaitChange(ctx, out, changed, heartbeat.C) {
			return
		}
	}
}

// rest keeps a stream from looking too often; it reports false when the stream
// is to end.
func (s *common) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.Lifecycle.streams:
	}
	return false
}

// awaitChange blocks until there is reason to look again, showing signs of
// life; it reports false when the stream is to end.
func (s *common) awaitChange(ctx context.Context, out *eventStream, changed <-chan struct{}, heartbeat <-chan time.Time) bool {
	for {
		select {
		case <-changed:
			return true
		case <-heartbeat:
			if out.comment("heartbeat") != nil {
				return false
			}
		case <-ctx.Done():
			return false
		case <-s.Lifecycle.streams:
			return false
		}
	}
}

// eventStream writes server-sent events. After an error nothing more is
// written.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func openStream(w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	// Proxies hold answers back unless told not to.
	w.Header().Set("X-Accel-Buffering", "no")
	s := &eventStream{w: w, control: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	// The reader is to know at once that the stream is open; a failure shows
	// with the first event.
	_ = s.write(nil)
	return s
}

func (s *eventStream) event(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text))
}

// identified is an event that a reader who comes back can go on after.
func (s *eventStream) identified(id, name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.write(fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", id, name, text))
}

func (s *eventStream) comment(text string) error { return s.write([]byte(": " + text + "\n\n")) }

func (s *eventStream) write(text []byte) error {
	if s.err != nil {
		return s.err
	}
	// A stream outlives the server's limit on answering, so every event has its
	// own. Where deadlines cannot be set there are none to outlive.
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	if _, s.err = s.w.Write(text); s.err == nil {
		s.err = s.control.Flush()
	}
	return s.err
}
