package redis_test

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/testkit"
)

// coalescerBench is some processes with connections of their own.
type coalescerBench struct {
	testing.TB
	db        *redis.DB
	processes []refresh.Coalescer
}

func newCoalescerBench(t testing.TB, url string, processes int, l refresh.CoalescerTTLs) *coalescerBench {
	t.Helper()
	prefix := testkit.Prefix(t)
	b := &coalescerBench{TB: t}
	for range processes {
		b.db = connect(t, url, prefix)
		b.processes = append(b.processes, redis.NewCoalescer(b.db, l))
	}
	return b
}

func (b *coalescerBench) Processes() []refresh.Coalescer { return b.processes }

// Pass makes what Redis keeps older: its clock is that of others, too, and cannot be
// driven.
func (b *coalescerBench) Pass(d time.Duration) {
	b.Helper()
	b.each(func(key string) {
		c := b.db.Client
		text, err := c.Do(b.Context(), c.B().Get().Key(key).Build()).ToString()
		if err != nil {
			b.Fatal(err)
		}
		left, err := c.Do(b.Context(), c.B().Pttl().Key(key).Build()).AsInt64()
		if err != nil {
			b.Fatal(err)
		}
		if left <= d.Milliseconds() {
			b.remove(key)
			return
		}
		last := strings.LastIndexByte(text, ':') + 1
		ends, err := strconv.ParseInt(text[last:], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		older := text[:last] + strconv.FormatInt(ends-d.Microseconds(), 10)
		if err := c.Do(b.Context(), c.B().Set().Key(key).Value(older).PxMilliseconds(left-d.Milliseconds()).Build()).Error(); err != nil {
			b.Fatal(err)
		}
	})
}

// Lose removes what is known of all entities; the server is that of others, too.
func (b *coalescerBench) Lose() {
	b.Helper()
	b.each(b.remove)
}

func (b *coalescerBench) remove(key string) {
	b.Helper()
	if err := b.db.Client.Do(b.Context(), b.db.Client.B().Del().Key(key).Build()).Error(); err != nil {
		b.Fatal(err)
	}
}

// each is told of every key of this bench.
func (b *coalescerBench) each(do func(key string)) {
	b.Helper()
	mine := strings.TrimSuffix(b.db.OwnKey("", ""), "}:") + "*"
	for _, node := range b.db.Client.Nodes() {
		for cursor, first := uint64(0), true; first || cursor > 0; first = false {
			found, err := node.Do(b.Context(), node.B().Scan().Cursor(cursor).Match(mine).Count(1000).Build()).AsScanEntry()
			if err != nil {
				b.Fatal(err)
			}
			for _, key := range found.Elements {
				do(key)
			}
			cursor = found.Cursor
		}
	}
}

func TestCoalescerConformance(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			address := url(t)
			refreshtest.RunCoalescer(t, refreshtest.CoalescerFactory{
				New: func(t testing.TB, processes int, l refresh.CoalescerTTLs) refreshtest.CoalescerBench {
					return newCoalescerBench(t, address, processes, l)
				},
			})
		})
	}
}

func coalescerAsk(key string) refresh.Ask {
	return refresh.Ask{Entity: refresh.Entity{Source: "maple", Key: key}, Priority: domain.PriorityLow}
}

func TestCoalescerScriptsAreSentAgain(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			b := newCoalescerBench(t, url(t), 1, refresh.CoalescerTTLs{})
			c := b.processes[0]
			for round := range 3 {
				asks := make([]refresh.Ask, 700)
				for i := range asks {
					asks[i] = coalescerAsk(strconv.Itoa(round*1000 + i))
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

// TestCoalescerKeysEnd: nothing stays in Redis for ever.
func TestCoalescerKeysEnd(t *testing.T) {
	b := newCoalescerBench(t, testkit.Redis(t), 1, refresh.CoalescerTTLs{})
	grants, err := b.processes[0].Acquire(t.Context(), coalescerAsk("a"))
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

// TestCoalescerOldClock: what was written when the server's clock was ahead does not
// lock an entity for longer than a lock lasts, and versions go on above it.
func TestCoalescerOldClock(t *testing.T) {
	b := newCoalescerBench(t, testkit.Redis(t), 1, refresh.CoalescerTTLs{})
	ahead := time.Now().Add(time.Hour).UnixMicro()
	key := b.db.OwnKey("maple/a", "refresh")
	value := strconv.FormatInt(ahead, 10) + ":1:" + strconv.FormatInt(ahead+60_000_000, 10)
	if err := b.db.Client.Do(t.Context(), b.db.Client.B().Set().Key(key).Value(value).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	grants, err := b.processes[0].Acquire(t.Context(), coalescerAsk("a"))
	if err != nil || grants[0].Result != refresh.Published || grants[0].Version != ahead+1 {
		t.Fatalf("%+v, %v; want version %d", grants, err, ahead+1)
	}
	// Also when the entity is forgotten, as long as the process is not.
	b.Lose()
	grants, err = b.processes[0].Acquire(t.Context(), coalescerAsk("a"))
	if err != nil || grants[0].Version <= ahead+1 {
		t.Fatalf("%+v, %v; want a version above %d", grants, err, ahead+1)
	}
}

func TestCoalescerUnavailable(t *testing.T) {
	server := testkit.StartRedis(t)
	b := newCoalescerBench(t, server.URL(), 1, refresh.CoalescerTTLs{})
	c := b.processes[0]
	grants, err := c.Acquire(t.Context(), coalescerAsk("a"))
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := c.Acquire(t.Context(), coalescerAsk("b"), coalescerAsk("c")); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Acquire without Redis: %v", err)
	}
	if err := c.Release(t.Context(), grants[0].Lock); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Release without Redis: %v", err)
	}
	if _, err := c.Versions(t.Context(), grants[0].Entity); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Versions without Redis: %v", err)
	}
}

func BenchmarkCoalescerAcquire(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		for _, many := range []int{1, 20} {
			b.Run(name+"/"+strconv.Itoa(many)+" in one ask", func(b *testing.B) {
				c := newCoalescerBench(b, url(b), 1, refresh.CoalescerTTLs{}).processes[0]
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
								asks[i] = coalescerAsk(strconv.FormatInt(last-int64(i), 10))
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
