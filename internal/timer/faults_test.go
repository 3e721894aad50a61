package timer_test

import (
	"errors"
	"testing"

	"sluice/internal/testkit/faulty"
)

// breakDown lets methods fail from now on, all if none is named.
func breakDown(plan *faulty.Plan, methods ...string) {
	if len(methods) == 0 {
		methods = []string{faulty.Any}
	}
	for _, m := range methods {
		plan.FailBefore(m, -1)
	}
}

// insist repeats a call that the backends do not take, as a person would.
func insist(tb testing.TB, call func() error) error {
	tb.Helper()
	for range 10_000 {
		if err := call(); !errors.Is(err, faulty.ErrInjected) {
			return err
		}
	}
	tb.Fatal("it never works")
	return nil
}
