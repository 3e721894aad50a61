package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/backoff"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/quotatest"
	"sluice/internal/ration/rationtest"
	"sluice/internal/testkit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// owners are those that the conformance suite knows.
var owners = []string{"alice", "bob"}

// bucketStand is a keeper of buckets over rations on Redis, with a hand-driven clock and a
// store that survives it.
type bucketStand struct {
	testing.TB
	db    *redis.DB
	cfg   quota.Config
	store *rationtest.Store
	life  time.Duration

	mu     sync.Mutex
	now    time.Time
	passed time.Duration
	keeper *mortal
}

// mortal is a keeper whose process can end: the permits that are out then are those of the
// dead.
type mortal struct {
	quota.Keeper
	mu  sync.Mutex
	out map[uint64]quota.Permit
}

func (m *mortal) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	d, err := m.Keeper.Reserve(ctx, ask)
	if d.Granted {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.out[d.Permit.ID] = d.Permit
	}
	return d, err
}

func (m *mortal) Settle(ctx context.Context, p quota.Permit, r quota.Response) error {
	m.returned(p)
	return m.Keeper.Settle(ctx, p, r)
}

func (m *mortal) Refund(ctx context.Context, p quota.Permit, r quota.Response) error {
	m.returned(p)
	return m.Keeper.Refund(ctx, p, r)
}

func (m *mortal) returned(p quota.Permit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.out, p.ID)
}

func newBucketStand(t testing.TB, db *redis.DB, cfg quota.Config) *bucketStand {
	s := &bucketStand{TB: t, db: db, cfg: cfg, store: &rationtest.Store{}, life: 1000 * time.Hour, now: noon}
	s.forget()
	s.Crash()
	return s
}

func (s *bucketStand) Keeper() quota.Keeper { return s.keeper }

func (s *bucketStand) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Passed is the time that has passed: a clock that is set back does not undo it.
func (s *bucketStand) Passed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed
}

// Advance moves the clock, to a whole microsecond as Redis counts them.
func (s *bucketStand) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now
	s.now = s.now.Add(d + time.Microsecond - 1).Truncate(time.Microsecond)
	s.passed += max(s.now.Sub(before), 0)
}

// Crash ends the process, not Redis. The permits of the dead are held until their lives
// end; here they end at once.
func (s *bucketStand) Crash() {
	if s.keeper != nil {
		for _, p := range s.keeper.out {
			if err := s.keeper.Keeper.Settle(context.Background(), p, quota.Response{}); err != nil {
				s.Fatal(err)
			}
		}
	}
	s.keeper = &mortal{Keeper: s.newKeeper(), out: make(map[uint64]quota.Permit)}
}

// newKeeper is that of another process.
func (s *bucketStand) newKeeper() quota.Keeper {
	rations := redis.NewRations(s.db, redis.RationsOptions{Store: s.store, Clock: s.Now, Passed: s.Passed, PermitLife: s.life})
	return bucketed.New(s.cfg, rations, bucketed.Options{Groups: s.store.Groups, Now: s.Now})
}

// forget deletes what Redis knows about the owners.
func (s *bucketStand) forget() {
	c := s.db.Client
	for _, owner := range owners {
		if err := c.Do(context.Background(), c.B().Del().Key(s.db.OwnKey(bucketed.Group(owner), "ration")).Build()).Error(); err != nil {
			s.Fatal(err)
		}
	}
}

func TestQuotaConformance(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			db := connectOwn(t, url(t))
			quotatest.Run(t, quotatest.Factory{
				Features: quotatest.Features{FakeClock: true, CasesAlone: name == "cluster"},
				New: func(t testing.TB, cfg quota.Config) quotatest.Bench {
					return newBucketStand(t, db, cfg)
				},
			})
		})
	}
}

// TestQuotaByTheServersClock: without a clock of a test Redis decides, and a ration
// comes back when its period has passed, not before.
func TestQuotaByTheServersClock(t *testing.T) {
	const period = 300 * time.Millisecond
	core := quota.Limits{Limit: 100, Window: time.Hour, PointsPerMinute: 2, PointsPeriod: period}
	rations := redis.NewRations(connectOwn(t, testkit.Redis(t)), redis.RationsOptions{Store: &rationtest.Store{}})
	k := bucketed.New(quota.Config{Buckets: map[string]quota.Limits{"core": core}}, rations, bucketed.Options{})
	granted, first := 0, time.Now()
	for {
		d, err := k.Reserve(t.Context(), quotaAsk())
		if err != nil {
			t.Fatal(err)
		}
		if !d.Granted {
			backoff.Sleep(t.Context(), time.Until(d.RetryAt))
			continue
		}
		if granted++; granted == 3 {
			break
		}
		if err := k.Settle(t.Context(), d.Permit, quota.Response{Succeeded: true}); err != nil {
			t.Fatal(err)
		}
	}
	if passed := time.Since(first); passed < period {
		t.Errorf("a third call was granted %v after the first two", passed)
	}
}
