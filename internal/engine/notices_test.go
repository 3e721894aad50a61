package engine_test

import (
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/wiring"
)

// told notes what people would hear of.
type told struct {
	mu      sync.Mutex
	changes int
	floors  map[string]bool
}

// Changed implements engine.Notices.
func (n *told) Changed(time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes++
}

// FloorReached implements engine.Notices.
func (n *told) FloorReached(a domain.Account, why string, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.floors == nil {
		n.floors = map[string]bool{}
	}
	n.floors[a.Login+" "+why] = until.After(time.Now())
}

func (n *told) heard() (int, map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changes, n.floors
}

// TestWhatPeopleHearOf: a ration that is used up and an account that is paused are
// told; a run that ends well is not.
func TestWhatPeopleHearOf(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		options := small(2)
		options.Limits = sim.Limits{Window: time.Hour, CoreLimit: 5, GraphQLLimit: 5}
		notes := &told{}
		w := newBubbleWorld(t, options, wiring.Options{Engine: engine.Config{Workers: 4, Notices: notes}})
		login := w.sim.Logins()[0]
		w.wantWhole(w.signup(login))
		changes, floors := notes.heard()
		if changes != 0 || len(floors) == 0 {
			t.Errorf("heard %d changes and of %v", changes, floors)
		}
		for key, later := range floors {
			if !later || key[:len(login)] != login {
				t.Errorf("heard of %s, %t", key, later)
			}
		}
		w.signupWith(w.sim.Logins()[1], "ghp_nobody1")
		w.until("the account is paused", func() bool { changes, _ := notes.heard(); return changes > 0 })
	})
}
