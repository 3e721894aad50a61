package watching_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// valve stands before an upstream, or is one, and has it behave as it is told.
type valve struct {
	behind http.Handler

	mu     sync.Mutex
	opened chan struct{}
	held   int
	delay  time.Duration
	answer func(w http.ResponseWriter)
}

// newValve returns an open one, and its address.
func newValve(t *testing.T, behind http.Handler) (*valve, string) {
	t.Helper()
	v := &valve{behind: behind}
	server := httptest.NewServer(v)
	t.Cleanup(func() {
		v.open()
		server.Close()
	})
	return v, server.URL
}

// ServeHTTP implements http.Handler.
func (v *valve) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	opened, delay := v.opened, v.delay
	if opened != nil {
		v.held++
	}
	v.mu.Unlock()
	if opened != nil {
		select {
		case <-opened:
		case <-r.Context().Done():
			return
		}
	}
	if delay > 0 {
		late := time.NewTimer(delay)
		defer late.Stop()
		select {
		case <-late.C:
		case <-r.Context().Done():
			return
		}
	}
	v.mu.Lock()
	answer := v.answer
	v.mu.Unlock()
	if answer != nil {
		answer(w)
		return
	}
	v.behind.ServeHTTP(w, r)
}

// close holds every request from now until it is opened.
func (v *valve) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opened, v.held = make(chan struct{}), 0
}

// holds tells how many requests have come since it was closed.
func (v *valve) holds() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.held
}

// open lets everything through, as it is.
func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opened != nil {
		close(v.opened)
	}
	v.opened, v.delay, v.answer = nil, 0, nil
}

// slow has every request wait.
func (v *valve) slow(by time.Duration) {
	v.open()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.delay = by
}

// say answers every request with a status and headers.
func (v *valve) say(status int, headers ...string) {
	v.open()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answer = func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"message":"you have exceeded a secondary rate limit"}`))
	}
}
