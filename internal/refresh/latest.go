package refresh

import (
	"slices"
	"sync"
)

// latestKept is how many entities are remembered for people who look for one.
const latestKept = 10

// latest remembers which entities were read or asked for last.
type latest struct {
	mu   sync.Mutex
	kept []Entity
}

func (l *latest) add(e Entity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(l.kept, e); at >= 0 {
		l.kept = slices.Delete(l.kept, at, at+1)
	} else if len(l.kept) == latestKept {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	l.kept = append(l.kept, e)
}

// all are those that are remembered, the latest first.
func (l *latest) all() []Entity {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.kept)
	slices.Reverse(out)
	return out
}
