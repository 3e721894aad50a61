package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// recorded is one request that can be made again.
type recorded struct {
	method, url string
	header      http.Header
	body        []byte
}

// recorder is a transport that remembers every request it carries.
type recorder struct {
	next http.RoundTripper

	mu       sync.Mutex
	requests []recorded
}

func newRecorder() *recorder { return &recorder{next: newTransport()} }

// newTransport keeps connections open for every worker, as the source does.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 256, ReadBufferSize: 64 << 10}
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	kept := recorded{method: request.Method, url: request.URL.String(), header: request.Header.Clone()}
	if request.Body != nil {
		var err error
		if kept.body, err = io.ReadAll(request.Body); err != nil {
			return nil, errors.Join(err, request.Body.Close())
		}
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(kept.body))
	}
	r.mu.Lock()
	r.requests = append(r.requests, kept)
	r.mu.Unlock()
	return r.next.RoundTrip(request)
}

// replay makes the requests again with a number of workers, reads the answers
// to their end and discards them.
func replay(ctx context.Context, requests []recorded, workers int) (effort, error) {
	transport := newTransport()
	defer transport.CloseIdleConnections()
	return timed(func() (int, error) {
		var next atomic.Int64
		group, ctx := errgroup.WithContext(ctx)
		for range workers {
			group.Go(func() error {
				for i := int(next.Add(1)) - 1; i < len(requests); i = int(next.Add(1)) - 1 {
					if err := requests[i].send(ctx, transport); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return len(requests), group.Wait()
	})
}

func (r recorded) send(ctx context.Context, transport http.RoundTripper) error {
	request, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	request.Header = r.header.Clone()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s %s: %s", r.method, r.url, answer.Status)
	}
	return nil
}
