package sinktest

import (
	"math"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// prepared opens a target with the suite's tables; it is closed with the test.
func prepared(t *testing.T, p Place, tables []sink.Table) sink.Target {
	t.Helper()
	target := p.Open(t)
	t.Cleanup(func() { _ = target.Close() })
	if err := target.Prepare(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	return target
}

func apply(t *testing.T, target sink.Target, b *sink.Batch) {
	t.Helper()
	if err := target.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// issue is a row of issues with a name and a title.
func issue(account int64, name, title string) sink.Row {
	row := sink.Row{Table: issues, Key: document.Key{Account: account, Kind: "issue", Name: name}, Raw: []byte(`{"id":1}`)}
	for _, c := range Kinds()[issues].Columns {
		v := document.Value{Null: c.Nullable}
		switch c.From {
		case document.FromName:
			v.Text = name
		case document.FromTitle:
			v.Text = title
		}
		row.Values = append(row.Values, v)
	}
	return row
}

func check(t *testing.T, p Place, want ...sink.Row) {
	t.Helper()
	table := sink.Tables(Kinds(), true)[issues]
	CompareRows(t, table, p.Rows(t, table), want)
}

// progressIsKept: what the last batch said is there for the next process.
func progressIsKept(t *testing.T, p Place) {
	tables := sink.Tables(Kinds(), true)
	target := prepared(t, p, tables)
	got, err := target.Progress(t.Context())
	if err != nil || got != (sink.Progress{}) {
		t.Fatalf("nothing was stored, and the progress is %+v, %v", got, err)
	}
	for _, want := range []sink.Progress{
		{Feed: "feed-1", Position: 7, After: document.Key{Account: math.MaxInt64, Kind: "issue", Name: "it's \"the\" \\ name 🦀"}, Generation: 1},
		{Feed: "feed-1", Position: math.MaxInt64, Backfilled: true, Generation: 3},
	} {
		apply(t, target, &sink.Batch{Progress: want})
		if err := target.Close(); err != nil {
			t.Fatal(err)
		}
		target = prepared(t, p, tables)
		if got, err := target.Progress(t.Context()); err != nil || got != want {
			t.Errorf("the progress is %+v, %v; want %+v", got, err, want)
		}
	}
}

// repeated: a batch that is applied twice has the effect of one.
func repeated(t *testing.T, p Place) {
	target := prepared(t, p, sink.Tables(Kinds(), true))
	first := &sink.Batch{Rows: []sink.Row{issue(1, "a", "one"), issue(1, "b", "two"), issue(2, "a", "three")}, Progress: sink.Progress{Feed: "f", Generation: 1}}
	apply(t, target, first)
	apply(t, target, first)
	check(t, p, first.Rows...)
	second := &sink.Batch{Rows: []sink.Row{issue(1, "b", "another")}, Progress: sink.Progress{Feed: "f", Generation: 1}}
	apply(t, target, second)
	apply(t, target, second)
	check(t, p, first.Rows[0], second.Rows[0], first.Rows[2])
	apply(t, target, &sink.Batch{Progress: sink.Progress{Feed: "f", Generation: 1, Position: 5}})
	check(t, p, first.Rows[0], second.Rows[0], first.Rows[2])
}

// removed: rows go that are to go, also those that are not there.
func removed(t *testing.T, p Place) {
	target := prepared(t, p, sink.Tables(Kinds(), true))
	apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "a", "one"), issue(1, "b", "two")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	gone := func(name string) sink.Row {
		return sink.Row{Table: issues, Key: document.Key{Account: 1, Kind: "issue", Name: name}, Deleted: true, Removed: true}
	}
	for range 2 {
		apply(t, target, &sink.Batch{Rows: []sink.Row{gone("a"), gone("never"), issue(1, "c", "three")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	}
	check(t, p, issue(1, "b", "two"), issue(1, "c", "three"))
}

// swept: the end of a backfill removes what only an earlier one has found.
func swept(t *testing.T, p Place) {
	target := prepared(t, p, sink.Tables(Kinds(), true))
	apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "a", "one"), issue(1, "b", "two")}, Sweep: true, Progress: sink.Progress{Feed: "f", Generation: 1, Backfilled: true}})
	check(t, p, issue(1, "a", "one"), issue(1, "b", "two"))
	apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "b", "two")}, Progress: sink.Progress{Feed: "f", Generation: 2}})
	check(t, p, issue(1, "a", "one"), issue(1, "b", "two"))
	for range 2 {
		apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "c", "three")}, Sweep: true, Progress: sink.Progress{Feed: "f", Generation: 2, Backfilled: true}})
	}
	check(t, p, issue(1, "b", "two"), issue(1, "c", "three"))
}

// purged: nothing of an account stays but for what comes after.
func purged(t *testing.T, p Place) {
	target := prepared(t, p, sink.Tables(Kinds(), true))
	apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "a", "one"), issue(2, "b", "two")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	for range 2 {
		apply(t, target, &sink.Batch{Purged: []int64{1, 77}, Rows: []sink.Row{issue(1, "new", "three")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	}
	check(t, p, issue(2, "b", "two"), issue(1, "new", "three"))
}

// awkward: every value comes back as it was.
func awkward(t *testing.T, p Place) {
	target := prepared(t, p, sink.Tables(Kinds(), true))
	var rows []sink.Row
	for i, text := range texts {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
		rows = append(rows, issue(int64(i+1), "name "+text, text))
	}
	of := func(set func(values map[string]*document.Value)) {
		row := issue(100, string(rune('a'+len(rows))), "values")
		values := map[string]*document.Value{}
		for i, c := range Kinds()[issues].Columns {
			values[c.Name] = &row.Values[i]
		}
		set(values)
		rows = append(rows, row)
	}
	for _, n := range []int64{0, -1, math.MaxInt64, math.MinInt64} {
		of(func(v map[string]*document.Value) {
			*v["number"], *v["order"] = document.Integer(n), document.Integer(n)
		})
	}
	for _, members := range [][]string{{}, {""}, {"a,b", `c"d`, `e\f`, "NULL", "{}", "line\nbreak", "🦀"}, texts[:3]} {
		of(func(v map[string]*document.Value) { *v["labels"] = document.List(members...) })
	}
	for _, at := range []time.Time{time.Unix(0, 0), time.Date(1999, 12, 31, 23, 59, 59, 999999000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)} {
		of(func(v map[string]*document.Value) { *v["created_at"] = document.Instant(at) })
	}
	of(func(v map[string]*document.Value) { v["private"].Boolean = true })
	for i, raw := range []string{`null`, `"text"`, `[1,-2.5e3,true,null]`, `{"a":{"b":["\u00e9\n\t\"\\",{}]}}`, `{"nul":"a\u0000b"}`, `{"half":"\ud83e","pair":"\ud83e\udd80","slash":"\\u0000"}`, `{"":1}`} {
		row := issue(200+int64(i), "raw", "raw")
		row.Raw = []byte(raw)
		rows = append(rows, row)
	}
	none := issue(300, "none", "none")
	none.Raw = nil
	long := issue(301, strings.Repeat("long name ", 300), "long")
	twin := issue(301, strings.Repeat("long name ", 299)+"long nome ", "twin")
	rows = append(rows, none, long, twin)
	for range 2 {
		apply(t, target, &sink.Batch{Rows: rows, Progress: sink.Progress{Feed: "f", Generation: 1}})
	}
	for i := range rows {
		if len(rows[i].Key.Name) > 1000 {
			// A target may shorten the name in its identity; the column has it whole.
			rows[i].Key.Name = ""
		}
	}
	table := sink.Tables(Kinds(), true)[issues]
	got := p.Rows(t, table)
	for i := range got {
		if len(got[i].Values[0].Text) > 1000 {
			got[i].Key.Name = ""
		}
	}
	CompareRows(t, table, got, rows)
}

// huge: large payloads and texts are carried whole.
func huge(t *testing.T, p Place) {
	target := prepared(t, p, sink.Tables(Kinds(), true))
	var rows []sink.Row
	for i, size := range []int{100_000, 3 << 20, 1} {
		row := issue(int64(i+1), "huge", strings.Repeat("ü", min(size, 200_000)))
		row.Raw = []byte(`{"body":"` + strings.Repeat("x", size) + `"}`)
		rows = append(rows, row)
	}
	apply(t, target, &sink.Batch{Rows: rows, Progress: sink.Progress{Feed: "f", Generation: 1}})
	check(t, p, rows...)
}

// evolves: columns and tables that are declared later are added, and what was carried
// before is to be carried once more.
func evolves(t *testing.T, p Place) {
	now := Kinds()
	earlier := Kinds()[:2]
	earlier[issues].Columns = earlier[issues].Columns[:6]
	target := prepared(t, p, sink.Tables(earlier, true))
	row := issue(1, "a", "one")
	row.Values = row.Values[:6]
	done := sink.Progress{Feed: "f", Position: 9, Backfilled: true, Generation: 1}
	apply(t, target, &sink.Batch{Rows: []sink.Row{row}, Progress: done})
	if err := target.Prepare(t.Context(), sink.Tables(earlier, true)); err != nil {
		t.Fatal(err)
	}
	if got, err := target.Progress(t.Context()); err != nil || got != done {
		t.Errorf("nothing was added, and the progress is %+v, %v; want %+v", got, err, done)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	target = prepared(t, p, sink.Tables(now, true))
	want := sink.Progress{Feed: "f", Position: 9, Generation: 1}
	if got, err := target.Progress(t.Context()); err != nil || got != want {
		t.Errorf("columns were added, and the progress is %+v, %v; want %+v", got, err, want)
	}
	apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "a", "one"), issue(1, "b", "two")}, Sweep: true, Progress: sink.Progress{Feed: "f", Position: 9, Backfilled: true, Generation: 2}})
	check(t, p, issue(1, "a", "one"), issue(1, "b", "two"))
}

// changedByHand: a table that others have changed is told, and not repaired.
func changedByHand(t *testing.T, p Place) {
	if p.ByHand == nil {
		t.Skip("nobody can change this place by hand")
	}
	tables := sink.Tables(Kinds(), true)
	target := prepared(t, p, tables)
	apply(t, target, &sink.Batch{Rows: []sink.Row{issue(1, "a", "one")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	words := p.ByHand(t, tables[issues])
	target = p.Open(t)
	err := target.Prepare(t.Context(), tables)
	_ = target.Close()
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("a table was changed by hand: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not name %s: %v", word, err)
		}
	}
}

// oneWriter: a second process is told that another one writes, and can when that has
// ended.
func oneWriter(t *testing.T, p Place) {
	if p.Shared {
		t.Skip("nothing keeps a second process from writing here")
	}
	tables := sink.Tables(Kinds(), true)
	first := prepared(t, p, tables)
	apply(t, first, &sink.Batch{Rows: []sink.Row{issue(1, "a", "one")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	second := p.Open(t)
	defer func() { _ = second.Close() }()
	if err := second.Prepare(t.Context(), tables); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("a second process prepares: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Prepare(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	apply(t, second, &sink.Batch{Rows: []sink.Row{issue(1, "b", "two")}, Progress: sink.Progress{Feed: "f", Generation: 1}})
	check(t, p, issue(1, "a", "one"), issue(1, "b", "two"))
}
