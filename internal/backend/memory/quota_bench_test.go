package memory_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
)

// benchConfig never refuses, so that what is measured is the granted path.
func benchConfig() quota.Config {
	return quota.Config{
		Concurrency: 1 << 20,
		Buckets: map[string]quota.Limits{"core": {
			Limit: 1 << 60, Window: time.Hour, Floor: 100, PointsPerMinute: 1 << 60,
		}},
	}
}

func newQuota() quota.Keeper {
	return bucketed.New(benchConfig(), memory.NewRations(memory.RationsOptions{}), bucketed.Options{})
}

func cycle(b *testing.B, k quota.Keeper, a quota.Ask, reset time.Time) {
	d, err := k.Reserve(b.Context(), a)
	if err != nil || !d.Granted {
		b.Errorf("Reserve: %+v, %v", d, err)
		return
	}
	err = k.Settle(b.Context(), d.Permit, quota.Response{
		Known: true, Limit: 1 << 60, Remaining: 1 << 59, Reset: reset, Date: d.Permit.GrantedAt,
	})
	if err != nil {
		b.Errorf("Settle: %v", err)
	}
}

func BenchmarkQuotaReserveSettle(b *testing.B) {
	k := newQuota()
	a := quota.Ask{Owner: "alice", Bucket: "core", Endpoint: "list", Cost: 1, Points: 1}
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, k, a, reset)
	}
}

func BenchmarkQuotaReserveSettleParallel(b *testing.B) {
	for _, owners := range []int{1, 1000} {
		b.Run(strconv.Itoa(owners)+" owners", func(b *testing.B) {
			k := newQuota()
			reset := time.Now().Add(time.Hour).Truncate(time.Second)
			names := make([]string, owners)
			for i := range names {
				names[i] = "owner " + strconv.Itoa(i)
			}
			var next atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					owner := names[int(next.Add(1))%owners]
					cycle(b, k, quota.Ask{Owner: owner, Bucket: "core", Endpoint: "list", Cost: 1, Points: 1}, reset)
				}
			})
		})
	}
}
