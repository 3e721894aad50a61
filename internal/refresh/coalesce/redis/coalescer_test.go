package redis_test

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/redisdb"
	"sluice/internal/refresh"
	"sluice/internal/refresh/coalesce"
	"sluice/internal/refresh/coalesce/coalescetest"
	"sluice/internal/refresh/coalesce/redis"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func connect(t testing.TB, url, prefix string) *redisdb.DB {
	t.Helper()
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// bench is some processes with connections of their own.
type bench struct {
	testing.TB
	db        *redisdb.DB
	processes []refresh.Coalescer
}

func newBench(t testing.TB, url string, processes int, l coalesce.Lives) *bench {
	t.Helper()
	prefix := testkit.Prefix(t)
	b := &bench{TB: t}
	for range processes {
		b.db = connect(t, url, prefix)
		b.processes = append(b.processes, redis.New(b.db, l))
	}
	return b
}

func (b *bench) Processes() []refresh.Coalescer { return b.processes }

// Pass waits: Redis has no clock that can be driven. It counts in milliseconds
// and takes those of its last look, so that a key goes a little after its life.
func (b *bench) Pass(d time.Duration) { <-time.After(d + 20*time.Millisecond) }

func (b *bench) Lose() {
	b.Helper()
	for _, node := range b.db.Client.Nodes() {
		if err := node.Do(b.Context(), node.B().Flushall().Build()).Error(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestConformance(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			address := url(t)
			coalescetest.Run(t, coalescetest.Factory{
				New: func(t testing.TB, processes int, l coalesce.Lives) coalescetest.Bench {
					return newBench(t, address, processes, l)
				},
			})
		})
	}
}

func ask(key string) refresh.Ask {
	return refresh.Ask{Entity: refresh.Entity{Source: "maple", Key: key}, Priority: domain.PriorityLow}
}

func TestScriptsAreSentAgain(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, url(t), 1, coalesce.Lives{})
			c := b.processes[0]
			for round := range 3 {
				asks := make([]refresh.Ask, 700)
				for i := range asks {
					asks[i] = ask(strconv.Itoa(round*1000 + i))
				}
				grants, err := c.Acquire(t.Context(), asks...)
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range grants {
					if g.Result != refresh.Published {
						t.Fatalf("round %d: %+v", round, g)
					}
				}
				for _, node := range b.db.Client.Nodes() {
					if err := node.Do(t.Context(), node.B().ScriptFlush().Build()).Error(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestKeysEnd: nothing stays in Redis for ever.
func TestKeysEnd(t *testing.T) {
	b := newBench(t, testkit.Redis(t), 1, coalesce.Lives{})
	grants, err := b.processes[0].Acquire(t.Context(), ask("a"))
	if err != nil {
		t.Fatal(err)
	}
	key := b.db.OwnKey("maple/a", "refresh")
	for _, when := range []string{"while it is held", "after the release"} {
		left, err := b.db.Client.Do(t.Context(), b.db.Client.B().Pttl().Key(key).Build()).AsInt64()
		if err != nil || left <= 0 || left > (45*time.Minute).Milliseconds() {
			t.Fatalf("%s it lasts for %d ms, %v", when, left, err)
		}
		if err := b.processes[0].Release(t.Context(), grants[0].Lock); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnOldClock: what was written when the server's clock was ahead does not
// lock an entity for longer than a lock lasts, and versions go on above it.
func TestAnOldClock(t *testing.T) {
	b := newBench(t, testkit.Redis(t), 1, coalesce.Lives{})
	ahead := time.Now().Add(time.Hour).UnixMicro()
	key := b.db.OwnKey("maple/a", "refresh")
	value := strconv.FormatInt(ahead, 10) + ":1:" + strconv.FormatInt(ahead+60_000_000, 10)
	if err := b.db.Client.Do(t.Context(), b.db.Client.B().Set().Key(key).Value(value).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	grants, err := b.processes[0].Acquire(t.Context(), ask("a"))
	if err != nil || grants[0].Result != refresh.Published || grants[0].Version != ahead+1 {
		t.Fatalf("%+v, %v; want version %d", grants, err, ahead+1)
	}
	// Also when the entity is forgotten, as long as the process is not.
	b.Lose()
	grants, err = b.processes[0].Acquire(t.Context(), ask("a"))
	if err != nil || grants[0].Version <= ahead+1 {
		t.Fatalf("%+v, %v; want a version above %d", grants, err, ahead+1)
	}
}

func TestUnavailable(t *testing.T) {
	server := testkit.StartRedis(t)
	b := newBench(t, server.URL(), 1, coalesce.Lives{})
	c := b.processes[0]
	grants, err := c.Acquire(t.Context(), ask("a"))
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := c.Acquire(t.Context(), ask("b"), ask("c")); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Acquire without Redis: %v", err)
	}
	if err := c.Release(t.Context(), grants[0].Lock); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Release without Redis: %v", err)
	}
	if _, err := c.Versions(t.Context(), grants[0].Entity); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Versions without Redis: %v", err)
	}
}

func BenchmarkAcquire(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		for _, many := range []int{1, 20} {
			b.Run(name+"/"+strconv.Itoa(many)+" in one ask", func(b *testing.B) {
				c := newBench(b, url(b), 1, coalesce.Lives{}).processes[0]
				var next atomic.Int64
				var all sync.WaitGroup
				b.ResetTimer()
				for range 50 {
					all.Go(func() {
						for {
							last := next.Add(int64(many))
							if last > int64(b.N+many) {
								return
							}
							asks := make([]refresh.Ask, many)
							for i := range asks {
								asks[i] = ask(strconv.FormatInt(last-int64(i), 10))
							}
							if _, err := c.Acquire(b.Context(), asks...); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_second")
			})
		}
	}
}
