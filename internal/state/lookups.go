package state

import (
	"context"

	"sluice/internal/domain"
)

// Lookups answers what is asked about one thing, on every store alike. It
// implements parts of Accounts, Runs, Jobs and Harvests.
type Lookups struct {
	read func(ctx context.Context, fn func(ReadRows) error) error
}

// NewLookups returns lookups on a store that reads by a connection C, whose rows
// it lends.
func NewLookups[C any](read func(context.Context, func(C) error) error, rows func(C) ReadRows) Lookups {
	return Lookups{func(ctx context.Context, fn func(ReadRows) error) error {
		return read(ctx, func(c C) error { return fn(rows(c)) })
	}}
}

// Run implements Runs.
func (l Lookups) Run(ctx context.Context, id int64) (run domain.Run, err error) {
	err = l.read(ctx, func(rows ReadRows) error {
		run, err = rows.FindRun(ctx, id)
		return err
	})
	return checked(run, err, id)
}

// Account implements Accounts.
func (l Lookups) Account(ctx context.Context, id int64) (a domain.Account, err error) {
	err = l.read(ctx, func(rows ReadRows) error {
		a, err = rows.FindAccount(ctx, id)
		return err
	})
	return checkAccount(a, err, id)
}

// AccountByLogin implements Accounts.
func (l Lookups) AccountByLogin(ctx context.Context, source, login string) (a domain.Account, err error) {
	err = l.read(ctx, func(rows ReadRows) error {
		a, err = rows.FindAccountByLogin(ctx, source, login)
		return err
	})
	if err == nil && a.ID == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no account %s at %s", login, source)
	}
	return a, err
}

// Credential implements Accounts.
func (l Lookups) Credential(ctx context.Context, account int64) (sealed Sealed, err error) {
	found := false
	err = l.read(ctx, func(rows ReadRows) error {
		sealed, found, err = rows.FindCredential(ctx, account)
		return err
	})
	if err == nil && !found {
		err = NoAccount(account)
	}
	return sealed, err
}

// Children implements Jobs.
func (l Lookups) Children(ctx context.Context, parent int64) (children []domain.JobRef, err error) {
	err = l.read(ctx, func(rows ReadRows) error {
		run, err := rows.RunOfJob(ctx, parent)
		if err != nil || run == 0 {
			return err
		}
		children, err = rows.ChildJobs(ctx, run, parent)
		return err
	})
	return children, err
}

// Schedule implements Harvests.
func (l Lookups) Schedule(ctx context.Context, account int64) (schedule []byte, err error) {
	err = l.read(ctx, func(rows ReadRows) error {
		if _, err := findAccount(ctx, rows, account); err != nil {
			return err
		}
		schedule, err = rows.FindSchedule(ctx, account)
		return err
	})
	return schedule, err
}

func findAccount(ctx context.Context, rows ReadRows, id int64) (domain.Account, error) {
	a, err := rows.FindAccount(ctx, id)
	return checkAccount(a, err, id)
}
