package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/quota"
)

// owners are those that the conformance suite knows.
var owners = []string{"alice", "bob"}

// quotaStand is a keeper with its clock and a store that survives it.
type quotaStand struct {
	testing.TB
	db   *redis.DB
	cfg  quota.Config
	life time.Duration

	mu sync.Mutex
	// now is the hand-driven clock; zero means the real one.
	now    time.Time
	stored map[[2]string]domain.QuotaWindow
	keeper *redis.Quota
}

func newQuotaStand(t testing.TB, db *redis.DB, cfg quota.Config, now time.Time) *quotaStand {
	s := &quotaStand{
		TB: t, db: db, cfg: cfg, now: now, life: 1000 * time.Hour,
		stored: make(map[[2]string]domain.QuotaWindow),
	}
	s.keeper = s.newKeeper()
	return s
}

func (s *quotaStand) newKeeper() *redis.Quota {
	o := redis.QuotaOptions{Restore: s.restore, PermitLife: s.life}
	if !s.now.IsZero() {
		o.Clock = s.Now
	}
	return redis.NewQuota(s.db, s.cfg, o)
}

func (s *quotaStand) restore(_ context.Context, owner string) ([]domain.QuotaWindow, error) {
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

func (s *quotaStand) Keeper() quota.Keeper { return s.keeper }

func (s *quotaStand) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.IsZero() {
		return time.Now()
	}
	return s.now
}

// Advance moves a hand-driven clock, to a whole microsecond as Redis counts
// them.
func (s *quotaStand) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.IsZero() {
		s.Fatal("the server's clock cannot be moved")
	}
	s.now = s.now.Add(d + time.Microsecond - 1).Truncate(time.Microsecond)
}

func (s *quotaStand) Persist(w *domain.QuotaWindow) {
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
func (s *quotaStand) Crash() {
	s.keeper = s.newKeeper()
	if err := s.keeper.AddDeadLetters(context.Background(), owners...); err != nil {
		s.Fatal(err)
	}
}

// forget deletes what Redis knows about the owners.
func (s *quotaStand) forget() {
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
