package state

import (
	"context"

	"sluice/internal/domain"
)

// Totals counts what there is.
type Totals interface {
	// Total counts accounts and active runs. It reads no job and no ended run, so
	// that it can be asked every few seconds.
	Total(ctx context.Context) (Total, error)
}

// Total is how much there is of what people watch.
type Total struct {
	// Accounts are all accounts, by state; what there is none of may be missing.
	Accounts map[domain.AccountState]int64
	// Active are the runs that have not ended, by status.
	Active map[domain.RunStatus]int64
	// Pending is how many jobs of those have not ended.
	Pending int64
}

// NewTotal returns a total of nothing.
func NewTotal() Total {
	return Total{Accounts: map[domain.AccountState]int64{}, Active: map[domain.RunStatus]int64{}}
}
