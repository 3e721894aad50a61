package redis

import (
	"context"
	"sync"

	"sluice/internal/domain"
)

// lifetime knows what goes on in an adapter, so that closing can end it. The
// zero value is ready to use.
type lifetime struct {
	mu     sync.Mutex
	closed bool
	last   int
	ends   map[int]context.CancelFunc
	tasks  sync.WaitGroup
}

// begin returns a context that also ends when the adapter is closed, and what
// to call when the task is done. A closed adapter begins nothing.
func (l *lifetime) begin(ctx context.Context) (task context.Context, done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ctx, func() {}, false
	}
	task, cancel := context.WithCancel(ctx)
	if l.ends == nil {
		l.ends = make(map[int]context.CancelFunc)
	}
	l.last++
	number := l.last
	l.ends[number] = cancel
	l.tasks.Add(1)
	return task, func() {
		cancel()
		l.mu.Lock()
		delete(l.ends, number)
		l.mu.Unlock()
		l.tasks.Done()
	}, true
}

// spawn runs what belongs to a task that has begun and is not done yet; closing
// waits for it, too.
func (l *lifetime) spawn(f func()) { l.tasks.Go(f) }

// close ends what goes on and waits for it.
func (l *lifetime) close() {
	l.mu.Lock()
	l.closed = true
	for _, cancel := range l.ends {
		cancel()
	}
	l.mu.Unlock()
	l.tasks.Wait()
}

// errClosed is the error of everything that is asked of a closed adapter.
func errClosed(what string) error {
	return domain.Errorf(domain.CodeUnavailable, "the %s is closed", what)
}
