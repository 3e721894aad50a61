package state

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// PurgeRows are how everything of an account is removed.
type PurgeRows interface {
	// KeepIDs sees to it that ids which were given out are not given out again when
	// their rows are removed.
	KeepIDs(ctx context.Context) error
	// RemoveRows removes up to so many rows of an account, of whatever kind.
	RemoveRows(ctx context.Context, a *domain.Account, rows int) (Purged, error)
	// WritePurged takes name, owner and credential out of an account's row, if it
	// is purged.
	WritePurged(ctx context.Context, a *domain.Account, at time.Time) error
}

// BeginPurge implements Purges. The account is locked, so that nobody makes a run
// of it active.
func (c Changes) BeginPurge(ctx context.Context, account int64) error {
	return c.transact(ctx, func(rows Rows) error {
		active, err := rows.LockActiveRun(ctx, account)
		if err != nil {
			return err
		}
		a, err := rows.FindAccount(ctx, account)
		if a, err = checkAccount(a, err, account); err != nil || a.State == domain.AccountPurged {
			return err
		}
		if err := MayPurge(&a, active); err != nil {
			return err
		}
		if err := rows.KeepIDs(ctx); err != nil {
			return err
		}
		_, err = rows.WriteAccountState(ctx, account, domain.AccountPurged, PurgedReason, c.now())
		return err
	})
}

// PurgeBatch implements Purges.
func (c Changes) PurgeBatch(ctx context.Context, account int64, rows int) (purged Purged, err error) {
	err = c.transact(ctx, func(all Rows) error {
		active, err := all.LockActiveRun(ctx, account)
		if err != nil {
			return err
		}
		a, err := all.FindAccount(ctx, account)
		if a, err = checkAccount(a, err, account); err != nil {
			return err
		}
		if err := MustBePurging(&a, active); err != nil {
			return err
		}
		purged, err = all.RemoveRows(ctx, &a, rows)
		return err
	})
	return purged, err
}

// EndPurge implements Purges.
func (c Changes) EndPurge(ctx context.Context, account int64) (a domain.Account, err error) {
	err = c.transact(ctx, func(rows Rows) error {
		a, err = rows.FindAccount(ctx, account)
		if a, err = checkAccount(a, err, account); err != nil {
			return err
		}
		if err := MustBePurging(&a, 0); err != nil {
			return err
		}
		if err := rows.WritePurged(ctx, &a, c.now()); err != nil {
			return err
		}
		a, err = rows.FindAccount(ctx, account)
		return err
	})
	return a, err
}
