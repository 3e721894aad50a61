package documenttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"sluice/internal/document"
)

var scanCases = []testCase{
	{"ScanOrder", scanOrder},
	{"ScanFilters", scanFilters},
	{"ScanWithAndWithoutRaw", scanRaw},
	{"ScanStopsEarly", scanStops},
	{"ScanWhileWriting", scanWhileWriting},
	{"Count", count},
}

// scanOrder stores more documents than any reasonable batch, out of order.
func scanOrder(x *fixture) {
	kinds := []document.Kind{KindCommit, KindIssue, KindPull}
	const each = 400
	var docs []document.Document
	for account := int64(1); account <= 2; account++ {
		for _, kind := range kinds {
			for i := range each {
				d := issue(account, fmt.Sprintf("n%04d", i), i)
				d.Kind = kind
				docs = append(docs, d)
			}
		}
	}
	want := slices.Clone(docs)
	rand.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	for batch := range slices.Chunk(docs, 100) {
		x.upsert(batch...)
	}
	for _, raw := range []bool{false, true} {
		got := x.scan(document.Query{WithRaw: raw})
		if len(got) != len(want) {
			x.Fatalf("%d documents, want %d", len(got), len(want))
		}
		for i := range got {
			expected := want[i]
			if !raw {
				expected.Raw = nil
			}
			if problem := difference(got[i], expected); problem != "" {
				x.Fatalf("place %d: %s", i, problem)
			}
		}
	}
	if got := x.scan(document.Query{Account: 2, Kind: KindIssue}); len(got) != each {
		x.Errorf("%d documents of one kind, want %d", len(got), each)
	}
}

func scanFilters(x *fixture) {
	for account := int64(1); account <= 2; account++ {
		for i := range 6 {
			d := issue(account, fmt.Sprintf("%d", i), i)
			d.Repository = int64(10 + i%2)
			if i >= 4 {
				d.Kind = KindPull
			}
			x.upsert(d)
		}
	}
	for _, c := range []struct {
		name string
		q    document.Query
		want []string
	}{
		{"account", document.Query{Account: 1}, []string{"0", "1", "2", "3", "4", "5"}},
		{"kind of all accounts", document.Query{Kind: KindPull}, []string{"4", "5", "4", "5"}},
		{"repository", document.Query{Account: 2, Repository: 11}, []string{"1", "3", "5"}},
		{"since is inclusive", document.Query{Account: 1, Since: instant(4)}, []string{"4", "5"}},
		{"until is exclusive", document.Query{Account: 1, Until: instant(2)}, []string{"0", "1"}},
		{"all of them", document.Query{Account: 1, Kind: KindIssue, Repository: 10, Since: instant(1), Until: instant(3)}, []string{"2"}},
		{"an unknown account", document.Query{Account: 9}, []string{}},
		{"an unknown kind", document.Query{Kind: "nothing"}, []string{}},
	} {
		if got := names(x.scan(c.q)); !slices.Equal(got, c.want) {
			x.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func scanRaw(x *fixture) {
	d := issue(1, "one", 1)
	x.upsert(d)
	if got := x.scan(document.Query{WithRaw: true}); string(got[0].Raw) != string(d.Raw) {
		x.Errorf("payload %q, want %q", got[0].Raw, d.Raw)
	}
	if got := x.scan(document.Query{}); len(got[0].Raw) != 0 {
		x.Errorf("payload %q was not asked for", got[0].Raw)
	}
}

func scanStops(x *fixture) {
	for i := range 10 {
		x.upsert(issue(1, fmt.Sprintf("%d", i), i))
	}
	stop, calls := errors.New("enough"), 0
	err := x.Scan(x.Context(), document.Query{}, func(*document.Document) error {
		if calls++; calls == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || calls != 3 {
		x.Errorf("after %d calls got %v, want 3 and the callback's error", calls, err)
	}
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	err = x.Scan(ctx, document.Query{}, func(*document.Document) error { return nil })
	if !errors.Is(err, context.Canceled) {
		x.Errorf("a scan with a canceled context: %v", err)
	}
}

// scanWhileWriting calls the store from inside a scan: the scan must not keep
// others, nor its own caller, from writing.
func scanWhileWriting(x *fixture) {
	for i := range 5 {
		x.upsert(issue(1, fmt.Sprintf("%d", i), 1))
	}
	seen := 0
	x.ok(x.Scan(x.Context(), document.Query{Account: 1, WithRaw: true}, func(d *document.Document) error {
		seen++
		return x.Upsert(x.Context(), []document.Document{issue(2, d.Name, 2)})
	}))
	if seen != 5 {
		x.Errorf("saw %d documents, want 5", seen)
	}
	if got := x.scan(document.Query{Account: 2}); len(got) != 5 {
		x.Errorf("wrote %d documents, want 5", len(got))
	}
}

func count(x *fixture) {
	kinds := map[document.Kind]int64{KindProfile: 1, KindCommit: 7, KindEvent: 3}
	for kind, n := range kinds {
		for i := range n {
			d := issue(1, fmt.Sprint(i), 1)
			d.Kind, d.Repository = kind, 7
			x.upsert(d, d)
		}
	}
	// What is gone counts as well.
	x.ok(x.MarkDeleted(x.Context(), []document.Absence{{Account: 1, Repository: 7, Why: document.GoneDeleted, Since: instant(2000)}}))
	got, err := x.Count(x.Context(), 1)
	x.ok(err)
	if len(got) != len(kinds) {
		x.Errorf("got %v, want %v", got, kinds)
	}
	for kind, n := range kinds {
		if got[kind] != n {
			x.Errorf("%d of kind %s, want %d", got[kind], kind, n)
		}
	}
}
