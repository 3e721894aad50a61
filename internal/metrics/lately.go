package metrics

import (
	"context"
	"sync"
	"time"

	"sluice/internal/ration/keeper"
)

const (
	// quickRead is what reading a part may take for it to be read for every
	// scrape.
	quickRead = 10 * time.Millisecond
	// longestAge is how old a figure may be that is told again. One that is older
	// is waited for.
	longestAge = 30 * time.Second
	// readShare is how many times as long as reading took the figure is used.
	readShare = 20
	// renewTime is how long reading in the background may take.
	renewTime = 30 * time.Second
)

// lately reads a part for scrapes. What is read quickly is read each time. What
// takes longer, such as counting for ten thousand accounts, is told as it was
// read last, while it is read again in the background: a scrape does not wait
// for it, and however often somebody scrapes it takes a bounded share of the
// store's time.
type lately[T any] struct {
	read func(context.Context) (T, error)
	now  func() time.Time

	// first lets one read who found nothing, and the others wait for it.
	first keeper.Turn

	mu    sync.Mutex
	value T
	err   error
	at    time.Time
	took  time.Duration
	busy  bool
}

func newLately[T any](now func() time.Time, read func(context.Context) (T, error)) *lately[T] {
	return &lately[T]{read: read, now: now, first: keeper.NewTurn()}
}

// figure is what is known of a part.
type figure[T any] struct {
	value T
	age   time.Duration
	err   error
}

// get returns what is known, and reads it if need be.
func (l *lately[T]) get(ctx context.Context) figure[T] {
	if f, ok := l.known(ctx); ok {
		return f
	}
	if err := l.first.Take(ctx); err != nil {
		return figure[T]{err: err}
	}
	defer l.first.End()
	if f, ok := l.known(ctx); ok {
		return f
	}
	value, err := l.renew(ctx)
	return figure[T]{value: value, err: err}
}

// known returns the last figure if it will do, and has it renewed if it is time.
func (l *lately[T]) known(ctx context.Context) (figure[T], bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	age := l.now().Sub(l.at).Abs()
	if l.at.IsZero() || l.took <= quickRead || age > longestAge {
		return figure[T]{}, false
	}
	// Whether what failed answers again is to be known soon.
	if (l.err != nil || age > min(readShare*l.took, longestAge/2)) && !l.busy {
		l.busy = true
		go l.renewLater(context.WithoutCancel(ctx))
	}
	return figure[T]{l.value, age, l.err}, true
}

// renewLater reads for those who ask next.
func (l *lately[T]) renewLater(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	_, _ = l.renew(limited)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
}

func (l *lately[T]) renew(ctx context.Context) (T, error) {
	began := time.Now()
	value, err := l.read(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.err, l.at, l.took = value, err, l.now(), time.Since(began)
	return value, err
}
