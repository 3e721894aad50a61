// Package watchtest is what every adapter of watch.Signals must pass.
package watchtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/watch"
)

// Factory opens the same signals as another process would.
type Factory func(t *testing.T) watch.Signals

// patience ends what hangs.
const patience = 5 * time.Minute

// Run checks each promise of the port. New returns a factory of signals that
// nothing else uses.
func Run(t *testing.T, newFactory func(t *testing.T) Factory) {
	for name, check := range map[string]func(*testing.T, Factory){
		"EveryListenerHears":   everyListenerHears,
		"TheLastIsNotLeftOut":  theLastIsNotLeftOut,
		"EndEndsOne":           endEndsOne,
		"ContextEndsOne":       contextEndsOne,
		"AnnouncingToNobody":   announcingToNobody,
		"AnnouncingWhenItEnds": announcingWhenItEnds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newFactory(t))
		})
	}
}

// hears announces until a listener gets a token: it may not be connected yet
// when it begins to listen, and whoever announces cannot know.
func hears(t *testing.T, from watch.Signals, changed <-chan struct{}) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		from.Announce(t.Context())
		select {
		case <-changed:
			return
		case <-again.C:
		case <-end.C:
			t.Fatal("an announcement was not heard")
		}
	}
}

func everyListenerHears(t *testing.T, open Factory) {
	here := open(t)
	for range 2 {
		there := open(t)
		for range 2 {
			changed, end := there.Changes(t.Context())
			defer end()
			hears(t, here, changed)
			hears(t, there, changed)
		}
	}
}

// theLastIsNotLeftOut: who looks at the truth at each token, and at no other
// time, has seen the last change in the end; and many changes are few tokens.
func theLastIsNotLeftOut(t *testing.T, open Factory) {
	const changes = 2000
	here, there := open(t), open(t)
	changed, end := there.Changes(t.Context())
	defer end()
	hears(t, here, changed)
	var truth atomic.Int64
	go func() {
		for range changes {
			truth.Add(1)
			here.Announce(t.Context())
		}
	}()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tokens := 0
	for seen := int64(0); seen < changes; tokens++ {
		select {
		case <-changed:
			seen = truth.Load()
		case <-limit.C:
			t.Fatalf("after %d tokens %d of %d changes were seen", tokens, seen, changes)
		}
	}
	if tokens > changes/2 {
		t.Errorf("%d changes in quick succession were %d tokens", changes, tokens)
	}
}

func endEndsOne(t *testing.T, open Factory) {
	here, there := open(t), open(t)
	gone, end := there.Changes(t.Context())
	stays, endOther := there.Changes(t.Context())
	defer endOther()
	hears(t, here, gone)
	end()
	end() // may be called twice
	select {
	case <-gone: // it was there already
	default:
	}
	hears(t, here, stays)
	hears(t, here, stays)
	if len(gone) > 0 {
		t.Error("a listener that ended was told")
	}
	// Who listens again, after all have ended, hears again.
	endOther()
	anew, endAnew := there.Changes(t.Context())
	defer endAnew()
	hears(t, here, anew)
}

func contextEndsOne(t *testing.T, open Factory) {
	here, there := open(t), open(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone, end := there.Changes(ctx)
	defer end()
	hears(t, here, gone)
	cancel()
	// That it ended is not announced: a second listener is told, and from then
	// on the first is not.
	stays, endOther := there.Changes(t.Context())
	defer endOther()
	deadline := time.Now().Add(patience)
	for {
		select {
		case <-gone:
		default:
		}
		hears(t, here, stays)
		hears(t, here, stays)
		if len(gone) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a listener whose context ended is told for ever")
		}
	}
}

// announcingToNobody: it costs the caller nothing that nobody listens.
func announcingToNobody(t *testing.T, open Factory) {
	here := open(t)
	for range 100 {
		here.Announce(t.Context())
	}
	changed, end := here.Changes(t.Context())
	defer end()
	hears(t, here, changed)
}

// announcingWhenItEnds: a caller that is ending says what changed all the same.
func announcingWhenItEnds(t *testing.T, open Factory) {
	here, there := open(t), open(t)
	changed, end := there.Changes(t.Context())
	defer end()
	hears(t, here, changed)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		here.Announce(ended)
		select {
		case <-changed:
			return
		case <-again.C:
		case <-limit.C:
			t.Fatal("an announcement of a caller that is ending was not heard")
		}
	}
}
