package keeper

import "context"

// Turn lets one caller at a time do work that takes a while, such as asking a
// store. It is no lock: nobody holds one meanwhile, and whoever waits for its turn
// gives up with its context.
type Turn chan struct{}

// NewTurn returns a turn that is free.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits for the turn, unless ctx ends first. A turn that is free is given
// even then: the work decides for itself whether it goes on.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End gives the turn to whoever waits.
func (t Turn) End() { <-t }
