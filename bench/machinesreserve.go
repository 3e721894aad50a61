package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/peer"
	"sluice/bench/report"
	"sluice/internal/backend/redis"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
)

const (
	// reserveCallers is how many ask at once, everywhere.
	reserveCallers = 50
	// reserveBurst is how many permits are out at the most when reservations
	// are timed alone; they are settled before the next ones.
	reserveBurst   = 5_000
	reserveWarmup  = 1_000
	reserveTarget  = 1.8
	redisRateNamed = "redis_rate on go-redis"
)

// machinesReserve compares reservations through Redis with a limiter on the
// same Redis, for one owner and for many.
func machinesReserve(ctx context.Context, l *lab) error {
	for _, owners := range []int{1, 100} {
		if err := l.machinesReserve(ctx, owners); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) machinesReserve(ctx context.Context, owners int) error {
	names := make([]string, owners)
	for i := range names {
		names[i] = fmt.Sprintf("owner-%d", i)
	}
	n := l.size(200_000, 5_000)
	var alone, pairs, theirs []float64
	for round := range l.rounds() {
		addr, err := l.emptyRedis(ctx)
		if err != nil {
			return err
		}
		reserved, paired, err := reserveOnRedis(ctx, "redis://"+addr, names, n)
		if err != nil {
			return err
		}
		allowed, err := allowOnRedis(ctx, addr, names, n)
		if err != nil {
			return err
		}
		alone, pairs, theirs = append(alone, reserved), append(pairs, paired), append(theirs, allowed)
		l.notef("round %d, %d owners: %.0f reservations/s, %.0f with their settlement, redis_rate %.0f/s", round+1, owners, reserved, paired, allowed)
	}
	ratio := report.Median(report.Ratios(pairs, theirs))
	pair := report.Line{
		Name: fmt.Sprintf("machines_reserve_%d", owners), Value: report.Median(pairs), Unit: "pairs/s",
		Detail: fmt.Sprintf("Reserve and Settle of each call, both inside the time, beside the one call that the peer needs, which has nothing to settle; "+
			"%d callers, %d owners, median of %d rounds", reserveCallers, owners, len(pairs)),
	}
	half := report.Line{
		Name: fmt.Sprintf("machines_reserve_only_%d", owners), Value: report.Median(alone), Unit: "reservations/s",
		Detail: "Reserve alone, what is reserved is settled outside of the time: one script beside one script, but half of what a call costs",
	}
	peerValue := report.Median(theirs)
	return errors.Join(
		l.report.Add(pair.Against(redisRateNamed, peerValue).WithRatio(ratio).Aim(fmt.Sprintf(">= %gx", reserveTarget), ratio >= reserveTarget)),
		l.report.Add(half.Against(redisRateNamed, peerValue).WithRatio(report.Median(report.Ratios(alone, theirs)))),
	)
}

// reserveOnRedis returns how many reservations are made in a second, alone and
// each followed by its settlement.
func reserveOnRedis(ctx context.Context, url string, owners []string, n int) (alone, pairs float64, err error) {
	db, err := redis.Open(ctx, redis.Options{URL: url})
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	keeper := bucketed.New(amply(), redis.NewRations(db, redis.RationsOptions{}), bucketed.Options{})
	permits := make([]quota.Permit, reserveBurst)
	reserve := func(i int) (err error) {
		permits[i%reserveBurst], err = reservePermit(ctx, keeper, owners[i%len(owners)])
		return err
	}
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	settle := func(i int) error { return settlePermit(ctx, keeper, permits[i%reserveBurst], reset) }
	pair := func(i int) error { return reserveOnce(ctx, keeper, owners[i%len(owners)], reset) }
	// The first calls connect.
	if _, err := together(ctx, reserveWarmup, pair); err != nil {
		return 0, 0, err
	}
	took := time.Duration(0)
	for from := 0; from < n; from += reserveBurst {
		spent, err := together(ctx, reserveBurst, func(i int) error { return reserve(from + i) })
		if err != nil {
			return 0, 0, err
		}
		took += spent
		if _, err := together(ctx, reserveBurst, settle); err != nil {
			return 0, 0, err
		}
	}
	alone = float64(n) / took.Seconds()
	took, err = together(ctx, n, pair)
	return alone, float64(n) / took.Seconds(), err
}

func allowOnRedis(ctx context.Context, addr string, owners []string, n int) (perSecond float64, err error) {
	limiter := peer.NewRedisRate(addr, reserveCallers)
	defer func() { err = errors.Join(err, limiter.Close()) }()
	allow := func(i int) error { return limiter.Reserve(ctx, owners[i%len(owners)]) }
	if _, err := together(ctx, reserveWarmup, allow); err != nil {
		return 0, err
	}
	took, err := together(ctx, n, allow)
	return float64(n) / took.Seconds(), err
}

// together lets the callers do n things and returns how long that takes.
func together(ctx context.Context, n int, do func(i int) error) (time.Duration, error) {
	var next atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range reserveCallers {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(began), err
}
