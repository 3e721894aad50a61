package redis_test

import (
	"os"
	"testing"

	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/quota/rate/redis"
	"sluice/internal/redisdb"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// connect opens a Redis for one test, under a prefix of its own.
func connect(t testing.TB, url string) *redisdb.DB {
	t.Helper()
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url, Prefix: testkit.Prefix(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// processes share the upstreams of a stand.
const processes = 3

// stand is some processes on one Redis.
type stand struct {
	testing.TB
	db      *redisdb.DB
	limits  rate.Limits
	options redis.Options
	keepers []rate.Keeper
}

// newStand returns processes on a clock driven by hand, or the real one.
func newStand(t testing.TB, db *redisdb.DB, l rate.Limits, clock *ratetest.Clock, store rate.Store) *stand {
	t.Helper()
	s := &stand{TB: t, db: db, limits: l, options: redis.Options{Store: store}, keepers: make([]rate.Keeper, processes)}
	if clock != nil {
		s.options.Clock, s.options.Passed = clock.Now, clock.Passed
	}
	s.Lose()
	for i := range s.keepers {
		s.Restart(i)
	}
	return s
}

func (s *stand) Keepers() []rate.Keeper { return s.keepers }

func (s *stand) Restart(process int) {
	s.Helper()
	k, err := redis.New(s.db, map[string]rate.Limits{ratetest.Upstream: s.limits}, s.options)
	if err != nil {
		s.Fatal(err)
	}
	s.keepers[process] = k
}

func (s *stand) Lose() {
	s.Helper()
	key := s.db.OwnKey(ratetest.Upstream, "rate")
	if err := s.db.Client.Do(s.Context(), s.db.Client.B().Del().Key(key).Build()).Error(); err != nil {
		s.Fatal(err)
	}
}
