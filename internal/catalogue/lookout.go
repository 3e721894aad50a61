package catalogue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/record"
	"sluice/internal/watch"
)

// Lookout finds out that a process collects by other files than the store has. It looks
// when another process says so, and when somebody meets what cannot be explained
// otherwise; never by itself.
type Lookout struct {
	look    chan struct{}
	once    sync.Once
	differs chan struct{}
}

var _ Watch = (*Lookout)(nil)

// NewLookout returns one that has not begun to look.
func NewLookout() *Lookout {
	return &Lookout{look: make(chan struct{}, 1), differs: make(chan struct{})}
}

// Differs is closed once the store has other files.
func (l *Lookout) Differs() <-chan struct{} { return l.differs }

// Differ says that the store has other files.
func (l *Lookout) Differ() { l.once.Do(func() { close(l.differs) }) }

// Stale implements Watch: it has the store looked at.
func (l *Lookout) Stale(string) {
	select {
	case l.look <- struct{}{}:
	default:
	}
}

// gap lies between two looks.
const gap = time.Second

// Run looks whenever there is a reason to, until ctx ends or there is a difference.
// Signals are those of other processes; nil if there are none.
func (l *Lookout) Run(ctx context.Context, records record.Store, opened *Opened, signals watch.Signals, log *slog.Logger) {
	var told <-chan struct{}
	if signals != nil {
		changes, end := signals.Changes(ctx)
		defer end()
		told = changes
		// What was said before is not said again.
		l.Stale("")
	}
	for {
		select {
		case <-l.look:
		case <-told:
		case <-l.differs:
			return
		case <-ctx.Done():
			return
		}
		switch list, err := records.List(ctx, record.Source); {
		case err != nil:
			log.Warn("whether sources were added or changed could not be found out", "error", err)
		case !opened.are(list):
			l.Differ()
			return
		}
		select {
		case <-time.After(gap):
		case <-ctx.Done():
			return
		}
	}
}

// are says whether the records are those that were opened.
func (o *Opened) are(list []record.Record) bool {
	met := 0
	for _, r := range list {
		a, err := unpack(r)
		_, problem := o.problems[r.Name]
		if err == nil && o.seen[r.Name] != a.Version() || err != nil && !problem {
			return false
		}
		met++
	}
	return met == len(o.seen)
}
