package redis

import (
	"context"
	"sync"
)

// lifetime knows what goes on in a dispatcher, so that closing can end it.
type lifetime struct {
	mu     sync.Mutex
	closed bool
	last   int
	ends   map[int]context.CancelFunc
	tasks  sync.WaitGroup
}

// begin returns a context that also ends when the dispatcher is closed, and
// what to call when the task is done. A closed dispatcher begins nothing.
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
