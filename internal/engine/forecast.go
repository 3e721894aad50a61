package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine/forecast"
	"sluice/internal/quota"
	"sluice/internal/state"
)

// Forecast says what a run will still take and when it will end.
type Forecast = forecast.Forecast

// forecast looks ahead for a run of an account.
func (fc *forecaster) forecast(ctx context.Context, run domain.Run, owner string, windows []quota.Window) (Forecast, error) {
	outlooks, err := fc.State.Ledgers.Outlook(ctx, run.ID)
	if err != nil {
		return Forecast{}, err
	}
	owed, err := fc.owedToOthers(ctx, run, owner)
	if err != nil {
		return Forecast{}, err
	}
	pace := 0.0
	for _, o := range outlooks {
		if o.Left+owed[o.Bucket] > 0 {
			perSecond, _ := fc.paces.Rate(dispatch.Lane(owner, o.Bucket))
			pace += perSecond
		}
	}
	return forecast.Of(forecast.Load{
		Outlooks: outlooks, Owed: owed, Windows: windows, Length: fc.windowLength(owner), PerSecond: pace, Now: fc.cfg.Now(),
	}), nil
}

// windowLength says how long an owner's windows have been, by bucket.
func (c *core) windowLength(owner string) func(bucket string) time.Duration {
	return func(bucket string) time.Duration {
		_, length := c.paces.Rate(dispatch.Lane(owner, bucket))
		return length
	}
}

// owedToOthers sums up, by bucket, what the other active runs of an owner will
// take: the lane serves them in turn.
func (fc *forecaster) owedToOthers(ctx context.Context, run domain.Run, owner string) (map[string]int64, error) {
	owed := map[string]int64{}
	runs, err := fc.State.Runs.Runs(ctx, state.RunQuery{ActiveOnly: true, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, other := range runs {
		if other.ID == run.ID {
			continue
		}
		a, err := fc.accounts.get(ctx, other.AccountID)
		if err != nil || a.Owner != owner {
			continue
		}
		outlooks, err := fc.State.Ledgers.Outlook(ctx, other.ID)
		if err != nil {
			return nil, err
		}
		for _, o := range outlooks {
			owed[o.Bucket] += o.Left
		}
	}
	return owed, nil
}
