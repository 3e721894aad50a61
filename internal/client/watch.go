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
	"slices"
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
var errSilent = errors.New("it has stopped answering")

// WatchRun yields a run's progress, first as it is and then whenever it
// changes, until the run has ended. A stream that breaks off before that ends
// with an error of code unavailable; watching again goes on where things stand.
func (c runCalls) WatchRun(ctx context.Context, id int64) iter.Seq2[engine.Progress, error] {
	return follow(ctx, c.transport, runPath(id, "/events"), nil, one[engine.Progress](wire.EventSnapshot, wire.EventProgress),
		func(p engine.Progress) bool { return !p.Status.Active() })
}

// Watch yields the progress of every active run, and then of every run
// whenever it changes, until ctx ends.
func (c runCalls) Watch(ctx context.Context) iter.Seq2[engine.Progress, error] {
	return c.WatchAfter(ctx, -1)
}

// WatchAfter is Watch that also yields runs with an id larger than after that
// have ended already, so that none of them is missed between starting it and
// watching it.
func (c runCalls) WatchAfter(ctx context.Context, after int64) iter.Seq2[engine.Progress, error] {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}}
	return follow(ctx, c.transport, api+"/events", q, progressOfAll, func(engine.Progress) bool { return false })
}

// progressOfAll reads the stream of all runs, which begins with how those stand
// that are active.
func progressOfAll(name string, data []byte) ([]engine.Progress, error) {
	if name != wire.EventSnapshot {
		return one[engine.Progress](wire.EventProgress)(name, data)
	}
	var all wire.RunsSnapshot
	err := json.Unmarshal(data, &all)
	return all.Runs, err
}

// reading makes of an event what the caller is told; nothing of ones of names that
// are not known yet.
type reading[T any] func(name string, data []byte) ([]T, error)

// one reads events of some names, each of which tells one thing.
func one[T any](names ...string) reading[T] {
	return func(name string, data []byte) ([]T, error) {
		if !slices.Contains(names, name) {
			return nil, nil
		}
		var p T
		err := json.Unmarshal(data, &p)
		return []T{p}, err
	}
}

// follow yields what events tell until the last of it.
func follow[T any](ctx context.Context, c *transport, path string, query url.Values, read reading[T], last func(T) bool) iter.Seq2[T, error] {
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
		for p, err := range events(res.Body, read, func() { alive.Reset(silence) }) {
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
func (c *transport) brokenOff(stream context.Context, err error) error {
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
func events[T any](r io.Reader, read reading[T], alive func()) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		var name string
		var data []byte
		var none T
		for lines.Scan() {
			alive()
			line := lines.Text()
			if value, ok := field(line, "event"); ok {
				name = value
			} else if value, ok := field(line, "data"); ok {
				data = append(data, value...)
			} else if line == "" && len(data) > 0 {
				told, err := decode(name, data, read)
				if err != nil {
					yield(none, err)
					return
				}
				for _, p := range told {
					if !yield(p, nil) {
						return
					}
				}
				name, data = "", nil
			}
		}
		err := lines.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		yield(none, err)
	}
}

func field(line, name string) (string, bool) {
	value, ok := strings.CutPrefix(line, name+":")
	return strings.TrimPrefix(value, " "), ok
}

// decode reads an event.
func decode[T any](name string, data []byte, read reading[T]) ([]T, error) {
	if name != wire.EventError {
		return read(name, data)
	}
	var problem wire.Problem
	err := json.Unmarshal(data, &problem)
	if err == nil {
		err = problemError(problem)
	}
	return nil, err
}
