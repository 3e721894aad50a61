package memory

import (
	"cmp"
	"container/list"
	"context"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/internal/refresh"
)

// CacheOptions configures a Cache. Zero fields take the defaults.
type CacheOptions struct {
	// Bytes bounds what is kept; default 64 MiB.
	Bytes int
	// Keep is how long something is used without looking at the store; default
	// a minute. What is stored by this process is forgotten at once.
	Keep time.Duration
	// Patience is how long a reader waits for the store when there is an older
	// value; default 100 ms. After that, or if the store fails, it gets that.
	Patience time.Duration
	Now      func() time.Time
}

const (
	cacheShards = 16
	// cacheOverhead is about what an entry takes besides its body.
	cacheOverhead = 400
)

// Cache implements refresh.Cache in the process that serves snapshots. It forgets what was not read for longest.
type Cache struct {
	options CacheOptions
	seed    maphash.Seed
	shards  [cacheShards]cacheShard
	loads   singleflight.Group
}

type cacheShard struct {
	mu    sync.Mutex
	by    map[refresh.Entity]*list.Element
	order *list.List
	bytes int
	// forgotten counts what was forgotten: what was loaded before is not kept
	// after it.
	forgotten int64
}

type cacheEntry struct {
	entity refresh.Entity
	value  refresh.Cached
	until  time.Time
}

func (e *cacheEntry) size() int { return cacheOverhead + len(e.value.Body) + len(e.entity.Key) }

var _ refresh.Cache = (*Cache)(nil)

// NewCache returns an empty cache.
func NewCache(o CacheOptions) *Cache {
	o.Bytes, o.Keep = cmp.Or(o.Bytes, 64<<20), cmp.Or(o.Keep, time.Minute)
	o.Patience = cmp.Or(o.Patience, 100*time.Millisecond)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache{options: o, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].by, c.shards[i].order = map[refresh.Entity]*list.Element{}, list.New()
	}
	return c
}

func (c *Cache) shard(e refresh.Entity) *cacheShard {
	return &c.shards[maphash.Comparable(c.seed, e)%cacheShards]
}

// Get implements refresh.Cache.
func (c *Cache) Get(ctx context.Context, e refresh.Entity, load func(context.Context) (refresh.Cached, error)) (refresh.Cached, error) {
	s := c.shard(e)
	old, before := s.look(e)
	if old != nil && c.options.Now().Before(old.until) {
		return old.value, nil
	}
	// The load serves everybody who waits for it: the end of one is not its end.
	shared := context.WithoutCancel(ctx)
	result := c.loads.DoChan(e.String(), func() (any, error) {
		loaded, err := load(shared)
		if err == nil {
			s.keep(&cacheEntry{e, loaded, c.options.Now().Add(c.options.Keep)}, before, c.options.Bytes/cacheShards)
		}
		return loaded, err
	})
	var late <-chan time.Time
	if old != nil {
		timer := time.NewTimer(c.options.Patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case r := <-result:
		if r.Err != nil && old != nil {
			return old.value, nil
		}
		value, _ := r.Val.(refresh.Cached)
		return value, r.Err
	case <-late:
		return old.value, nil
	case <-ctx.Done():
		return refresh.Cached{}, ctx.Err()
	}
}

// Forget implements refresh.Cache.
func (c *Cache) Forget(_ context.Context, changes ...refresh.Change) {
	for _, change := range changes {
		// A load that began before this is not joined any more.
		c.loads.Forget(change.String())
		c.shard(change.Entity).forget(change.Entity)
	}
}

// look returns what is kept of an entity, nil if nothing is, and how much was
// forgotten so far.
func (s *cacheShard) look(e refresh.Entity) (found *cacheEntry, forgotten int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, ok := s.by[e]; ok {
		found, _ = element.Value.(*cacheEntry)
		s.order.MoveToFront(element)
	}
	return found, s.forgotten
}

func (s *cacheShard) keep(one *cacheEntry, before int64, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgotten != before || one.size() > most {
		return
	}
	if old, ok := s.by[one.entity]; ok {
		s.drop(old)
	}
	s.by[one.entity] = s.order.PushFront(one)
	s.bytes += one.size()
	for s.bytes > most {
		s.drop(s.order.Back())
	}
}

func (s *cacheShard) forget(e refresh.Entity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten++
	if element, ok := s.by[e]; ok {
		s.drop(element)
	}
}

func (s *cacheShard) drop(element *list.Element) {
	one, _ := element.Value.(*cacheEntry)
	s.order.Remove(element)
	delete(s.by, one.entity)
	s.bytes -= one.size()
}
