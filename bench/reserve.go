package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/report"
	"sluice/internal/backend/memory"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
)

const reserveWorkers = 16

// quotaReserve measures reservations that are granted and settled, of one
// owner and of many.
func quotaReserve(ctx context.Context, l *lab) error {
	for _, owners := range []int{1, 1000} {
		rate, err := reservations(ctx, owners, l.size(2_000_000, 50_000))
		if err != nil {
			return err
		}
		line := report.Line{
			Name: fmt.Sprintf("quota_reserve_%d", owners), Value: rate, Unit: "pairs/s",
			Detail: fmt.Sprintf("Reserve and Settle in process, %d owners, %d goroutines", owners, reserveWorkers),
		}
		if err := l.report.Add(line); err != nil {
			return err
		}
	}
	return nil
}

// amply counts everything and never refuses.
func amply() quota.Config {
	const plenty = 1 << 40
	return quota.Config{
		Concurrency: plenty,
		Buckets:     map[string]quota.Limits{"core": {Limit: plenty, Window: time.Hour, PointsPerMinute: plenty}},
	}
}

func reservations(ctx context.Context, owners, n int) (float64, error) {
	keeper := bucketed.New(amply(), memory.NewRations(memory.RationsOptions{}), bucketed.Options{})
	names := make([]string, owners)
	for i := range names {
		names[i] = fmt.Sprintf("owner-%d", i)
	}
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	var next atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range reserveWorkers {
		group.Go(func() error {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := reserveOnce(ctx, keeper, names[i%owners], reset); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}

func reserveOnce(ctx context.Context, keeper quota.Keeper, owner string, reset time.Time) error {
	permit, err := reservePermit(ctx, keeper, owner)
	if err != nil {
		return err
	}
	return settlePermit(ctx, keeper, permit, reset)
}

func reservePermit(ctx context.Context, keeper quota.Keeper, owner string) (quota.Permit, error) {
	decision, err := keeper.Reserve(ctx, quota.Ask{Owner: owner, Bucket: "core", Endpoint: "list", Cost: 1, Points: 1})
	if err == nil && !decision.Granted {
		err = errors.New("a reservation was refused")
	}
	return decision.Permit, err
}

func settlePermit(ctx context.Context, keeper quota.Keeper, permit quota.Permit, reset time.Time) error {
	return keeper.Settle(ctx, permit, quota.Response{
		Known: true, Limit: 1 << 40, Remaining: 1 << 39, Reset: reset, Date: permit.GrantedAt.Truncate(time.Second), // as HTTP tells it
	})
}
