package redis_test

import (
	"context"
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
	"sluice/internal/testkit"
)

// rationStand are processes that share a group on Redis.
type rationStand struct {
	testing.TB
	db      *redis.DB
	clock   *rationtest.Clock
	store   *rationtest.Store
	keepers []keeper.Keeper
	// begun are all that ever ran.
	begun []*redis.Rations
}

func newRationStand(t testing.TB, db *redis.DB, c *rationtest.Clock, s *rationtest.Store) *rationStand {
	b := &rationStand{TB: t, db: db, clock: c, store: s, keepers: make([]keeper.Keeper, 3)}
	t.Cleanup(b.rest)
	b.Lose()
	for i := range b.keepers {
		b.Restart(i)
	}
	return b
}

func (b *rationStand) Keepers() []keeper.Keeper { return b.keepers }

func (b *rationStand) Restart(i int) {
	k := redis.NewRations(b.db, redis.RationsOptions{Store: b.store, Clock: b.clock.Now, Passed: b.clock.Passed, Hold: b.clock.Hold})
	b.keepers[i], b.begun = k, append(b.begun, k)
}

// rest waits for what is written down while nobody waits for it: the next one to use this
// group would meet it.
func (b *rationStand) rest() {
	for _, k := range b.begun {
		k.Wait()
	}
}

// Lose lets Redis forget the group.
func (b *rationStand) Lose() {
	b.rest()
	c := b.db.Client
	if err := c.Do(context.Background(), c.B().Del().Key(b.db.OwnKey(rationtest.Group, "ration")).Build()).Error(); err != nil {
		b.Fatal(err)
	}
}

func TestRationConformance(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			db := connectOwn(t, url(t))
			rationtest.Run(t, func(t testing.TB, c *rationtest.Clock, s *rationtest.Store) rationtest.Bench {
				return newRationStand(t, db, c, s)
			})
		})
	}
}
