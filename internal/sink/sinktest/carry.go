package sinktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// backfill: what is there is carried, also by a sink that is killed again and again.
func backfill(t *testing.T, p Place) {
	w := newWorld(t, p)
	for range 60 {
		w.change()
	}
	w.carryBroken()
	w.check()
}

// follows: what changes after a backfill is carried by a runner that runs on.
func follows(t *testing.T, p Place) {
	w := newWorld(t, p)
	for range 10 {
		w.change()
	}
	target := w.Open(t)
	runner := w.runner(target)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	for range 40 {
		w.change()
	}
	w.await(runner)
	cancel()
	<-ended
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	w.check()
}

// await waits until a runner that runs is where the world is.
func (w *world) await(runner *sink.Runner) {
	w.Helper()
	bounds, err := w.Bounds(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	w.until(runner, func(s sink.Status) bool { return s.Backfilled && s.Position >= bounds.Newest })
}

// until waits for a status of a runner that runs.
func (w *world) until(runner *sink.Runner, there func(sink.Status) bool) {
	w.Helper()
	hangs := time.After(3 * time.Minute)
	for !there(runner.Status()) {
		select {
		case <-w.moved:
		case <-hangs:
			w.Fatalf("the sink does not get there: %+v", runner.Status())
		}
	}
}

// random: whatever changes and whatever dies, the place is as the documents are
// whenever a sink has caught up.
func random(t *testing.T, p Place) {
	w := newWorld(t, p)
	w.options.DropDeleted = w.dice.IntN(4) == 0
	rounds := 12
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		for range w.dice.IntN(25) {
			w.change()
		}
		if w.dice.IntN(4) == 0 {
			if err := w.trim(w.dice.IntN(30)); err != nil {
				t.Fatal(err)
			}
		}
		w.carryBroken()
		w.check()
	}
}

// trim removes some of the oldest changes.
func (w *world) trim(most int) error {
	_, err := w.TrimChanges(w.Context(), time.Now().AddDate(100, 0, 0), most)
	return err
}

// carryBroken carries all that there is by sinks that fail before a batch was stored,
// or after it, while the world changes.
func (w *world) carryBroken() {
	w.Helper()
	for range 20 {
		target := &Faulty{Target: w.Open(w), Fail: func() Fault { return []Fault{None, None, None, None, Before, After}[w.dice.IntN(6)] }}
		err := w.runner(target).CatchUp(w.Context())
		if closed := target.Close(); closed != nil {
			w.Fatal(closed)
		}
		if err == nil {
			return
		}
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), faultText) {
			w.Fatal(err)
		}
		if w.dice.IntN(3) == 0 {
			w.change()
		}
	}
	w.carry()
}

// anotherFeed: a target that follows another store is not touched until somebody asks
// for that, and shows only what is here then.
func anotherFeed(t *testing.T, p Place) {
	w := newWorld(t, p)
	for range 20 {
		w.change()
	}
	w.carry()
	before := w.want()

	other := newWorld(t, p)
	other.feed = "another"
	for range 20 {
		other.change()
	}
	target := p.Open(t)
	err := other.runner(target).CatchUp(t.Context())
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "sync --anew") {
		t.Errorf("another feed: %v", err)
	}
	for i, table := range sink.Tables(w.kinds, true) {
		CompareRows(t, table, p.Rows(t, table), before[i])
	}
	runner := other.runner(target)
	runner.Anew = true
	if err := runner.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	other.check()
}

// trimmed: who has missed changes copies anew, and removes what went meanwhile.
func trimmed(t *testing.T, p Place) {
	w := newWorld(t, p)
	for range 20 {
		w.change()
	}
	w.carry()
	for account := int64(1); account <= 2; account++ {
		if _, err := w.Purge(t.Context(), account, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Upsert(t.Context(), []document.Document{w.document()}); err != nil {
		t.Fatal(err)
	}
	if err := w.trim(1000); err != nil {
		t.Fatal(err)
	}
	w.carry()
	w.check()
}

// down: a place that is away for a while gets what it has missed.
func down(t *testing.T, p Place) {
	if p.Cut == nil {
		t.Skip("this place cannot be made unreachable")
	}
	w := newWorld(t, p)
	for range 10 {
		w.change()
	}
	target := p.Open(t)
	defer func() { _ = target.Close() }()
	runner := w.runner(target)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	w.await(runner)
	p.Cut(t)
	for range 20 {
		w.change()
	}
	w.until(runner, func(s sink.Status) bool { return s.Error != "" })
	p.Mend(t)
	w.await(runner)
	cancel()
	<-ended
	w.check()
}
