package engine

import (
	"context"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// ResetQuota lifts whatever parks a quota owner. Nothing is taken for granted
// then: one call goes first, and its answer tells what is left. An owner nothing
// is known about is an error of code not found.
func (r *requests) ResetQuota(ctx context.Context, owner string) error {
	buckets, err := r.Quota.Reset(ctx, owner)
	if err != nil {
		return err
	}
	for _, bucket := range buckets {
		lane := dispatch.Lane(owner, bucket)
		r.waits.clear(lane)
		if err := r.Dispatch.Resume(ctx, lane); err != nil {
			return err
		}
	}
	r.watchers.Notify()
	return nil
}

// checkFloor refuses a floor that would keep everything there is: the owner's
// jobs would wait for ever. While no answer told the limit, or the keeper cannot
// be asked, that shows when the first call is answered.
func (r *requests) checkFloor(ctx context.Context, account int64, floor int) error {
	a, err := r.State.Accounts.Account(ctx, account)
	if err != nil || floor == 0 {
		return err
	}
	windows, err := r.Quota.Windows(ctx, a.Owner)
	if err != nil {
		r.cfg.Log.Warn("a floor could not be compared with the limit", "account", account, "error", err)
	}
	most := 0
	for _, w := range windows {
		most = max(most, w.Limit)
	}
	if most > 0 && floor >= most {
		return domain.Errorf(domain.CodeInvalid, "a floor of %d keeps the whole limit of %d for its owner; it must be lower", floor, most)
	}
	return nil
}
