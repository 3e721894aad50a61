package httpapi

import "sync"

// Lifecycle is where the service stands: starting, ready, stopping. The one
// who starts and stops it keeps it up to date.
type Lifecycle struct {
	mu       sync.Mutex
	ready    bool
	stopped  bool
	stopping chan struct{}
	// streams is closed when event streams are to end.
	streams chan struct{}
	ended   bool
}

// NewLifecycle returns one that is starting.
func NewLifecycle() *Lifecycle {
	return &Lifecycle{stopping: make(chan struct{}), streams: make(chan struct{})}
}

// Ready says that the service has started.
func (l *Lifecycle) Ready() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = true
}

// Stopping says that the service is about to end. Event streams end with it,
// so that a server can be shut down. It may be called twice.
func (l *Lifecycle) Stopping() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.stopped = true
		close(l.stopping)
	}
	l.endStreams()
}

// EndStreams ends event streams, whose readers come again; all else may end by itself.
// It may be called twice.
func (l *Lifecycle) EndStreams() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endStreams()
}

// endStreams is EndStreams for who holds the lock.
func (l *Lifecycle) endStreams() {
	if !l.ended {
		l.ended = true
		close(l.streams)
	}
}

// unready says why requests should go elsewhere; "" if they need not.
func (l *Lifecycle) unready() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return "the service is stopping"
	case !l.ready:
		return "the service is starting"
	}
	return ""
}
