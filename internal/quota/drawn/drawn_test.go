package drawn_test

import (
	"slices"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/drawn"
	"sluice/internal/quota/rate"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
)

type bench struct {
	*testing.T
	clock  *rationtest.Clock
	store  *rationtest.Store
	keeper *drawn.Keeper
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, clock: rationtest.NewClock(rationtest.Morning), store: &rationtest.Store{}}
	b.restart()
	return b
}

func (b *bench) restart() {
	rations := memory.NewRations(memory.RationsOptions{Store: b.store, Now: b.clock.Now, Passed: b.clock.Passed})
	cfg := quota.Config{Buckets: map[string]quota.Limits{"core": {Limit: 1, Window: time.Hour}}}
	b.keeper = drawn.New(bucketed.New(cfg, rations, bucketed.Options{Groups: b.store.Groups, Now: b.clock.Now}), rations, b.store.Groups)
}

func (b *bench) ask(a quota.Ask) quota.Decision {
	b.Helper()
	d, err := b.keeper.Reserve(b.Context(), a)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func (b *bench) call(a quota.Ask, r quota.Response) {
	b.Helper()
	d := b.ask(a)
	if !d.Granted {
		b.Fatalf("refused: %+v", d)
	}
	if err := b.keeper.Settle(b.Context(), d.Permit, r); err != nil {
		b.Fatal(err)
	}
}

func one(name string, calls int, every time.Duration, per ...ration.Dimension) *ration.Ration {
	return &ration.Ration{Name: name, Per: per, Unit: ration.UnitCalls, Shape: ration.Fixed, Calls: calls, Every: ration.Period{Length: every}}
}

func askOf(owner string, shared bool, draws ...keeper.Draw) quota.Ask {
	return quota.Ask{Owner: owner, Bucket: "lab", Cost: 1, Points: 1, Drawn: &quota.Drawn{Draws: draws, Shared: shared, Park: ration.WhoOwner}}
}

// TestWhoseCountIsWhose: each owner has his own, what is everybody's is drawn on by
// all, and calls without rations are left to the buckets.
func TestWhoseCountIsWhose(t *testing.T) {
	b := newBench(t)
	each, all := one("each", 2, time.Hour, ration.PerOwner), one("all", 3, time.Hour, ration.PerSource)
	of := func(owner string) quota.Ask {
		return askOf(owner, true, keeper.Draw{Ration: each, Cost: 1}, keeper.Draw{Ration: all, Cost: 1})
	}
	b.call(of("alice"), quota.Response{})
	b.call(of("alice"), quota.Response{})
	if d := b.ask(of("alice")); d.Granted || d.Reason != quota.ReasonPrimary || d.Alone {
		t.Errorf("alice gets %+v", d)
	}
	b.call(of("bob"), quota.Response{})
	if d := b.ask(of("bob")); d.Granted {
		t.Error("everybody's ration is spent")
	}
	core := quota.Ask{Owner: "alice", Bucket: "core", Cost: 1}
	b.call(core, quota.Response{})
	if d := b.ask(core); d.Granted {
		t.Error("the bucket is spent")
	}
	windows, err := b.keeper.Windows(t.Context(), "bob")
	if err != nil || len(windows) != 1 || windows[0].Bucket != "lab" || windows[0].Available != 0 || windows[0].Limit != 3 {
		t.Errorf("bob is shown %+v, %v", windows, err)
	}
	everybody, err := b.keeper.Windows(t.Context(), "")
	if err != nil || !slices.ContainsFunc(everybody, func(w quota.Window) bool { return w.Owner == "alice" && w.Bucket == "lab" && w.Available == 0 }) {
		t.Errorf("all are shown %+v, %v", everybody, err)
	}
}

// TestStreamsWaitAlone: what only some calls draw on holds up only those.
func TestStreamsWaitAlone(t *testing.T) {
	b := newBench(t)
	wide, narrow := one("wide", 100, time.Hour, ration.PerOwner), one("narrow", 1, time.Minute, ration.PerOwner, ration.PerStream)
	of := func(stream string) quota.Ask {
		return askOf("alice", false, keeper.Draw{Ration: wide, Cost: 1}, keeper.Draw{Ration: narrow, Cost: 1, Part: stream})
	}
	b.call(of("issues"), quota.Response{})
	if d := b.ask(of("issues")); d.Granted || !d.Alone || d.Reason != quota.ReasonPoints {
		t.Errorf("issues get %+v", d)
	}
	b.call(of("notes"), quota.Response{})
	b.call(askOf("alice", false, keeper.Draw{Ration: wide, Cost: 1}), quota.Response{})
}

// TestPausesAndFloors: an owner who is told to stay away does, and keeps what he wants.
func TestPausesAndFloors(t *testing.T) {
	b := newBench(t)
	r := one("hour", 10, time.Hour, ration.PerOwner)
	b.call(askOf("alice", false, keeper.Draw{Ration: r, Cost: 1}), quota.Response{RetryAfter: time.Minute})
	if d := b.ask(askOf("alice", false, keeper.Draw{Ration: r, Cost: 1})); d.Granted || d.Reason != quota.ReasonRetryAfter || d.RetryAt.Sub(b.clock.Now()) != time.Minute {
		t.Errorf("it gets %+v", d)
	}
	windows, err := b.keeper.Windows(t.Context(), "alice")
	if err != nil || len(windows) != 1 || windows[0].Parked != quota.ReasonRetryAfter {
		t.Errorf("alice is shown %+v, %v", windows, err)
	}
	if _, err := b.keeper.Reset(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	b.call(askOf("alice", false, keeper.Draw{Ration: r, Cost: 1}), quota.Response{Succeeded: true})
	kept := askOf("alice", false, keeper.Draw{Ration: r, Cost: 1})
	kept.Floor = 8
	if d := b.ask(kept); d.Granted || d.Reason != quota.ReasonFloor {
		t.Errorf("it gets %+v", d)
	}
	if _, err := b.keeper.Reset(t.Context(), "nobody"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("nobody is reset: %v", err)
	}
}

// TestRestartGoesOn: what was drawn stands beside the windows of buckets, and so does
// what an owner turned out to have drawn.
func TestRestartGoesOn(t *testing.T) {
	b := newBench(t)
	r := one("hour", 3, time.Hour, ration.PerOwner)
	ask := askOf("account", false, keeper.Draw{Ration: r, Cost: 1})
	b.call(ask, quota.Response{})
	ask.Owner = "alice"
	if err := b.keeper.Settle(t.Context(), quota.Permit{Ask: ask, GrantedAt: b.clock.Now()}, quota.Response{}); err != nil {
		t.Fatal(err)
	}
	b.call(ask, quota.Response{})
	free := b.ask(ask)
	if err := b.keeper.Refund(t.Context(), free.Permit, quota.Response{}); err != nil {
		t.Fatal(err)
	}
	b.call(ask, quota.Response{})
	b.restart()
	if d := b.ask(ask); d.Granted {
		t.Error("a restart forgot what alice drew")
	}
	windows, err := b.keeper.Windows(t.Context(), "")
	if err != nil || len(windows) != 1 || windows[0].Owner != "alice" || windows[0].Available != 0 {
		t.Errorf("after a restart all are shown %+v, %v", windows, err)
	}
}

// TestLowWaitsAlone: what is not urgent has a share, and whoever is urgent goes on.
func TestLowWaitsAlone(t *testing.T) {
	for _, every := range []time.Duration{time.Minute, time.Hour} {
		b := newBench(t)
		r := one("all", 10, every, ration.PerOwner)
		r.Low = 30
		urgent := askOf("alice", false, keeper.Draw{Ration: r, Cost: 1})
		low := urgent
		low.Low = true
		for range 3 {
			b.call(low, quota.Response{})
		}
		if d := b.ask(low); d.Granted || d.Reason != quota.ReasonShare || !d.Alone {
			t.Errorf("of %v LOW gets %+v", every, d)
		}
		for range 7 {
			b.call(urgent, quota.Response{})
		}
		if d := b.ask(urgent); d.Granted || d.Reason == quota.ReasonShare || d.Alone {
			t.Errorf("of %v HIGH gets %+v", every, d)
		}
	}
}

// TestRatesAreNotShown: what is drawn for rates stands beside it, and is nobody's quota.
func TestRatesAreNotShown(t *testing.T) {
	b := newBench(t)
	of := func(group string) keeper.Stored {
		return keeper.Stored{Group: group, Count: "day/2026-03-01", Spent: 9, Until: rationtest.Morning.Add(time.Hour), Seq: 1}
	}
	if err := b.store.Save(t.Context(), []keeper.Stored{of(rate.Group("maplestory")), of("lab")}); err != nil {
		t.Fatal(err)
	}
	r := one("day", 10, time.Hour, ration.PerSource)
	b.call(quota.Ask{Owner: "alice", Bucket: "lab", Cost: 1, Drawn: &quota.Drawn{Draws: []keeper.Draw{{Ration: r, Cost: 1}}, Shared: true}}, quota.Response{})
	windows, err := b.keeper.Windows(t.Context(), "")
	if err != nil || slices.ContainsFunc(windows, func(w quota.Window) bool { return rate.IsGroup(w.Bucket) || w.Bucket == "rate" }) || len(windows) == 0 {
		t.Errorf("all are shown %+v, %v", windows, err)
	}
	if _, err := b.keeper.Reset(t.Context(), "maplestory"); err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		t.Fatal(err)
	}
}
