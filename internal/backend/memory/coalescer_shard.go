package memory

import (
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// coalescerShard is a part of the entities.
type coalescerShard struct {
	mu      sync.Mutex
	entries map[refresh.Entity]coalescerEntry
	// ends are in the order in which entries end, oldest first, from head on.
	ends []coalescerEnd
	head int
}

// coalescerEntry is what is known about an entity.
type coalescerEntry struct {
	version int64
	// priority is that of the lock, 0 if it was released.
	priority domain.Priority
	// lockedUntil and rememberedUntil are when it ends by itself.
	lockedUntil, rememberedUntil time.Time
}

// coalescerEnd is when an entity may be forgotten, unless a newer version was given out.
type coalescerEnd struct {
	entity  refresh.Entity
	version int64
	at      time.Time
}

// held reports whether the lock is. One that would last for longer than any lock
// does was taken before the clock was set back, and has ended.
func (e coalescerEntry) held(now time.Time, longest time.Duration) bool {
	return e.priority != 0 && now.Before(e.lockedUntil) && e.lockedUntil.Sub(now) <= longest
}

func (s *coalescerShard) acquire(c *Coalescer, a refresh.Ask, now time.Time) refresh.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(now)
	e, result := s.entries[a.Entity], refresh.Published
	if e.held(now, max(c.ttls.High, c.ttls.Low)) {
		if e.priority >= a.Priority {
			held := refresh.Lock{Entity: a.Entity, Priority: e.priority, Version: e.version}
			return refresh.Grant{Lock: held, Result: refresh.AlreadyProcessing}
		}
		result = refresh.Upgraded
	}
	e = coalescerEntry{
		version: c.next(now), priority: a.Priority,
		lockedUntil: now.Add(c.ttls.Lock(a.Priority)), rememberedUntil: now.Add(c.ttls.Version),
	}
	s.entries[a.Entity] = e
	s.ends = append(s.ends, coalescerEnd{a.Entity, e.version, e.rememberedUntil})
	return refresh.Grant{Lock: refresh.Lock{Entity: a.Entity, Priority: a.Priority, Version: e.version}, Result: result}
}

func (s *coalescerShard) release(l refresh.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[l.Entity]; ok && e.version == l.Version && e.priority == l.Priority {
		e.priority = 0
		s.entries[l.Entity] = e
	}
}

func (s *coalescerShard) version(entity refresh.Entity, now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[entity]; now.Before(e.rememberedUntil) {
		return e.version
	}
	return 0
}

func (s *coalescerShard) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// mostAtOnce is how many ends one caller looks at: two for the one it adds, so
// that there are never more than those of one life and as many again.
const mostAtOnce = 2

// forget drops what has ended. The caller holds the lock.
func (s *coalescerShard) forget(now time.Time) {
	for range mostAtOnce {
		if s.head == len(s.ends) || now.Before(s.ends[s.head].at) {
			break
		}
		old := s.ends[s.head]
		s.ends[s.head] = coalescerEnd{}
		s.head++
		if s.entries[old.entity].version == old.version {
			delete(s.entries, old.entity)
		}
	}
	if s.head > len(s.ends)/2 {
		s.ends = append([]coalescerEnd(nil), s.ends[s.head:]...)
		s.head = 0
	}
}
