package refreshtest

import (
	"fmt"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func (x *fixture) wantValues(expected ...refresh.Refreshed) {
	x.Helper()
	values := make([]refresh.Value, len(expected))
	for i, r := range expected {
		values[i] = value(r)
	}
	got, _ := x.listed(far, 3)
	want(x, "values", append([]refresh.Value{}, got...), values)
}

// archive lists everything and forgets it.
func (x *fixture) archive() []refresh.Value {
	x.Helper()
	values, last := x.listed(far, 2)
	n, err := x.Forget(x.Context(), last)
	x.ok(err)
	want(x, "forgotten", n, len(values))
	return values
}

// past lists all values of an entity in pages.
func (x *fixture) past(key string, page int) (all []refresh.Value) {
	x.Helper()
	q := refresh.PastQuery{Entity: entity(key), Limit: page}
	for {
		values, err := x.PastValues(x.Context(), q)
		x.ok(err)
		if len(values) > page {
			x.Fatalf("%d values in a page of %d", len(values), page)
		}
		for _, v := range values {
			all = append(all, v.Value)
			q.Before, q.BeforeSeq = v.StoredAt, v.Seq
		}
		if len(values) == 0 {
			return all
		}
	}
}

var historyCases = []testCase{
	{"EveryValueIsListedOnce", func(x *fixture) {
		a1, b1 := brought("a", 1, start, "1"), brought("b", 1, after(time.Second), "1")
		a2, a3 := brought("a", 2, after(2*time.Second), "2"), brought("a", 3, after(3*time.Second), "1")
		x.store(a1, b1)
		x.store(a2)
		x.store(a3)
		x.save(brought("a", 4, after(4*time.Second), "1"), brought("b", 0+2, after(4*time.Second), "1"))
		x.wantValues(a1, b1, a2, a3)
	}},
	{"ValuesBeforeAnInstant", func(x *fixture) {
		a1, a2 := brought("a", 1, start, "1"), brought("a", 2, after(time.Hour), "2")
		x.store(a1)
		x.store(a2)
		values, _ := x.listed(after(time.Hour), 10)
		want(x, "values", values, []refresh.Value{value(a1)})
		none, last := x.listed(start, 10)
		want(x, "values", len(none), 0)
		want(x, "cursor", last, "")
		none, last, err := x.Values(x.Context(), far, "", 0)
		x.ok(err)
		want(x, "values", len(none), 0)
		want(x, "cursor", last, "")
	}},
	{"ForgetKeepsThePresentValue", func(x *fixture) {
		a1, a2 := brought("a", 1, start, "1"), brought("a", 2, after(time.Second), "2")
		x.store(a1)
		x.store(a2)
		want(x, "archived", x.archive(), []refresh.Value{value(a1), value(a2)})
		x.wantSnapshot(snapshot(a2, a2.At, refresh.Cold))
		x.wantValues()
		// What takes its place is listed; what was archived is not listed again.
		a3 := brought("a", 3, after(2*time.Second), "3")
		x.store(a3)
		x.wantValues(a3)
		x.wantSnapshot(snapshot(a3, a3.At, refresh.Cold))
	}},
	{"TouchedAfterForget", func(x *fixture) {
		a := brought("a", 1, start, "1")
		x.store(a)
		x.archive()
		want(x, "saved", x.save(brought("a", 2, after(time.Second), "1")), []refresh.Saved{refresh.Touched})
		x.wantValues()
		x.wantSnapshot(snapshot(a, after(time.Second), refresh.Cold))
	}},
	{"ForgetUpToACursor", func(x *fixture) {
		a, b, c := brought("a", 1, start, "1"), brought("b", 1, start, "1"), brought("c", 1, after(time.Second), "1")
		x.store(a)
		x.store(b)
		x.store(c)
		x.store(brought("a", 2, after(time.Minute), "2"))
		_, last, err := x.Values(x.Context(), far, "", 2)
		x.ok(err)
		n, err := x.Forget(x.Context(), last)
		x.ok(err)
		want(x, "forgotten", n, 2)
		x.wantValues(c, brought("a", 2, after(time.Minute), "2"))
		n, err = x.Forget(x.Context(), last)
		x.ok(err)
		want(x, "forgotten again", n, 0)
		n, err = x.Forget(x.Context(), "")
		x.ok(err)
		want(x, "forgotten up to nothing", n, 0)
	}},
	{"WhatComesLaterIsNotForgotten", func(x *fixture) {
		x.store(brought("a", 1, after(time.Hour), "1"))
		_, last := x.listed(far, 10)
		// It says of itself that it was stored before.
		late := brought("b", 1, start, "1")
		x.store(late)
		n, err := x.Forget(x.Context(), last)
		x.ok(err)
		want(x, "forgotten", n, 1)
		x.wantValues(late)
	}},
	{"CursorsGoOnWhileValuesAreForgotten", func(x *fixture) {
		var all []refresh.Value
		for i := range 10 {
			r := brought(keyOf(i), 1, after(time.Duration(i/3)*time.Second), "1")
			x.store(r)
			all = append(all, value(r))
		}
		var got []refresh.Value
		for last := ""; ; {
			values, next, err := x.Values(x.Context(), far, last, 3)
			x.ok(err)
			if len(values) == 0 {
				break
			}
			n, err := x.Forget(x.Context(), next)
			x.ok(err)
			want(x, "forgotten", n, len(values))
			got, last = append(got, values...), next
		}
		want(x, "values", got, all)
		x.wantValues()
	}},
	{"WrongCursors", func(x *fixture) {
		for _, cursor := range []string{"x", "1", "1.2", "1.2.3.4", "1.2.3 ", "a.b.c"} {
			_, _, err := x.Values(x.Context(), far, cursor, 1)
			x.wantCode(err, domain.CodeInvalid)
			_, err = x.Forget(x.Context(), cursor)
			x.wantCode(err, domain.CodeInvalid)
		}
	}},
	{"RestoredValuesAreListed", func(x *fixture) {
		a1, a2, b := brought("a", 1, start, "1"), brought("a", 2, after(time.Second), "2"), brought("b", 9, after(time.Minute), "1")
		x.ok(x.Restore(x.Context(), nil))
		x.ok(x.Restore(x.Context(), []refresh.Value{value(b), value(a2), value(a1)}))
		x.wantValues(a1, a2, b)
		_, ok, _, err := x.Snapshot(x.Context(), entity("a"))
		x.ok(err)
		want(x, "a snapshot was made", ok, false)
		want(x, "due", x.due(far, 10), []string{})
		want(x, "archived", len(x.archive()), 3)
		x.wantValues()
	}},
	{"RestoreLeavesWhatIsThere", func(x *fixture) {
		a1, a2 := brought("a", 1, start, "1"), brought("a", 2, after(time.Second), "2")
		x.store(a1)
		x.store(a2)
		x.ok(x.Restore(x.Context(), []refresh.Value{value(a1), value(a2), value(a1)}))
		x.wantValues(a1, a2)
		values := x.archive()
		x.ok(x.Restore(x.Context(), values))
		x.ok(x.Restore(x.Context(), values))
		x.wantValues(a1, a2)
		x.wantSnapshot(snapshot(a2, a2.At, refresh.Cold))
	}},
	{"RestoreBeforeSave", func(x *fixture) {
		a := brought("a", 1, start, "1")
		x.ok(x.Restore(x.Context(), []refresh.Value{value(a)}))
		x.store(a)
		x.wantSnapshot(snapshot(a, start, refresh.Cold))
		x.wantValues(a)
		x.archive()
		x.wantSnapshot(snapshot(a, start, refresh.Cold))
	}},
	{"PastValuesOfAnEntity", func(x *fixture) {
		var all []refresh.Value
		for i := range 5 {
			r := brought("a", int64(i+1), after(time.Duration(i/2)*time.Second), fmt.Sprint(i))
			x.store(r, brought("b", int64(i+1), r.At, fmt.Sprint("b", i)))
			all = append(all, value(r))
		}
		slices.Reverse(all)
		for _, page := range []int{1, 2, 100} {
			want(x, fmt.Sprint("by ", page), x.past("a", page), all)
		}
		want(x, "of a stranger", len(x.past("c", 10)), 0)
		none, err := x.PastValues(x.Context(), refresh.PastQuery{Entity: entity("a")})
		x.ok(err)
		want(x, "none", len(none), 0)
		some, err := x.PastValues(x.Context(), refresh.PastQuery{Entity: entity("a"), Before: after(time.Second), Limit: 10})
		x.ok(err)
		want(x, "before an instant", len(some), 2)
	}},
	{"PastValuesOfTheArchive", func(x *fixture) {
		a1, a2 := brought("a", 1, start, "1"), brought("a", 2, after(time.Second), "2")
		x.store(a1)
		x.store(a2)
		archived := x.archive()
		want(x, "what was archived is gone but for the present one", x.past("a", 10), []refresh.Value{value(a2)})
		x.ok(x.Restore(x.Context(), archived))
		want(x, "restored", x.past("a", 1), []refresh.Value{value(a2), value(a1)})
		x.reopen()
		want(x, "after a restart", x.past("a", 10), []refresh.Value{value(a2), value(a1)})
	}},
	{"SameVersionsAndValuesComeAndGo", func(x *fixture) {
		for i, body := range []string{"1", "2", "1", "2"} {
			x.store(brought("a", 1, after(time.Duration(i)*time.Second), body))
		}
		x.wantValues(brought("a", 1, start, "1"), brought("a", 1, after(time.Second), "2"))
		x.archive()
		got, ok, _, err := x.Snapshot(x.Context(), entity("a"))
		x.ok(err)
		want(x, "there is a snapshot", ok, true)
		want(x, "body", string(got.Body), "2")
	}},
}
