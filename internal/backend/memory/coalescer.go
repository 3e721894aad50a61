package memory

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"sluice/internal/refresh"
)

// coalescerShards let callers for different entities not wait for each other.
const coalescerShards = 64

// Coalescer implements refresh.Coalescer in the process. It has no goroutine,
// and forgets an entity some time after the last version of it was given out.
type Coalescer struct {
	ttls   refresh.CoalescerTTLs
	now    func() time.Time
	seed   maphash.Seed
	shards [coalescerShards]coalescerShard
	// newest is the newest version of all entities. Every version is larger,
	// also than those of entities that are forgotten.
	newest atomic.Int64
}

var _ refresh.Coalescer = (*Coalescer)(nil)

// NewCoalescer returns a coalescer. A nil clock is time.Now.
func NewCoalescer(l refresh.CoalescerTTLs, now func() time.Time) *Coalescer {
	if now == nil {
		now = time.Now
	}
	c := &Coalescer{ttls: l.WithDefaults(), now: now, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].entries = make(map[refresh.Entity]coalescerEntry)
	}
	return c
}

// Acquire implements refresh.Coalescer.
func (c *Coalescer) Acquire(ctx context.Context, asks ...refresh.Ask) ([]refresh.Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := refresh.CheckAsks(asks); err != nil {
		return nil, err
	}
	now := c.now()
	grants := make([]refresh.Grant, len(asks))
	for i, a := range asks {
		grants[i] = c.shard(a.Entity).acquire(c, a, now)
	}
	return grants, nil
}

// Release implements refresh.Coalescer.
func (c *Coalescer) Release(_ context.Context, locks ...refresh.Lock) error {
	for _, l := range locks {
		c.shard(l.Entity).release(l)
	}
	return nil
}

// Versions implements refresh.Coalescer.
func (c *Coalescer) Versions(ctx context.Context, entities ...refresh.Entity) ([]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := c.now()
	versions := make([]int64, len(entities))
	for i, e := range entities {
		versions[i] = c.shard(e).version(e, now)
	}
	return versions, nil
}

// Raise implements refresh.Coalescer.
func (c *Coalescer) Raise(version int64) {
	for {
		newest := c.newest.Load()
		if version <= newest || c.newest.CompareAndSwap(newest, version) {
			return
		}
	}
}

// Remembered is how many entities are remembered.
func (c *Coalescer) Remembered() (n int) {
	for i := range c.shards {
		n += c.shards[i].size()
	}
	return n
}

func (c *Coalescer) shard(e refresh.Entity) *coalescerShard {
	return &c.shards[maphash.Comparable(c.seed, e)%coalescerShards]
}

// next returns a version: the time in microseconds, so that the next process
// goes on above it, or one more than the newest.
func (c *Coalescer) next(now time.Time) int64 {
	for {
		newest := c.newest.Load()
		version := max(newest+1, now.UnixMicro())
		if c.newest.CompareAndSwap(newest, version) {
			return version
		}
	}
}
