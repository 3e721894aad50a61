package redis_test

import (
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/ration/keeper"
)

// processes share the upstreams of a stand.
const processes = 3

// rateStand is some processes on one Redis.
type rateStand struct {
	testing.TB
	db      *redis.DB
	limits  rate.Limits
	options redis.RationsOptions
	clocks  paced.Options
	keepers []rate.Keeper
	// begun are all that ever ran.
	begun []*redis.Rations
}

// newRateStand returns processes on a clock driven by hand, or the real one.
func newRateStand(t testing.TB, db *redis.DB, l rate.Limits, clock *ratetest.Clock, store keeper.Store) *rateStand {
	t.Helper()
	s := &rateStand{TB: t, db: db, limits: l, options: redis.RationsOptions{Store: store}, keepers: make([]rate.Keeper, processes)}
	if clock != nil {
		s.options.Clock, s.options.Passed, s.options.Hold = clock.Now, clock.Passed, clock.Hold
		s.clocks = paced.Options{Now: clock.Now, Passed: clock.Passed}
	}
	t.Cleanup(s.rest)
	s.Lose()
	for i := range s.keepers {
		s.Restart(i)
	}
	return s
}

// rateKey is where the rations of the upstream are.
func rateKey(db *redis.DB) string { return db.OwnKey(rate.Group(ratetest.Upstream), "ration") }

func (s *rateStand) Keepers() []rate.Keeper { return s.keepers }

func (s *rateStand) Restart(process int) {
	s.Helper()
	rations := redis.NewRations(s.db, s.options)
	s.begun = append(s.begun, rations)
	k, err := paced.New(map[string]rate.Limits{ratetest.Upstream: s.limits}, rations, s.clocks)
	if err != nil {
		s.Fatal(err)
	}
	s.keepers[process] = k
}

// rest waits for what is written down while nobody waits for it: the next one to use this
// group would meet it.
func (s *rateStand) rest() {
	for _, k := range s.begun {
		k.Wait()
	}
}

func (s *rateStand) Lose() {
	s.Helper()
	s.rest()
	key := rateKey(s.db)
	if err := s.db.Client.Do(s.Context(), s.db.Client.B().Del().Key(key).Build()).Error(); err != nil {
		s.Fatal(err)
	}
}
