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
	*bucketStand
	server  *testkit.Server
	prefix  string
	keepers []quota.Keeper
	up      *quotatest.Upstream
}

func newFleet(t *testing.T, limit int) *fleet {
	server, prefix := testkit.StartRedis(t), testkit.Prefix(t)
	f := &fleet{server: server, prefix: prefix, up: &quotatest.Upstream{Limit: limit, Window: time.Hour}}
	f.bucketStand = newBucketStand(t, f.connect(t), lossConfig(limit, 10))
	for range 3 {
		f.join()
	}
	return f
}

func (f *fleet) connect(t testing.TB) *redis.DB {
	db, err := redis.Open(t.Context(), redis.Options{URL: f.server.URL(), Prefix: f.prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// join adds a process.
func (f *fleet) join() {
	f.db = f.connect(f.TB)
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
	err := f.keepers[process].Settle(f.Context(), p, answer)
	for domain.CodeOf(err) == domain.CodeUnavailable && f.Context().Err() == nil {
		err = f.keepers[process].Settle(f.Context(), p, answer)
	}
	if err != nil {
		f.Fatal(err)
	}
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
// forgotten what was granted since. Whoever asks first, and whatever he has seen, what is
// stored holds: nothing is granted twice, and the window is used up to what was stored.
func TestQuotaOldSnapshotIsNotBelieved(t *testing.T) {
	for name, first := range map[string]int{"by who saw the last call": 0, "by who saw less than the snapshot": 1, "by who never saw the owner": 3} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 60)
			f.calls(1, 5)
			f.calls(0, 10)
			for range 3 {
				f.save()
				used := 10 + f.calls(0, 10)
				f.restart()
				f.join()
				used += f.calls(first, 60)
				for process := range f.keepers {
					used += f.calls(process, 60)
				}
				if f.up.TooMany > 0 {
					t.Fatalf("%d calls beyond the limit", f.up.TooMany)
				}
				if used < 50 {
					t.Errorf("only %d calls of 60 were made", used)
				}
				f.Advance(time.Hour + time.Minute)
				if n := f.calls(2, 10); n != 10 {
					t.Fatalf("%d calls in the next window, want 10", n)
				}
			}
			if f.up.TooMany > 0 {
				t.Fatalf("%d calls beyond the limit", f.up.TooMany)
			}
		})
	}
}

// TestAnswersAfterAnOldSnapshot: calls that are under way when Redis goes back hold what they
// took, and their answers are learnt from.
func TestAnswersAfterAnOldSnapshot(t *testing.T) {
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
	n := f.calls(1, 30)
	for _, p := range flying {
		f.end(0, p)
	}
	n += f.calls(2, 100)
	if n < 70 || f.up.TooMany > 0 {
		t.Fatalf("%d calls after the answers, %d beyond the limit", n, f.up.TooMany)
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
