// Package documenttest is what every document store must pass.
package documenttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Factory opens stores for the cases.
type Factory struct {
	// Open makes an empty database that nothing else uses, and returns what opens
	// a store of declared kinds on it, as another process would each time, where
	// there can be several. Stores are closed when the test ends.
	Open func(t *testing.T) func(document.Kinds) (document.Store, error)
	// Gathers says that the feed may make one of several changes of a document that
	// nobody has read in between.
	Gathers bool
	// Few says that the server is slow: a random sequence is shorter, and there are no
	// more documents than a row of the log has changes.
	Few bool
}

func (f Factory) open(t *testing.T, kinds document.Kinds) *fixture {
	t.Helper()
	store, err := f.Open(t)(kinds)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return &fixture{TB: t, Store: store}
}

// Run runs every case.
func Run(t *testing.T, f Factory) {
	cases := slices.Concat(upsertCases, payloadCases, scanCases, deletedCases, goneCases, purgeCases)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(f.open(t, Kinds()))
		})
	}
	for _, c := range ownCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(f.open(t, kindsWithOwn()))
		})
	}
	t.Run("ColumnsDeclaredLater", func(t *testing.T) { declaredLater(t, f) })
	t.Run("ColumnsDeclaredOtherwise", func(t *testing.T) { declaredOtherwise(t, f) })
}

type testCase struct {
	name  string
	check func(*fixture)
}

// fixture is a store and the words the cases are written in.
type fixture struct {
	testing.TB
	document.Store
}

func (x *fixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

func (x *fixture) upsert(docs ...document.Document) {
	x.Helper()
	x.ok(x.Upsert(x.Context(), docs))
}

// expect checks that exactly this is stored under its key.
func (x *fixture) expect(d document.Document) {
	x.Helper()
	got, found, err := x.Get(x.Context(), d.Key)
	x.ok(err)
	if !found {
		x.Fatalf("%+v is not there", d.Key)
	}
	if problem := difference(got, d); problem != "" {
		x.Fatalf("%+v: %s", d.Key, problem)
	}
}

// difference compares two documents; an empty payload is as good as none.
func difference(got, want document.Document) string {
	if string(got.Raw) != string(want.Raw) {
		return fmt.Sprintf("payload of %d bytes, want one of %d", len(got.Raw), len(want.Raw))
	}
	got.Raw, want.Raw = nil, nil
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("got %+v, want %+v", got, want)
	}
	return ""
}

func (x *fixture) absent(k document.Key) {
	x.Helper()
	_, found, err := x.Get(x.Context(), k)
	x.ok(err)
	if found {
		x.Fatalf("%+v is there", k)
	}
}

// scan collects what a query finds.
func (x *fixture) scan(q document.Query) []document.Document {
	x.Helper()
	var out []document.Document
	x.ok(x.Scan(x.Context(), q, func(d *document.Document) error {
		out = append(out, *d)
		return nil
	}))
	return out
}

func names(docs []document.Document) []string {
	out := []string{}
	for _, d := range docs {
		out = append(out, d.Name)
	}
	return out
}

// instant has microseconds, so that a store that keeps less is found out.
func instant(n int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123457000, time.UTC).Add(time.Duration(n) * time.Minute)
}

func issue(account int64, name string, version int) document.Document {
	return document.Document{
		Key:     document.Key{Account: account, Kind: KindIssue, Name: name},
		Version: instant(version), SeenAt: instant(1000),
		Fields: document.Fields{Title: fmt.Sprintf("%s v%d", name, version), CreatedAt: instant(version)},
		Raw:    fmt.Appendf(nil, `{"name":%q,"version":%d}`, name, version),
	}
}

var upsertCases = []testCase{
	{"UpsertAndGet", upsertAndGet},
	{"NewerWinsInAnyOrder", newerWins},
	{"EqualVersionLaterArrivalWins", equalVersion},
	{"Idempotent", idempotent},
	{"SameKeyTwiceInABatch", twiceInABatch},
	{"AllOrNothing", allOrNothing},
	{"AccountsAndKindsAreApart", isolated},
	{"ConcurrentUpserts", concurrent},
	{"CanceledContext", canceled},
}

func upsertAndGet(x *fixture) {
	x.upsert()
	d := issue(1, "one", 1)
	x.absent(d.Key)
	x.upsert(d)
	x.expect(d)
}

// newerWins brings the versions of a document in every order, alone and in
// one batch. The newest must be what stays.
func newerWins(x *fixture) {
	orders := [][]int{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}}
	for i, order := range orders {
		alone, batch := fmt.Sprintf("alone-%d", i), fmt.Sprintf("batch-%d", i)
		var docs []document.Document
		for _, v := range order {
			x.upsert(issue(1, alone, v))
			docs = append(docs, issue(1, batch, v))
		}
		x.upsert(docs...)
		x.expect(issue(1, alone, 3))
		x.expect(issue(1, batch, 3))
	}
	n, err := x.Count(x.Context(), 1)
	x.ok(err)
	if n[KindIssue] != int64(2*len(orders)) {
		x.Errorf("%d documents, want %d", n[KindIssue], 2*len(orders))
	}
}

func equalVersion(x *fixture) {
	first, second := issue(1, "one", 1), issue(1, "one", 1)
	second.Title, second.Raw = "renamed", []byte(`"second"`)
	x.upsert(first)
	x.upsert(second)
	x.expect(second)
	x.upsert(first)
	x.expect(first)
}

func idempotent(x *fixture) {
	docs := []document.Document{issue(1, "one", 1), issue(1, "two", 2), issue(2, "one", 3)}
	for range 3 {
		x.upsert(docs...)
	}
	for _, d := range docs {
		x.expect(d)
	}
	if got := x.scan(document.Query{}); len(got) != len(docs) {
		x.Errorf("%d documents, want %d", len(got), len(docs))
	}
}

func twiceInABatch(x *fixture) {
	first, second := issue(1, "one", 1), issue(1, "one", 1)
	second.Raw = []byte(`"second"`)
	x.upsert(first, issue(1, "two", 1), second)
	x.expect(second)
	x.expect(issue(1, "two", 1))
}

func allOrNothing(x *fixture) {
	old := issue(1, "old", 1)
	x.upsert(old)
	for _, wrong := range []document.Key{
		{Kind: KindIssue, Name: "n"}, {Account: 1, Name: "n"}, {Account: 1, Kind: KindIssue},
	} {
		bad := issue(1, "bad", 1)
		bad.Key = wrong
		err := x.Upsert(x.Context(), []document.Document{issue(1, "old", 2), issue(1, "new", 1), bad, issue(1, "newer", 1)})
		if domain.CodeOf(err) != domain.CodeInvalid {
			x.Fatalf("a document with key %+v: error %v, want code invalid", wrong, err)
		}
	}
	x.expect(old)
	x.absent(issue(1, "new", 1).Key)
	x.absent(issue(1, "newer", 1).Key)
	if got := x.scan(document.Query{}); len(got) != 1 {
		x.Errorf("documents %v are there, want one", names(got))
	}
}

func isolated(x *fixture) {
	a, b, c := issue(1, "same", 1), issue(2, "same", 9), issue(1, "same", 5)
	c.Kind = KindPull
	x.upsert(a, b, c)
	for _, d := range []document.Document{a, b, c} {
		x.expect(d)
	}
	for account, want := range map[int64]map[document.Kind]int64{
		1: {KindIssue: 1, KindPull: 1}, 2: {KindIssue: 1}, 3: {},
	} {
		n, err := x.Count(x.Context(), account)
		x.ok(err)
		if !reflect.DeepEqual(n, want) {
			x.Errorf("account %d has %v, want %v", account, n, want)
		}
	}
}

// concurrent writes shuffled versions of the same documents from many
// goroutines: the newest stay.
func concurrent(x *fixture) {
	const writers, docs = 20, 30
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			var batch []document.Document
			for _, i := range rand.Perm(docs) {
				batch = append(batch, issue(1, fmt.Sprintf("doc-%d", i), w))
			}
			errs <- x.Upsert(x.Context(), batch)
		}()
	}
	for range writers {
		x.ok(<-errs)
	}
	for i := range docs {
		x.expect(issue(1, fmt.Sprintf("doc-%d", i), writers-1))
	}
}

func canceled(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	d := issue(1, "one", 1)
	if err := x.Upsert(ctx, []document.Document{d}); !errors.Is(err, context.Canceled) {
		x.Errorf("upsert with a canceled context: %v", err)
	}
	x.absent(d.Key)
	if _, _, err := x.Get(ctx, d.Key); !errors.Is(err, context.Canceled) {
		x.Errorf("get with a canceled context: %v", err)
	}
}
