package redis

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/singleflight"

	"sluice/internal/refresh"
)

// CacheOptions configures a Cache. Zero fields take the defaults.
type CacheOptions struct {
	// Keep is how long Redis keeps a snapshot; default a minute.
	Keep time.Duration
	Log  *slog.Logger
}

const (
	// changedMarkLife is how long the mark of an entity that was just stored stands:
	// whoever read the store before that must not put the old value here.
	changedMarkLife = 3 * time.Second
	// cacheAnswerTime is how long a read waits for Redis before it goes to the store.
	cacheAnswerTime = 50 * time.Millisecond
	// cacheRetryAfter is how long Redis is left alone after it did not answer.
	cacheRetryAfter = time.Second
)

// Cache implements refresh.Cache. Without Redis every read goes to the store.
type Cache struct {
	db    *DB
	keep  time.Duration
	log   *slog.Logger
	keeps *luaScript
	loads singleflight.Group
	// changed is what this process has just changed: Redis tells it that its own
	// copy is old some time after it has answered.
	changed recentChanges
	// away is until when Redis is left alone, in nanoseconds since 1970.
	away atomic.Int64
}

var _ refresh.Cache = (*Cache)(nil)

// NewCache returns a cache on a database that was opened with one (Options.Cache).
func NewCache(db *DB, o CacheOptions) *Cache {
	return &Cache{
		db: db, keep: cmp.Or(o.Keep, time.Minute), log: cmp.Or(o.Log, slog.Default()),
		keeps: loadScript("cache", "put"),
	}
}

func (c *Cache) key(e refresh.Entity) string { return c.db.OwnKey(e.String(), "snapshot") }

// Get implements refresh.Cache.
func (c *Cache) Get(ctx context.Context, e refresh.Entity, load func(context.Context) (refresh.Cached, error)) (refresh.Cached, error) {
	if value, ok := c.look(ctx, e); ok {
		return value, nil
	}
	shared := context.WithoutCancel(ctx)
	result := c.loads.DoChan(e.String(), func() (any, error) {
		loaded, err := load(shared)
		if err == nil {
			c.put(shared, e, loaded)
		}
		return loaded, err
	})
	select {
	case r := <-result:
		value, _ := r.Val.(refresh.Cached)
		return value, r.Err
	case <-ctx.Done():
		return refresh.Cached{}, ctx.Err()
	}
}

// look reads what this process or Redis has. Whatever goes wrong, the store has
// it too.
func (c *Cache) look(ctx context.Context, e refresh.Entity) (value refresh.Cached, ok bool) {
	if time.Now().UnixNano() < c.away.Load() {
		return value, false
	}
	limited, cancel := context.WithTimeout(ctx, cacheAnswerTime)
	defer cancel()
	text, err := c.db.Client.DoCache(limited, c.db.Client.B().Get().Key(c.key(e)).Cache(), c.keep).AsBytes()
	if err != nil {
		c.failed(ctx, err)
		return value, false
	}
	value, ok = decodeEntry(text)
	return value, ok && !c.changed.since(e, value)
}

// put keeps what was read from the store, unless something newer was stored.
func (c *Cache) put(ctx context.Context, e refresh.Entity, value refresh.Cached) {
	text, err := encodeEntry(value)
	if err != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, cacheAnswerTime)
	defer cancel()
	var checked int64
	if value.Found {
		checked = value.CheckedAt.UnixMicro()
	}
	_, err = c.keeps.run(limited, c.db, []string{c.key(e)},
		[]string{string(text), strconv.FormatInt(checked, 10), strconv.FormatInt(c.keep.Milliseconds(), 10)})
	c.failed(ctx, err)
}

// Forget implements refresh.Cache.
func (c *Cache) Forget(ctx context.Context, changes ...refresh.Change) {
	commands := make(rueidis.Commands, 0, len(changes))
	c.changed.add(changes)
	for _, change := range changes {
		c.loads.Forget(change.String())
		commands = append(commands, c.db.Client.B().Set().Key(c.key(change.Entity)).Value(changedMark(change.CheckedAt)).Px(changedMarkLife).Build())
	}
	for _, answer := range c.db.Client.DoMulti(ctx, commands...) {
		if err := answer.Error(); err != nil && ctx.Err() == nil {
			// What is kept ends by itself.
			c.log.Warn("a cached snapshot is not forgotten", "error", err)
			return
		}
	}
}

// failed leaves Redis alone for a while when it did not answer.
func (c *Cache) failed(ctx context.Context, err error) {
	if err == nil || rueidis.IsRedisNil(err) || ctx.Err() != nil {
		return
	}
	c.away.Store(time.Now().Add(cacheRetryAfter).UnixNano())
}
