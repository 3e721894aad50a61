package redis_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/redis"
	"sluice/internal/redisdb"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// owners are those that the conformance suite knows.
var owners = []string{"alice", "bob"}

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

// stand is a keeper with its clock and a store that survives it.
type stand struct {
	testing.TB
	db   *redisdb.DB
	cfg  quota.Config
	life time.Duration

	mu sync.Mutex
	// now is the hand-driven clock; zero means the real one.
	now    time.Time
	stored map[[2]string]domain.QuotaWindow
	keeper *redis.Keeper
}

func newStand(t testing.TB, db *redisdb.DB, cfg quota.Config, now time.Time) *stand {
	s := &stand{
		TB: t, db: db, cfg: cfg, now: now, life: 1000 * time.Hour,
		stored: make(map[[2]string]domain.QuotaWindow),
	}
	s.keeper = s.newKeeper()
	return s
}

func (s *stand) newKeeper() *redis.Keeper {
	o := redis.Options{Restore: s.restore, PermitLife: s.life}
	if !s.now.IsZero() {
		o.Clock = s.Now
	}
	return redis.New(s.db, s.cfg, o)
}

func (s *stand) restore(_ context.Context, owner string) ([]domain.QuotaWindow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []domain.QuotaWindow
	for key, w := range s.stored {
		if key[0] == owner {
			all = append(all, w)
		}
	}
	return all, nil
}

func (s *stand) Keeper() quota.Keeper { return s.keeper }

func (s *stand) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.IsZero() {
		return time.Now()
	}
	return s.now
}

// Advance moves a hand-driven clock, to a whole microsecond as Redis counts
// them; the real one has to be waited for.
func (s *stand) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.IsZero() {
		s.mu.Unlock()
		<-time.After(d)
		s.mu.Lock()
		return
	}
	s.now = s.now.Add(d + time.Microsecond - 1).Truncate(time.Microsecond)
}

func (s *stand) Persist(w *domain.QuotaWindow) {
	if w == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{w.Owner, w.Bucket}
	if w.Seq > s.stored[key].Seq {
		s.stored[key] = *w
	}
}

// Crash ends the process, not Redis. The permits of the dead are held until
// their lives end; here they end at once.
func (s *stand) Crash() {
	s.keeper = s.newKeeper()
	if err := s.keeper.Bury(context.Background(), owners...); err != nil {
		s.Fatal(err)
	}
}

// forget deletes what Redis knows about the owners.
func (s *stand) forget() {
	c := s.db.Client
	keys := []string{s.keeper.ListKey()}
	for _, owner := range owners {
		keys = append(keys, s.keeper.Key(owner))
	}
	for _, key := range keys {
		if err := c.Do(context.Background(), c.B().Del().Key(key).Build()).Error(); err != nil {
			s.Fatal(err)
		}
	}
}
