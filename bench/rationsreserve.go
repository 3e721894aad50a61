package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/bench/report"
	"sluice/internal/backend/memory"
	"sluice/internal/backend/redis"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// rationsTarget is how fast three rations for one call are beside one.
const rationsTarget = 0.7

// rationsReserve compares reservations of three rations at once with those of one, in
// process and through Redis.
func rationsReserve(ctx context.Context, l *lab) error {
	inProcess := func(context.Context) (keeper.Keeper, func(), error) {
		return memory.NewRations(memory.RationsOptions{}), func() {}, nil
	}
	onRedis := func(ctx context.Context) (keeper.Keeper, func(), error) {
		addr, err := l.emptyRedis(ctx)
		if err != nil {
			return nil, nil, err
		}
		db, err := redis.Open(ctx, redis.Options{URL: "redis://" + addr})
		if err != nil {
			return nil, nil, err
		}
		return redis.NewRations(db, redis.RationsOptions{}), db.Close, nil
	}
	return errors.Join(
		l.rationsReserve(ctx, "memory", l.size(1_000_000, 50_000), inProcess),
		l.rationsReserve(ctx, "redis", l.size(200_000, 5_000), onRedis),
	)
}

func (l *lab) rationsReserve(ctx context.Context, where string, n int, open func(context.Context) (keeper.Keeper, func(), error)) error {
	var ones, threes []float64
	for round := range l.rounds() {
		for _, draws := range []int{1, 3} {
			k, end, err := open(ctx)
			if err != nil {
				return err
			}
			rate, err := drawTogether(ctx, k, draws, n)
			end()
			if err != nil {
				return err
			}
			if draws == 1 {
				ones = append(ones, rate)
			} else {
				threes = append(threes, rate)
			}
		}
		l.notef("round %d, %s: %.0f pairs/s of one ration, %.0f of three", round+1, where, ones[round], threes[round])
	}
	ratio := report.Median(report.Ratios(threes, ones))
	line := report.Line{
		Name: "rations_reserve_" + where, Value: report.Median(threes), Unit: "pairs/s",
		Detail: fmt.Sprintf("Reserve and Settle of a call that draws on a sliding rate, a window and a bucket, beside one that draws on the rate alone; %d callers of one group, median of %d rounds",
			reserveCallers, len(ones)),
	}
	return l.report.Add(line.Against("one ration", report.Median(ones)).WithRatio(ratio).Aim(fmt.Sprintf(">= %gx", rationsTarget), ratio >= rationsTarget))
}

// drawTogether returns how many calls are reserved and settled in a second.
func drawTogether(ctx context.Context, k keeper.Keeper, draws, n int) (float64, error) {
	const plenty = 1 << 40
	ask := keeper.Ask{Group: "bench", Gate: "owner"}
	for _, shape := range []ration.Shape{ration.Sliding, ration.Fixed, ration.Bucket}[:draws] {
		r := &ration.Ration{
			Name: string(shape), Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: shape, Calls: plenty, Every: ration.Period{Length: time.Minute},
		}
		ask.Draws = append(ask.Draws, keeper.Draw{Ration: r, Part: "owner", Cost: 1})
	}
	pair := func(int) error {
		d, err := k.Reserve(ctx, ask)
		if err == nil && !d.Granted {
			err = errors.New("a reservation was refused")
		}
		if err != nil {
			return err
		}
		return k.Settle(ctx, d.Permit, keeper.Outcome{Well: true})
	}
	if _, err := together(ctx, reserveWarmup, pair); err != nil {
		return 0, err
	}
	took, err := together(ctx, n, pair)
	return float64(n) / took.Seconds(), err
}
