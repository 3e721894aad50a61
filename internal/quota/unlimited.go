package quota

import (
	"context"
	"time"
)

// Unlimited is the keeper of sources without a ration: it grants everything,
// counts nothing and asks nobody.
type Unlimited struct{}

var _ Keeper = Unlimited{}

// Reserve implements Keeper.
func (Unlimited) Reserve(ctx context.Context, ask Ask) (Decision, error) {
	return Decision{Granted: true, Permit: Permit{Ask: ask, GrantedAt: time.Now()}}, ctx.Err()
}

// Settle implements Keeper.
func (Unlimited) Settle(context.Context, Permit, Response) error { return nil }

// Refund implements Keeper.
func (Unlimited) Refund(context.Context, Permit, Response) error { return nil }

// Windows implements Keeper.
func (Unlimited) Windows(context.Context, string) ([]Window, error) { return nil, nil }

// Reset implements Keeper.
func (Unlimited) Reset(context.Context, string) ([]string, error) { return nil, nil }
