package refresh

import (
	"hash/maphash"
	"sync"
	"time"
)

// recent remembers for a while what happened. Its memory is bounded: it forgets
// in two generations, so that something is remembered for one to two spans.
type recent struct {
	span   time.Duration
	seed   maphash.Seed
	shards [recentShards]recentShard
}

const (
	recentShards = 16
	// recentMost bounds one generation of a shard; more are forgotten early.
	recentMost = 1 << 16
)

type recentShard struct {
	mu       sync.Mutex
	now, old map[Entity]time.Time
	turned   time.Time
}

func newRecent(span time.Duration) *recent {
	r := &recent{span: span, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].now = map[Entity]time.Time{}
	}
	return r
}

func (r *recent) shard(e Entity) *recentShard {
	return &r.shards[maphash.Comparable(r.seed, e)%recentShards]
}

// first notes an entity, and reports whether it was not noted within the span.
func (r *recent) first(e Entity, now time.Time) bool {
	s := r.shard(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	// Less than no time has passed if the clock was set back.
	if passed := now.Sub(s.turned); passed < 0 || passed >= r.span || len(s.now) >= recentMost {
		if passed < 0 || passed >= 2*r.span {
			clear(s.now)
		}
		s.old, s.now, s.turned = s.now, map[Entity]time.Time{}, now
	}
	if _, ok := s.now[e]; ok {
		return false
	}
	if _, ok := s.old[e]; ok {
		return false
	}
	s.now[e] = now
	return true
}

// at is when an entity was noted, as long as that is remembered.
func (r *recent) at(e Entity) (time.Time, bool) {
	s := r.shard(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.now[e]; ok {
		return at, true
	}
	at, ok := s.old[e]
	return at, ok
}

func (r *recent) forget(e Entity) {
	s := r.shard(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, e)
	delete(s.old, e)
}
