package redis_test

import (
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// processes share the upstreams of a stand.
const processes = 3

// rateStand is some processes on one Redis.
type rateStand struct {
	testing.TB
	db      *redis.DB
	limits  rate.Limits
	options redis.RateOptions
	keepers []rate.Keeper
}

// newRateStand returns processes on a clock driven by hand, or the real one.
func newRateStand(t testing.TB, db *redis.DB, l rate.Limits, clock *ratetest.Clock, store rate.Store) *rateStand {
	t.Helper()
	s := &rateStand{TB: t, db: db, limits: l, options: redis.RateOptions{Store: store}, keepers: make([]rate.Keeper, processes)}
	if clock != nil {
		s.options.Clock, s.options.Passed, s.options.Hold = clock.Now, clock.Passed, clock.Hold
	}
	s.Lose()
	for i := range s.keepers {
		s.Restart(i)
	}
	return s
}

func (s *rateStand) Keepers() []rate.Keeper { return s.keepers }

func (s *rateStand) Restart(process int) {
	s.Helper()
	k, err := redis.NewRate(s.db, map[string]rate.Limits{ratetest.Upstream: s.limits}, s.options)
	if err != nil {
		s.Fatal(err)
	}
	s.keepers[process] = k
}

func (s *rateStand) Lose() {
	s.Helper()
	key := s.db.OwnKey(ratetest.Upstream, "rate")
	if err := s.db.Client.Do(s.Context(), s.db.Client.B().Del().Key(key).Build()).Error(); err != nil {
		s.Fatal(err)
	}
}
