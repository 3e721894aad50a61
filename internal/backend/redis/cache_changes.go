package redis

import (
	"sync"
	"time"

	"sluice/internal/refresh"
)

// recentChanges are entities that this process changed a short time ago, and what
// their snapshots are of since.
type recentChanges struct {
	mu sync.Mutex
	by map[refresh.Entity]recentChange
	// swept is when old ones were last removed.
	swept time.Time
}

type recentChange struct{ at, checked time.Time }

// add notes changes, and forgets those that everybody has heard of.
func (r *recentChanges) add(changes []refresh.Change) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[refresh.Entity]recentChange{}
	}
	if now.Sub(r.swept) > changedMarkLife {
		r.swept = now
		for e, change := range r.by {
			if now.Sub(change.at) > changedMarkLife {
				delete(r.by, e)
			}
		}
	}
	for _, change := range changes {
		r.by[change.Entity] = recentChange{at: now, checked: change.CheckedAt}
	}
}

// since reports whether an entity was changed since a copy of it was made, as far
// as this process knows.
func (r *recentChanges) since(e refresh.Entity, kept refresh.Cached) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	change, found := r.by[e]
	if !found || time.Since(change.at) > changedMarkLife {
		return false
	}
	// A change without a date is of something else than the snapshot.
	return change.checked.IsZero() || !kept.Found || kept.CheckedAt.Before(change.checked)
}
