package catalogue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/catalogue"
)

// TestWhoWaitsForAChangeGivesUp: with its own context, whoever changes something
// meanwhile and does not come to an end.
func TestWhoWaitsForAChangeGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("it is over")
		c := catalogue.New(catalogue.Options{Alone: func(context.Context, string) (func(), error) {
			time.Sleep(time.Hour)
			return nil, broken
		}})
		first := make(chan error)
		go func() { first <- c.Remove(t.Context(), "shop") }()
		synctest.Wait()
		began := time.Now()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Remove(impatient, "shop"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("it ended with %v after %s", err, time.Since(began))
		}
		if err := <-first; !errors.Is(err, broken) {
			t.Errorf("who changes something gets %v", err)
		}
		// The turn was given back.
		if err := c.Remove(t.Context(), "shop"); !errors.Is(err, broken) {
			t.Errorf("the next gets %v", err)
		}
	})
}
