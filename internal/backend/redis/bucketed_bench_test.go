package redis_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/backend/redis"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/testkit"
)

const callers = 50

// benchConfig never refuses, so that what is measured is the granted path.
func benchConfig() quota.Config {
	return quota.Config{
		Concurrency: 1 << 40,
		Buckets: map[string]quota.Limits{"core": {
			Limit: 1 << 40, Window: time.Hour, Floor: 100, PointsPerMinute: 1 << 40,
		}},
	}
}

// together lets so many callers do b.N things, and reports how many per second.
func together(b *testing.B, do func(n int64) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_second")
}

// tokenBucket is the least that a limit in Redis can do: what reservations are
// compared with.
const tokenBucket = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local text = redis.call('GET', KEYS[1])
local tokens, at = burst, now
if text then
  tokens, at = struct.unpack('<dd', text)
end
tokens = math.min(burst, tokens + (now - at) * rate / 1000000)
if tokens < 1 then
  return 0
end
redis.call('SET', KEYS[1], struct.pack('<dd', tokens - 1, now), 'EX', 60)
return 1`

func BenchmarkQuotaReserve(b *testing.B) {
	for _, owners := range []int{1, 100} {
		names := make([]string, owners)
		for i := range names {
			names[i] = "owner" + strconv.Itoa(i)
		}
		name := strconv.Itoa(owners) + " owners/"
		b.Run(name+"bare token bucket", func(b *testing.B) { benchBucket(b, names) })
		b.Run(name+"reserve", func(b *testing.B) {
			k := benchKeeper(b)
			together(b, func(n int64) error {
				_, err := reservePermit(b, k, names[int(n)%owners])
				return err
			})
		})
		b.Run(name+"reserve and settle", func(b *testing.B) { benchPairs(b, benchKeeper(b), names) })
	}
}

func benchKeeper(b *testing.B) quota.Keeper {
	return bucketed.New(benchConfig(), redis.NewRations(connectOwn(b, testkit.Redis(b)), redis.RationsOptions{}), bucketed.Options{})
}

func benchPairs(b *testing.B, k quota.Keeper, names []string) {
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	together(b, func(n int64) error {
		p, err := reservePermit(b, k, names[int(n)%len(names)])
		if err != nil {
			return err
		}
		return k.Settle(b.Context(), p, quota.Response{
			Known: true, Limit: 1 << 40, Remaining: 1 << 39, Reset: reset, Date: p.GrantedAt.Truncate(time.Second),
		})
	})
}

func reservePermit(b *testing.B, k quota.Keeper, owner string) (quota.Permit, error) {
	d, err := k.Reserve(b.Context(), quota.Ask{Owner: owner, Bucket: "core", Endpoint: "list", Cost: 1, Points: 1})
	if err == nil && !d.Granted {
		b.Errorf("refused: %+v", d)
	}
	return d.Permit, err
}

func benchBucket(b *testing.B, names []string) {
	db := connectOwn(b, testkit.Redis(b))
	script := rueidis.NewLuaScript(tokenBucket)
	together(b, func(n int64) error {
		key := db.OwnKey(names[int(n)%len(names)], "bucket")
		return redis.Failure(script.Exec(b.Context(), db.Client, []string{key}, []string{"1000000000", "1000000000"}).Error())
	})
}
