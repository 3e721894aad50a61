package refreshtest

import (
	"time"

	"sluice/internal/refresh"
)

var dueCases = []testCase{
	{"ColdIsDueAfterADay", func(x *fixture) {
		x.store(brought("a", 1, start, "1"))
		want(x, "due too early", x.due(after(cold-time.Microsecond), 10), []string{})
		want(x, "due", x.due(after(cold), 10), []string{"a"})
	}},
	{"TouchMakesDueLater", func(x *fixture) {
		x.store(brought("a", 1, start, "1"))
		x.save(brought("a", 2, after(5*time.Hour), "1"))
		want(x, "due too early", x.due(after(cold), 10), []string{})
		want(x, "due", x.due(after(5*time.Hour+cold), 10), []string{"a"})
	}},
	{"WhatIsGivenIsNotGivenAgain", func(x *fixture) {
		x.store(brought("a", 1, start, "1"))
		now := after(cold + time.Hour)
		want(x, "due", x.due(now, 10), []string{"a"})
		want(x, "due again", x.due(now, 10), []string{})
		want(x, "due again", x.due(now.Add(cold-time.Microsecond), 10), []string{})
		want(x, "due after its interval", x.due(now.Add(cold), 10), []string{"a"})
	}},
	{"LongestOverdueFirst", func(x *fixture) {
		x.store(brought("c", 1, after(3), "1"), brought("a", 1, after(2000), "1"), brought("d", 1, after(1000), "1"), brought("b", 1, after(4000), "1"))
		want(x, "first", x.due(far, 2), []string{"c", "d"})
		want(x, "none", x.due(far, 0), []string{})
		want(x, "rest", x.due(far, 10), []string{"a", "b"})
	}},
	{"SourcesAreApart", func(x *fixture) {
		other := brought("b", 1, start, "1")
		other.Source = "other"
		x.store(brought("a", 1, start, "1"), other)
		want(x, "due", x.due(far, 10), []string{"a"})
		due, err := x.Due(x.Context(), refresh.DueQuery{Source: "other", Now: far, Limit: 10})
		x.ok(err)
		want(x, "due of another", due.Entities, []refresh.Entity{{Source: "other", Key: "b"}})
	}},
	{"ReadMakesHot", func(x *fixture) {
		r := brought("a", 1, start, "1")
		x.store(r)
		x.read(after(time.Minute), "a", "a", "unknown")
		x.wantSnapshot(snapshot(r, start, refresh.Hot))
		want(x, "due too early", x.due(after(hot-time.Microsecond), 10), []string{})
		want(x, "due as if it had been hot before", x.due(after(hot), 10), []string{"a"})
		_, ok, _, err := x.Snapshot(x.Context(), entity("unknown"))
		x.ok(err)
		want(x, "reading has made a snapshot", ok, false)
	}},
	{"ReadDoesNotGiveAgainWhatWasGiven", func(x *fixture) {
		x.store(brought("a", 1, start, "1"))
		x.read(start, "a")
		now := after(hot)
		want(x, "due", x.due(now, 10), []string{"a"})
		x.read(now, "a")
		want(x, "due again", x.due(now.Add(hot-time.Microsecond), 10), []string{})
		want(x, "due", x.due(now.Add(hot), 10), []string{"a"})
	}},
	{"HotStaysHotWhenSaved", func(x *fixture) {
		x.store(brought("a", 1, start, "1"))
		x.read(start, "a")
		x.save(brought("a", 2, after(time.Minute), "1"))
		r := brought("a", 3, after(2*time.Minute), "2")
		x.store(r)
		x.wantSnapshot(snapshot(r, r.At, refresh.Hot))
		want(x, "due too early", x.due(r.At.Add(hot-time.Microsecond), 10), []string{})
		want(x, "due", x.due(r.At.Add(hot), 10), []string{"a"})
	}},
	{"TiersFall", func(x *fixture) {
		r := brought("a", 1, start, "1")
		x.store(r)
		x.read(start, "a")
		now := after(hotFor)
		want(x, "hot", x.due(now, 10), []string{"a"})
		x.wantSnapshot(snapshot(r, start, refresh.Hot))
		now = now.Add(hot)
		want(x, "due", x.due(now, 10), []string{"a"})
		x.wantSnapshot(snapshot(r, start, refresh.Warm))
		want(x, "warm too early", x.due(now.Add(warm-time.Microsecond), 10), []string{})
		now = after(warmFor)
		want(x, "warm", x.due(now, 10), []string{"a"})
		x.wantSnapshot(snapshot(r, start, refresh.Warm))
		now = now.Add(warm)
		want(x, "due", x.due(now, 10), []string{"a"})
		x.wantSnapshot(snapshot(r, start, refresh.Cold))
		want(x, "cold too early", x.due(now.Add(cold-time.Microsecond), 10), []string{})
		// Reading raises it from anywhere.
		x.read(now, "a")
		x.wantSnapshot(snapshot(r, start, refresh.Hot))
		want(x, "due", x.due(now.Add(hot), 10), []string{"a"})
	}},
	{"EarlierReadDoesNotHideALaterOne", func(x *fixture) {
		r := brought("a", 1, start, "1")
		x.store(r)
		x.read(after(20*time.Hour), "a")
		x.read(after(time.Hour), "a")
		want(x, "due", x.due(after(40*time.Hour), 10), []string{"a"})
		x.wantSnapshot(snapshot(r, start, refresh.Hot))
	}},
	{"AllCallersShareOneRate", func(x *fixture) {
		for i := range 300 {
			x.store(brought(keyOf(i), 1, start, "1"))
		}
		for _, perSecond := range []float64{0.5, 3, 50} {
			const seconds = 20
			n, ask := 0, refresh.DueQuery{Source: "shop", Limit: 10, PerSecond: perSecond}
			begin := far.Add(time.Duration(perSecond) * time.Hour)
			x.ok(x.SetLogEpoch(x.Context(), "any", "write")) // others write meanwhile
			for step := range seconds * 10 {
				ask.Now = begin.Add(time.Duration(step) * 100 * time.Millisecond)
				for range 2 { // two schedulers
					due, err := x.Due(x.Context(), ask)
					x.ok(err)
					n += len(due.Entities)
					if len(due.Entities) == 0 && !due.Next.After(ask.Now) && n < 300 {
						x.Fatalf("%v a second: nothing at %v, and again at %v", perSecond, ask.Now, due.Next)
					}
				}
				if n >= 300 {
					break
				}
			}
			expected := min(300, int(perSecond*seconds))
			if n < expected-1 || n > expected+1+int(perSecond/5) && n < 300 {
				x.Fatalf("%v a second: %d in %d s", perSecond, n, seconds)
			}
		}
	}},
	{"ReadingNothing", func(x *fixture) { x.read(start) }},
}
