package due

import (
	"context"
	"time"
)

// Waiter lets the calls of one process wait for what is due. One of them looks,
// and sleeps until the next instant or until it is woken for an earlier one; the
// others wait for their turn, in the order in which they came. There is one
// timer and no goroutine, and nothing at all while nobody waits.
type Waiter struct {
	longest time.Duration
	// turn holds a value while a call looks or sleeps.
	turn chan struct{}
	// wake has a value when there is a reason to look.
	wake chan struct{}
}

// NewWaiter returns a waiter that ends every wait after the longest time.
func NewWaiter(longest time.Duration) *Waiter {
	return &Waiter{longest: longest, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// Wake has whoever waits look at once. It does not block.
func (w *Waiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Look takes what is due. If it found nothing it says how long there will be
// nothing, as far as is known.
type Look func() (found bool, wait time.Duration, err error)

// Wait calls look until it has found something or failed, the longest wait is
// over or ctx ends. A wait that is over ends with a look: the clock by which
// instants are judged may have been set while nothing but elapsed time was
// measured. Calls of look never overlap.
func (w *Waiter) Wait(ctx context.Context, look Look) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
		// The usual case needs no timer.
		found, wait, err := w.look(look)
		if found || err != nil {
			<-w.turn
			return err
		}
		end := time.NewTimer(w.longest)
		defer end.Stop()
		return w.sleep(ctx, look, wait, end.C)
	default:
	}
	// Whoever sleeps is first; the clock may have been set since he looked.
	w.Wake()
	end := time.NewTimer(w.longest)
	defer end.Stop()
	select {
	case w.turn <- struct{}{}:
		return w.sleep(ctx, look, 0, end.C)
	case <-end.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sleep waits and looks in turns, and gives up the caller's turn in the end.
func (w *Waiter) sleep(ctx context.Context, look Look, wait time.Duration, end <-chan time.Time) error {
	defer func() { <-w.turn }()
	next := time.NewTimer(wait)
	defer next.Stop()
	for over := false; ; {
		if wait >= w.longest {
			next.Stop() // the end comes first, and one look then is enough
		}
		select {
		case <-next.C:
		case <-w.wake:
		case <-end:
			over = true
		case <-ctx.Done():
			return ctx.Err()
		}
		var found bool
		var err error
		if found, wait, err = w.look(look); found || err != nil || over {
			return err
		}
		next.Reset(wait)
	}
}

// look looks. What was a reason to look before is seen by this one.
func (w *Waiter) look(look Look) (found bool, wait time.Duration, err error) {
	select {
	case <-w.wake:
	default:
	}
	return look()
}
