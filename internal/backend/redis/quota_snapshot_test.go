package redis_test

import (
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

// fleet are processes that share a Redis and a store.
type fleet struct {
	*quotaStand
	server  *testkit.Server
	prefix  string
	keepers []*redis.Quota
	up      *quotatest.Upstream
}

func newFleet(t *testing.T, limit int) *fleet {
	f := &fleet{server: testkit.StartRedis(t), prefix: testkit.Prefix(t), up: &quotatest.Upstream{Limit: limit, Window: time.Hour}}
	f.quotaStand = newQuotaStand(t, nil, lossConfig(limit, 10), noon)
	for range 3 {
		f.join()
	}
	return f
}

// join adds a process.
func (f *fleet) join() {
	var err error
	if f.db, err = redis.Open(f.Context(), redis.Options{URL: f.server.URL(), Prefix: f.prefix}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(f.db.Close)
	f.keepers = append(f.keepers, f.newKeeper())
}

// calls lets a process make up to n calls, and returns how many it was granted.
// It asks until Redis answers: a connection learns of a restart by failing.
func (f *fleet) calls(process, n int) (granted int) {
	f.Helper()
	k := f.keepers[process]
	for granted < n {
		d, err := k.Reserve(f.Context(), quotaAsk())
		if domain.CodeOf(err) == domain.CodeUnavailable && f.Context().Err() == nil {
			continue
		}
		if err != nil {
			f.Fatal(err)
		}
		if !d.Granted {
			return granted
		}
		f.Persist(d.Window)
		f.end(process, d.Permit)
		granted++
		f.Advance(time.Millisecond)
	}
	return granted
}

// end makes a call and gives its permit back.
func (f *fleet) end(process int, p quota.Permit) {
	f.Helper()
	answer := f.up.Count(f.Now(), p.Ask)
	w, err := f.keepers[process].Settle(f.Context(), p, answer)
	for domain.CodeOf(err) == domain.CodeUnavailable && f.Context().Err() == nil {
		w, err = f.keepers[process].Settle(f.Context(), p, answer)
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Persist(w)
}

func (f *fleet) save() {
	f.Helper()
	c := f.db.Client
	if err := c.Do(f.Context(), c.B().Save().Build()).Error(); err != nil {
		f.Fatal(err)
	}
}

// restart starts the server again from its last snapshot.
func (f *fleet) restart() {
	f.server.Kill()
	f.server.Start()
}

// TestQuotaOldSnapshotIsNotBelieved: a Redis that is started again from a snapshot has
// forgotten what was granted since. Whoever asks first, and whatever he has seen,
// the window counts as spent.
func TestQuotaOldSnapshotIsNotBelieved(t *testing.T) {
	for name, first := range map[string]int{"by who saw the last call": 0, "by who saw less than the snapshot": 1, "by who never saw the owner": 3} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 60)
			f.calls(1, 5)
			f.calls(0, 10)
			for range 3 {
				f.save()
				f.calls(0, 10)
				f.restart()
				f.join()
				if n := f.calls(first, 60); n != 0 {
					t.Fatalf("%d calls were granted although what is left is not known", n)
				}
				for process := range f.keepers {
					f.calls(process, 60)
				}
				if f.up.TooMany > 0 {
					t.Fatalf("%d calls beyond the limit", f.up.TooMany)
				}
				f.Advance(time.Hour + time.Minute)
				if n := f.calls(2, 20); n != 20 {
					t.Fatalf("%d calls in the next window, want 20", n)
				}
			}
			if f.up.TooMany > 0 {
				t.Fatalf("%d calls beyond the limit", f.up.TooMany)
			}
		})
	}
}

// TestAnswersOpenAnOldSnapshot: calls that are under way when Redis goes back tell
// what is left.
func TestAnswersOpenAnOldSnapshot(t *testing.T) {
	f := newFleet(t, 100)
	f.calls(0, 10)
	f.save()
	f.calls(0, 10)
	var flying []quota.Permit
	for range 5 {
		d, err := f.keepers[0].Reserve(t.Context(), quotaAsk())
		if err != nil || !d.Granted {
			t.Fatalf("Reserve: %+v, %v", d, err)
		}
		flying = append(flying, d.Permit)
	}
	f.restart()
	if n := f.calls(1, 100); n != 0 {
		t.Fatalf("%d calls were granted although what is left is not known", n)
	}
	for _, p := range flying {
		f.end(0, p)
	}
	f.Advance(31 * time.Second) // no call lasts so long
	if n := f.calls(2, 100); n < 30 || f.up.TooMany > 0 {
		t.Fatalf("%d calls after the answers, %d beyond the limit", n, f.up.TooMany)
	}
}

// TestStateWithALowerSequenceIsNotBelieved, even if the same server has it: one
// that was cut off may come back with what it had.
func TestStateWithALowerSequenceIsNotBelieved(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(60, 10), noon)
	u := &quotatest.Upstream{Limit: 60, Window: time.Hour}
	call := func(n int) {
		for range n {
			p := s.grant(1)[0]
			s.settle(p, u.Count(s.Now(), p.Ask))
		}
	}
	call(10)
	old := dump(t, s.db, s.keeper.Key("alice"))
	call(10)
	restoreDump(t, s.db, s.keeper.Key("alice"), old)
	if d := s.decide(quotaAsk()); d.Granted || d.Reason != quota.ReasonPrimary {
		t.Fatalf("%+v, want a refusal: this process has seen a later state", d)
	}
	// A process that has seen nothing asks the store.
	s.Advance(2 * time.Hour)
	old = dump(t, s.db, s.keeper.Key("alice"))
	call(1)
	restoreDump(t, s.db, s.keeper.Key("alice"), old)
	s.keeper = s.newKeeper()
	if d := s.decide(quotaAsk()); d.Granted || d.Reason != quota.ReasonPrimary {
		t.Fatalf("%+v, want a refusal: the store knows of a later state", d)
	}
}

func dump(t *testing.T, db *redis.DB, key string) string {
	t.Helper()
	text, err := db.Client.Do(t.Context(), db.Client.B().Dump().Key(key).Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func restoreDump(t *testing.T, db *redis.DB, key, text string) {
	t.Helper()
	if err := db.Client.Do(t.Context(), db.Client.B().Restore().Key(key).Ttl(0).SerializedValue(text).Replace().Build()).Error(); err != nil {
		t.Fatal(err)
	}
}
