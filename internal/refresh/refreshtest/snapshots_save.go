package refreshtest

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

var saveCases = []testCase{
	{"NothingIsKnownOfANewEntity", func(x *fixture) {
		got, ok, status, err := x.Snapshot(x.Context(), entity("a"))
		x.ok(err)
		want(x, "found", ok, false)
		want(x, "snapshot", got, refresh.Snapshot{})
		want(x, "status", status, nil)
	}},
	{"SavedValueIsShown", func(x *fixture) {
		r := brought("a", 7, start, `{"price":1}`)
		want(x, "saved", x.save(r), []refresh.Saved{refresh.Stored})
		x.wantSnapshot(snapshot(r, start, refresh.Cold))
	}},
	{"SavingNothingIsNothing", func(x *fixture) {
		saved, err := x.Save(x.Context(), nil)
		x.ok(err)
		want(x, "answers", len(saved), 0)
	}},
	{"SameValueIsTouched", func(x *fixture) {
		r, again := brought("a", 7, start, `{"price":1}`), brought("a", 9, after(time.Hour), `{"price":1}`)
		x.store(r)
		want(x, "saved", x.save(again), []refresh.Saved{refresh.Touched})
		// The version stays that of the event that stored the body.
		x.wantSnapshot(snapshot(r, after(time.Hour), refresh.Cold))
		values, _ := x.listed(far, 10)
		want(x, "values", values, []refresh.Value{value(r)})
	}},
	{"TouchNeedsNoBody", func(x *fixture) {
		r := brought("a", 1, start, `{"price":1}`)
		x.store(r)
		again := brought("a", 2, after(time.Hour), `{"price":1}`)
		again.Body = nil
		want(x, "saved", x.save(again), []refresh.Saved{refresh.Touched})
		x.wantSnapshot(snapshot(r, after(time.Hour), refresh.Cold))
	}},
	{"ChangedValueIsStored", func(x *fixture) {
		x.store(brought("a", 7, start, `{"price":1}`))
		r := brought("a", 8, after(time.Minute), `{"price":2}`)
		x.store(r)
		x.wantSnapshot(snapshot(r, after(time.Minute), refresh.Cold))
	}},
	{"EarlierVersionIsObsolete", func(x *fixture) {
		r := brought("a", 7, start, `{"price":1}`)
		x.store(r)
		want(x, "another value", x.save(brought("a", 6, after(time.Hour), `{"price":2}`)), []refresh.Saved{refresh.Obsolete})
		want(x, "the same value", x.save(brought("a", 6, after(time.Hour), `{"price":1}`)), []refresh.Saved{refresh.Obsolete})
		x.wantSnapshot(snapshot(r, start, refresh.Cold))
		values, _ := x.listed(far, 10)
		want(x, "values", values, []refresh.Value{value(r)})
		want(x, "due", x.due(after(cold-time.Microsecond), 10), []string{})
		want(x, "due", x.due(after(cold), 10), []string{"a"})
	}},
	{"EarlierThanATouchIsObsolete", func(x *fixture) {
		r := brought("a", 1, start, `{"price":1}`)
		x.store(r)
		want(x, "saved", x.save(brought("a", 5, after(time.Hour), `{"price":1}`)), []refresh.Saved{refresh.Touched})
		want(x, "saved", x.save(brought("a", 3, after(2*time.Hour), `{"price":2}`)), []refresh.Saved{refresh.Obsolete})
		x.wantSnapshot(snapshot(r, after(time.Hour), refresh.Cold))
	}},
	{"SameVersionAgain", func(x *fixture) {
		x.store(brought("a", 7, start, `{"price":1}`))
		want(x, "saved", x.save(brought("a", 7, after(time.Second), `{"price":1}`)), []refresh.Saved{refresh.Touched})
		// A repeated event may find another value.
		r := brought("a", 7, after(time.Minute), `{"price":2}`)
		x.store(r)
		x.wantSnapshot(snapshot(r, after(time.Minute), refresh.Cold))
	}},
	{"SameVersionLookedAtEarlierIsObsolete", func(x *fixture) {
		// Two workers carried out one event; the first to look is the last to
		// save, as it was held up.
		r := brought("a", 7, after(time.Minute), `{"price":2}`)
		x.store(r)
		want(x, "another value", x.save(brought("a", 7, after(time.Second), `{"price":1}`)), []refresh.Saved{refresh.Obsolete})
		want(x, "the same value", x.save(brought("a", 7, after(time.Second), `{"price":2}`)), []refresh.Saved{refresh.Obsolete})
		x.wantSnapshot(snapshot(r, after(time.Minute), refresh.Cold))
		want(x, "the same look", x.save(r), []refresh.Saved{refresh.Touched})
		x.wantSnapshot(snapshot(r, after(time.Minute), refresh.Cold))
	}},
	{"TimeOfTheLastLookDoesNotGoBack", func(x *fixture) {
		r := brought("a", 7, after(time.Minute), `{"price":1}`)
		x.store(r)
		want(x, "the same value", x.save(brought("a", 8, after(time.Second), `{"price":1}`)), []refresh.Saved{refresh.Touched})
		x.wantSnapshot(snapshot(r, after(time.Minute), refresh.Cold))
		later := brought("a", 9, after(2*time.Second), `{"price":2}`)
		x.store(later)
		x.wantSnapshot(snapshot(later, after(time.Minute), refresh.Cold))
		want(x, "due", x.due(after(cold+time.Minute-time.Microsecond), 10), []string{})
		want(x, "due", x.due(after(cold+time.Minute), 10), []string{"a"})
	}},
	{"AnswersStandInOrder", func(x *fixture) {
		x.store(brought("touched", 5, start, "1"), brought("obsolete", 5, start, "1"), brought("changed", 5, start, "1"))
		got := x.save(brought("changed", 6, start, "2"), brought("new", 1, start, "1"), brought("obsolete", 4, start, "2"),
			brought("another", 1, start, "1"), brought("touched", 6, start, "1"))
		want(x, "saved", got, []refresh.Saved{refresh.Stored, refresh.Stored, refresh.Obsolete, refresh.Stored, refresh.Touched})
	}},
	{"AllOrNothing", func(x *fixture) {
		for _, bad := range []refresh.Refreshed{
			brought("", 1, start, "1"), brought("b", 0, start, "1"), brought("a", 2, start, "1"),
			brought(strings.Repeat("x", 5000), 1, start, "1"), brought("half \xf0\x9f a rune", 1, start, "1"),
		} {
			_, err := x.Save(x.Context(), []refresh.Refreshed{brought("a", 1, start, "1"), bad})
			x.wantCode(err, domain.CodeInvalid)
		}
		_, ok, _, err := x.Snapshot(x.Context(), entity("a"))
		x.ok(err)
		want(x, "something was stored", ok, false)
	}},
	{"EntitiesAreToldApart", func(x *fixture) {
		one := refresh.Refreshed{Entity: refresh.Entity{Source: "a", Key: "b/c"}, Version: 1, At: start, Body: []byte("1"), Hash: sha256.Sum256([]byte("1"))}
		entities := []refresh.Entity{{Source: "a/b", Key: "c"}, {Source: "a", Key: "B/C"}, {Source: "a", Key: "b/c "}, {Source: "A", Key: "b/c"}, {Source: "a", Key: "\u00e9"}, {Source: "a", Key: "e\u0301"}}
		x.store(one)
		for _, e := range entities {
			other := one
			other.Entity = e
			x.store(other)
		}
		for _, e := range append(entities, one.Entity) {
			expected := one
			expected.Entity = e
			x.wantSnapshot(snapshot(expected, start, refresh.Cold))
		}
	}},
	{"BodiesOfAnySize", func(x *fixture) {
		dice := rand.New(rand.NewPCG(1, 2))
		for i, size := range []int{0, 1, 100, 17_000, 300_000, 2_000_000} {
			body := make([]byte, size)
			for k := range body {
				body[k] = byte(dice.Uint32())
			}
			r := refresh.Refreshed{Entity: entity(keyOf(i)), Version: 1, At: start, Body: body, Hash: sha256.Sum256(body)}
			x.store(r)
			got, _, _, err := x.Snapshot(x.Context(), r.Entity)
			x.ok(err)
			if !bytes.Equal(got.Body, body) {
				x.Errorf("a body of %d bytes comes back as another", size)
			}
		}
	}},
	{"CallersKeepTheirBodies", func(x *fixture) {
		body := []byte(`{"price":1}`)
		r := refresh.Refreshed{Entity: entity("a"), Version: 1, At: start, Body: body, Hash: sha256.Sum256(body)}
		x.store(r)
		copy(body, "XXXXXXXX")
		x.wantSnapshot(snapshot(brought("a", 1, start, `{"price":1}`), start, refresh.Cold))
	}},
	{"EverythingIsThereAfterReopening", func(x *fixture) {
		r := brought("a", 1, start, `{"price":1}`)
		x.store(r, brought("b", 1, start, "2"))
		x.read(after(time.Minute), "b")
		x.ok(x.SetStatus(x.Context(), []refresh.VersionedStatus{failed("c", 1)}))
		x.ok(x.AddDeadLetters(x.Context(), []refresh.DeadLetter{letter("l", 1)}))
		x.reopen()
		x.wantSnapshot(snapshot(r, start, refresh.Cold))
		x.wantSnapshot(snapshot(brought("b", 1, start, "2"), start, refresh.Hot))
		want(x, "status", *x.status("c"), failed("c", 1).Status)
		values, _ := x.listed(far, 1)
		want(x, "values", len(values), 2)
		want(x, "touched", x.save(brought("a", 2, after(1), `{"price":1}`)), []refresh.Saved{refresh.Touched})
		l, err := x.DeadLetter(x.Context(), "l")
		x.ok(err)
		want(x, "letter", l, letter("l", 1))
	}},
	{"Counts", func(x *fixture) {
		body := strings.Repeat(`{"price":1}`, 1000)
		x.store(brought("a", 1, start, body), brought("b", 1, start, "2"), brought("c", 1, start, "3"))
		x.read(start, "b")
		x.ok(x.SetStatus(x.Context(), []refresh.VersionedStatus{failed("c", 1), failed("d", 1), retrying("e", 1)}))
		c, err := x.Counts(x.Context(), "shop")
		x.ok(err)
		if c.Bytes <= 0 || c.Bytes >= int64(len(body)) {
			x.Errorf("%d bytes of %d", c.Bytes, len(body))
		}
		c.Bytes = 0
		want(x, "counts", c, refresh.Counts{Snapshots: 3, Retrying: 1, Failed: 2, Tiers: map[string]int64{"HOT": 1, "WARM": 0, "COLD": 2}})
		c, err = x.Counts(x.Context(), "another")
		x.ok(err)
		want(x, "counts", c, refresh.Counts{Tiers: map[string]int64{"HOT": 0, "WARM": 0, "COLD": 0}})
	}},
}
