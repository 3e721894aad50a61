package state

import (
	"context"

	"sluice/internal/domain"
)

// Harvests keeps how and when accounts are collected again.
type Harvests interface {
	// SetSchedule stores how an account is collected again, opaque to the
	// store; nil, or an empty one, removes it.
	SetSchedule(ctx context.Context, account int64, schedule []byte) error
	// Schedule returns what SetSchedule stored, nil if nothing.
	Schedule(ctx context.Context, account int64) ([]byte, error)
	// PlanHarvest stores an account's next harvest. It changes nothing if the
	// stored one follows a later run.
	PlanHarvest(ctx context.Context, h domain.Harvest) error
	// DropHarvest forgets an account's next harvest, if there is one.
	DropHarvest(ctx context.Context, account int64) error
	// Harvest returns an account's next harvest, false if none is planned.
	Harvest(ctx context.Context, account int64) (domain.Harvest, bool, error)
	// Harvests calls fn for every planned harvest, by account. fn may call the
	// store.
	Harvests(ctx context.Context, fn func(domain.Harvest) error) error
}
