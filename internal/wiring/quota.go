package wiring

import (
	"context"
	"time"

	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/drawn"
	"sluice/internal/ration/keeper"
	"sluice/internal/state"
)

// openQuota opens what counts calls, on rations. What an earlier version stored of
// windows goes on to count.
func openQuota(ctx context.Context, o Options, store state.Quotas, rations keeper.Keeper, stored keeper.Store, ports *parts) error {
	ports.Quota = quota.Unlimited{}
	if len(o.Quota.Buckets) > 0 {
		if !o.Read && !o.Look {
			windows, err := store.QuotaWindows(ctx, "")
			if err != nil {
				return err
			}
			now := time.Now()
			if o.Engine.Now != nil {
				now = o.Engine.Now()
			}
			if err := bucketed.TakeOver(ctx, o.Quota, windows, stored, now); err != nil {
				return err
			}
		}
		ports.Quota = bucketed.New(o.Quota, rations, bucketed.Options{Groups: stored.Groups, Now: o.Engine.Now})
	}
	ports.Quota = drawn.New(ports.Quota, rations, stored.Groups)
	return nil
}
