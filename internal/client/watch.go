package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

const (
	// silence is how long a stream may say nothing, not even that it is alive.
	silence = 3 * wire.Heartbeat
	// maxEvent bounds one event.
	maxEvent = 4 << 20
)

// errSilent ends a stream that has said nothing for too long.
var errSilent = errors.New("it says nothing any more")

// WatchRun yields a run's progress, first as it is and then whenever it
// changes, until the run has ended. A stream that breaks off before that ends
// with an error of code unavailable; watching again goes on where things stand.
func (c *Client) WatchRun(ctx context.Context, id int64) iter.Seq2[engine.Progress, error] {
	return follow(ctx, c, runPath(id, "/events"), nil, wire.EventProgress, func(p engine.Progress) bool { return !p.Status.Active() })
}

// Watch yields the progress of every active run, and then of every run
// whenever it changes, until ctx ends.
func (c *Client) Watch(ctx context.Context) iter.Seq2[engine.Progress, error] {
	return c.WatchAfter(ctx, -1)
}

// WatchAfter is Watch that also yields runs with an id larger than after that
// have ended already, so that none of them is missed between starting it and
// watching it.
func (c *Client) WatchAfter(ctx context.Context, after int64) iter.Seq2[engine.Progress, error] {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}}
	return follow(ctx, c, api+"/events", q, wire.EventProgress, func(engine.Progress) bool { return false })
}

// follow yields the events of a name until the last of them.
func follow[T any](ctx context.Context, c *Client, path string, query url.Values, name string, last func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		stream, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		alive := time.AfterFunc(silence, func() { cancel(errSilent) })
		defer alive.Stop()
		res, err := c.send(stream, http.MethodGet, path, query, nil)
		if err != nil {
			yield(none, c.brokenOff(stream, err))
			return
		}
		defer func() { _ = res.Body.Close() }()
		for p, err := range events[T](res.Body, name, func() { alive.Reset(silence) }) {
			if err != nil {
				yield(none, c.brokenOff(stream, err))
				return
			}
			// What the caller does with it is no silence of the service.
			alive.Stop()
			if !yield(p, nil) || last(p) {
				return
			}
			alive.Reset(silence)
		}
	}
}

// brokenOff explains the end of a stream that ended too soon.
func (c *Client) brokenOff(stream context.Context, err error) error {
	switch cause := context.Cause(stream); {
	case errors.Is(cause, errSilent):
		err = cause
	case cause != nil:
		return cause
	}
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return known
	}
	return domain.Errorf(domain.CodeUnavailable, "the service at %s broke off: %w", c.base, err)
}

// events reads server-sent events until the stream ends, which is always
// yielded as an error. Every line read counts as a sign of life.
func events[T any](r io.Reader, wanted string, alive func()) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		var name string
		var data []byte
		for lines.Scan() {
			alive()
			line := lines.Text()
			if value, ok := field(line, "event"); ok {
				name = value
			} else if value, ok := field(line, "data"); ok {
				data = append(data, value...)
			} else if line == "" && len(data) > 0 {
				p, err := decode[T](name, wanted, data)
				if known := name == wanted || err != nil; known && !yield(p, err) || err != nil {
					return
				}
				name, data = "", nil
			}
		}
		err := lines.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		var none T
		yield(none, err)
	}
}

func field(line, name string) (string, bool) {
	value, ok := strings.CutPrefix(line, name+":")
	return strings.TrimPrefix(value, " "), ok
}

// decode reads an event; ones of names not known yet mean nothing.
func decode[T any](name, wanted string, data []byte) (p T, err error) {
	switch name {
	case wanted:
		err = json.Unmarshal(data, &p)
	case wire.EventError:
		var problem wire.Problem
		if err = json.Unmarshal(data, &problem); err == nil {
			err = problemError(problem)
		}
	}
	return p, err
}
