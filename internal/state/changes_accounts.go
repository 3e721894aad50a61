package state

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// SetAccountState implements Accounts. Who creates jobs looks at the account with
// a shared lock that it keeps until it commits: after the account is locked here,
// either its jobs are there to be moved, or it will find the account as it is
// then.
func (c Changes) SetAccountState(ctx context.Context, id int64, to domain.AccountState, reason string) (moved []domain.JobRef, err error) {
	_, from := Follow(to)
	err = c.transact(ctx, func(rows Rows) error {
		moved = nil
		if err := rows.LockMovable(ctx, id, from); err != nil {
			return err
		}
		if err := setAccountState(ctx, rows, id, to, reason, c.now()); err != nil {
			return err
		}
		moved, err = moveJobs(ctx, rows, id, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

func setAccountState(ctx context.Context, rows AccountRows, id int64, to domain.AccountState, reason string, at time.Time) error {
	found, err := rows.WriteAccountState(ctx, id, to, reason, at)
	if err == nil && !found {
		err = NoAccount(id)
	}
	return err
}

// moveJobs moves the unfinished jobs of an account as its state says.
func moveJobs(ctx context.Context, rows JobRows, account int64, now domain.AccountState) ([]domain.JobRef, error) {
	to, from := Follow(now)
	for _, status := range from {
		if _, err := domain.MoveJob(status, to); err != nil {
			return nil, err
		}
	}
	if len(from) == 0 {
		return nil, nil
	}
	return rows.MoveJobs(ctx, account, from, to)
}

// ReserveForOwner implements Accounts.
func (c Changes) ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (a domain.Account, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		if err := rows.WriteReserve(ctx, id, floor, hours, c.now()); err != nil {
			return err
		}
		a, err = findAccount(ctx, rows, id)
		return err
	})
	return a, err
}

// SetSchedule implements Harvests. The account is not locked: there are none that
// vanish.
func (c Changes) SetSchedule(ctx context.Context, account int64, schedule []byte) error {
	return c.transact(ctx, func(rows Rows) error {
		if _, err := findAccount(ctx, rows, account); err != nil {
			return err
		}
		return rows.WriteSchedule(ctx, account, schedule)
	})
}

// PlanHarvest implements Harvests.
func (c Changes) PlanHarvest(ctx context.Context, h domain.Harvest) error {
	return c.transact(ctx, func(rows Rows) error {
		if _, err := findAccount(ctx, rows, h.AccountID); err != nil {
			return err
		}
		return rows.WriteHarvest(ctx, h)
	})
}
