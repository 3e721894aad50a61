package engine_test

import (
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/wiring"
)

func TestCollectsAccountsCompletely(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{Seed: 7, Accounts: 2}, wiring.Options{})
	for _, c := range w.signupAll() {
		w.wantWhole(c)
	}
	w.wantNoWaste()
}
