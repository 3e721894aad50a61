package redis

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// releaseTime is how long giving up may take what nobody will use.
const releaseTime = 5 * time.Second

// Coalescer implements refresh.Coalescer on Redis.
type Coalescer struct {
	db               *DB
	lives            refresh.CoalescerTTLs
	acquire, release scriptForEach
	// newest is the newest version that this process knows of any entity.
	newest atomic.Int64
}

var _ refresh.Coalescer = (*Coalescer)(nil)

// NewCoalescer returns a coalescer on db.
func NewCoalescer(db *DB, l refresh.CoalescerTTLs) *Coalescer {
	return &Coalescer{db: db, lives: l.WithDefaults(), acquire: loadScriptForEach("coalesce", "acquire"), release: loadScriptForEach("coalesce", "release")}
}

// Acquire implements refresh.Coalescer. If it fails for some, what the others
// were granted is given up; where even that fails, locks end by themselves.
func (c *Coalescer) Acquire(ctx context.Context, asks ...refresh.Ask) ([]refresh.Grant, error) {
	if err := refresh.CheckAsks(asks); err != nil {
		return nil, err
	}
	longest := strconv.FormatInt(max(c.lives.High, c.lives.Low).Microseconds(), 10)
	remembered := strconv.FormatInt(c.lives.Version.Milliseconds(), 10)
	newest := strconv.FormatInt(c.newest.Load(), 10)
	calls := make([]scriptCall, len(asks))
	for i, a := range asks {
		calls[i] = scriptCall{c.key(a.Entity), []string{
			strconv.Itoa(int(a.Priority)), strconv.FormatInt(c.lives.Lock(a.Priority).Microseconds(), 10),
			longest, remembered, newest,
		}}
	}
	grants := make([]refresh.Grant, len(asks))
	var failed error
	for i, answer := range c.acquire.run(ctx, c.db, calls) {
		var err error
		if grants[i], err = c.grant(asks[i], answer); err != nil {
			failed = err
		}
	}
	if failed != nil {
		c.giveUp(ctx, grants)
		return nil, failed
	}
	return grants, nil
}

// grant reads the answer of acquire.lua.
func (c *Coalescer) grant(a refresh.Ask, answer rueidis.RedisResult) (refresh.Grant, error) {
	n, err := answer.AsIntSlice()
	if err != nil {
		return refresh.Grant{}, failure(err)
	}
	if len(n) != 3 {
		return refresh.Grant{}, domain.Errorf(domain.CodeUnavailable, "redis: a coalescing script answered %d numbers, not 3", len(n))
	}
	c.remember(n[2])
	return refresh.Grant{
		Lock:   refresh.Lock{Entity: a.Entity, Priority: domain.Priority(n[1]), Version: n[2]},
		Result: refresh.Coalesced(n[0]),
	}, nil
}

// giveUp releases what was granted to a caller that is told of a failure.
func (c *Coalescer) giveUp(ctx context.Context, grants []refresh.Grant) {
	var locks []refresh.Lock
	for _, g := range grants {
		if g.Result == refresh.Published || g.Result == refresh.Upgraded {
			locks = append(locks, g.Lock)
		}
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	// The caller is told of the failure that led here.
	_ = c.Release(limited, locks...)
}

// Release implements refresh.Coalescer.
func (c *Coalescer) Release(ctx context.Context, locks ...refresh.Lock) error {
	calls := make([]scriptCall, len(locks))
	for i, l := range locks {
		version := strconv.FormatInt(l.Version, 10)
		calls[i] = scriptCall{c.key(l.Entity), []string{version + ":" + strconv.Itoa(int(l.Priority)) + ":", version + ":0:"}}
	}
	for _, answer := range c.release.run(ctx, c.db, calls) {
		if err := answer.Error(); err != nil {
			return failure(err)
		}
	}
	return nil
}

// Versions implements refresh.Coalescer.
func (c *Coalescer) Versions(ctx context.Context, entities ...refresh.Entity) ([]int64, error) {
	commands := make(rueidis.Commands, len(entities))
	for i, e := range entities {
		commands[i] = c.db.Client.B().Get().Key(c.key(e)).Build()
	}
	versions := make([]int64, len(entities))
	for i, answer := range sendInBatches(ctx, c.db, commands) {
		text, err := answer.ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		if err != nil {
			return nil, failure(err)
		}
		first, _, _ := strings.Cut(text, ":")
		if versions[i], err = strconv.ParseInt(first, 10, 64); err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "redis: the version of %s cannot be read", entities[i])
		}
		c.remember(versions[i])
	}
	return versions, nil
}

// Raise implements refresh.Coalescer.
func (c *Coalescer) Raise(version int64) { c.remember(version) }

func (c *Coalescer) remember(version int64) {
	for {
		newest := c.newest.Load()
		if version <= newest || c.newest.CompareAndSwap(newest, version) {
			return
		}
	}
}

// sourceName keeps a source apart from the key that follows it.
var sourceName = strings.NewReplacer("%", "%25", "/", "%2F")

// key names all that is known about an entity.
func (c *Coalescer) key(e refresh.Entity) string {
	return c.db.OwnKey(sourceName.Replace(e.Source)+"/"+e.Key, "refresh")
}
