package catalogue_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/catalogue"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/sources"
)

const shop = `source: shop
title: The shop
base: https://shop.example/v1
auth: bearer
ration: {all: {per: key, calls: 60, every: 1m, shape: sliding}}
streams:
  orders:
    get: /orders
    key: id
    columns: {price: {at: price, type: integer}}
`

// installation is a store of records with what changes it.
type installation struct {
	*catalogue.Catalogue
	records  record.Store
	accounts map[string]int
	rooms    []document.Kinds
	full     error
	changes  int
}

func builtIn() (all []source.Description) {
	for _, r := range sources.All() {
		all = append(all, r.Description)
	}
	return all
}

func install(t *testing.T, set ...catalogue.Added) *installation {
	t.Helper()
	x := &installation{records: record.NewMemory(), accounts: map[string]int{}}
	x.Catalogue = catalogue.New(catalogue.Options{
		Records: x.records, BuiltIn: builtIn(), Set: set,
		Room: func(_ context.Context, kinds document.Kinds) error {
			x.rooms = append(x.rooms, kinds)
			return x.full
		},
		Changed:  func() { x.changes++ },
		Accounts: func(context.Context) (map[string]int, error) { return x.accounts, nil },
	})
	return x
}

func (x *installation) add(t *testing.T, text string) (catalogue.Detail, bool) {
	t.Helper()
	d, isNew, err := x.Add(t.Context(), catalogue.Addition{File: text})
	if err != nil {
		t.Fatal(err)
	}
	return d, isNew
}

func (x *installation) refused(t *testing.T, in catalogue.Addition, code domain.Code, says string) {
	t.Helper()
	if _, _, err := x.Add(t.Context(), in); domain.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("adding it was answered with %.300v, want %s: %s", err, code, says)
	}
	if list, err := x.records.List(t.Context(), record.Source); err != nil || len(list) > 1 {
		t.Errorf("it left %d records, %v", len(list), err)
	}
}

func TestAdd(t *testing.T) {
	x := install(t)
	d, isNew := x.add(t, shop)
	if !isNew || d.Name != "shop" || d.File != shop || d.Origin != catalogue.AddedHere || strings.Join(d.Tables, " ") != "shop_orders" || x.changes != 1 {
		t.Errorf("added is %+v, new %v, %d changes", d, isNew, x.changes)
	}
	if len(x.rooms) != 1 || x.rooms[0].Table("shop_orders") == nil || x.rooms[0].Table("commits") == nil {
		t.Errorf("room was made for %d lists of kinds", len(x.rooms))
	}
	if again, isNew := x.add(t, shop); isNew || again.Version != d.Version || x.changes != 1 {
		t.Errorf("the same again is %+v, new %v, %d changes", again, isNew, x.changes)
	}
	if other, isNew := x.add(t, shop+"    title: name\n"); isNew || other.Version == d.Version || x.changes != 2 {
		t.Errorf("another file is %+v, new %v, %d changes", other, isNew, x.changes)
	}
	renamed, isNew, err := x.Add(t.Context(), catalogue.Addition{File: shop, Name: "our-shop", Set: map[string]string{"base": "https://our.example"}})
	if err != nil || !isNew || renamed.Name != "our-shop" || !strings.HasPrefix(renamed.File, "source: our-shop\n") || renamed.Set["base"] != "https://our.example" {
		t.Errorf("under another name it is %+v, %v", renamed, err)
	}
	list, err := x.List(t.Context())
	origins := map[string]catalogue.Origin{}
	for _, i := range list {
		origins[i.Name] = i.Origin
	}
	if err != nil || origins["shop"] != catalogue.AddedHere || origins["gitlab"] != catalogue.Shipped || origins[builtIn()[0].Name] != catalogue.BuiltIn {
		t.Errorf("listed are %v, %v", origins, err)
	}
}

// TestInferredColumnsStay: room is made with the columns that were inferred, of the source
// that is changed and of those beside it.
func TestInferredColumnsStay(t *testing.T) {
	x := install(t)
	other := strings.Replace(shop, "source: shop", "source: other", 1)
	x.add(t, shop)
	x.add(t, other)
	kept := []byte(`{"columns":[{"name":"price","at":"price","type":"integer"}]}`)
	for _, table := range []string{"shop_orders", "other_orders"} {
		if err := x.records.Put(t.Context(), record.Record{Kind: record.Columns, Name: table, Value: kept}); err != nil {
			t.Fatal(err)
		}
	}
	x.add(t, shop+"    title: name\n")
	room := x.rooms[len(x.rooms)-1]
	for _, table := range []string{"shop_orders", "other_orders"} {
		if d := room.Table(table); d == nil || !slices.ContainsFunc(d.Columns, func(c document.Column) bool { return c.Name == "price" }) {
			t.Errorf("room for %s is made without what was inferred: %+v", table, d)
		}
	}
}

func TestWhatCannotBeAdded(t *testing.T) {
	x := install(t, catalogue.Added{Name: "mine", Text: strings.Replace(shop, "source: shop", "source: mine", 1)})
	first := builtIn()[0]
	named := func(name string) string { return strings.Replace(shop, "source: shop", "source: "+name, 1) }
	x.refused(t, catalogue.Addition{File: named(first.Name)}, domain.CodeConflict, "already")
	x.refused(t, catalogue.Addition{File: named("mine")}, domain.CodeConflict, "setting sources")
	x.refused(t, catalogue.Addition{File: named("Bad Name")}, domain.CodeInvalid, "line 1")
	x.refused(t, catalogue.Addition{File: shop, Name: "No"}, domain.CodeInvalid, "cannot be the name")
	x.refused(t, catalogue.Addition{File: shop, Set: map[string]string{"nothing": "1"}}, domain.CodeInvalid, "nothing")
	x.refused(t, catalogue.Addition{File: strings.Repeat("x: "+strings.Repeat("y", 1000)+"\n", 10_000)}, domain.CodeInvalid, "bytes")
	// The name of the kind pull_x of a source pull could be one of the program's.
	for _, kind := range first.Kinds {
		if name, stream, ok := strings.Cut(kind.Plural, "_"); ok && len(name) > 1 {
			x.refused(t, catalogue.Addition{File: strings.Replace(named(name), "orders:", stream+":", 1)}, domain.CodeConflict, "the table "+kind.Plural)
			break
		}
	}
	x.full = domain.Errorf(domain.CodeConflict, "the column own_price holds something else")
	x.refused(t, catalogue.Addition{File: shop}, domain.CodeConflict, "own_price")
	if x.full = nil; x.changes != 0 {
		t.Errorf("%d changes were told of", x.changes)
	}
	x.add(t, shop)
	x.refused(t, catalogue.Addition{File: strings.Replace(shop, "type: integer", "type: text", 1)}, domain.CodeConflict, "the column price of shop_orders holds values of the type integer")
	x.refused(t, catalogue.Addition{File: strings.Replace(named("other"), "type: integer", "type: text", 1)}, domain.CodeInvalid, "the column price")
}

func TestSameTwiceAtOnce(t *testing.T) {
	x := install(t)
	var all sync.WaitGroup
	news := make(chan bool, 8)
	for range cap(news) {
		all.Go(func() {
			_, isNew, err := x.Add(t.Context(), catalogue.Addition{File: shop})
			if err != nil {
				t.Error(err)
			}
			news <- isNew
		})
	}
	all.Wait()
	close(news)
	n := 0
	for isNew := range news {
		if isNew {
			n++
		}
	}
	if n != 1 || x.changes != 1 {
		t.Errorf("it was new %d times, with %d changes", n, x.changes)
	}
}

func TestRemove(t *testing.T) {
	x := install(t)
	x.add(t, shop)
	x.accounts["shop"] = 2
	if err := x.Remove(t.Context(), "shop"); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "2 accounts") {
		t.Errorf("with accounts: %v", err)
	}
	x.accounts["shop"] = 0
	if err := x.Remove(t.Context(), "shop"); err != nil || x.changes != 2 {
		t.Errorf("%v, %d changes", err, x.changes)
	}
	for name, code := range map[string]domain.Code{"shop": domain.CodeNotFound, "gitlab": domain.CodeConflict, builtIn()[0].Name: domain.CodeConflict} {
		if err := x.Remove(t.Context(), name); domain.CodeOf(err) != code {
			t.Errorf("removing %s: %v, want %s", name, err, code)
		}
	}
}

func TestCheck(t *testing.T) {
	if c := catalogue.Check([]byte(shop)); !c.Valid || c.Plan == nil || len(c.Mistakes) != 0 {
		t.Errorf("got %+v", c)
	}
	c := catalogue.Check([]byte("source: x\nstreems: 1\n"))
	if c.Valid || c.Plan != nil || len(c.Mistakes) < 3 || c.Mistakes[len(c.Mistakes)-1].Line != 2 || c.Mistakes[len(c.Mistakes)-1].Remedy == "" {
		t.Errorf("got %+v", c)
	}
}

// stale counts what a watch was told.
type stale struct{ told chan string }

func (s stale) Stale(name string) { s.told <- name }

// TestOpen: what cannot be opened hinders nobody, and nothing is collected by a file that
// another process has changed.
func TestOpen(t *testing.T) {
	x := install(t)
	x.add(t, shop)
	if err := x.records.Put(t.Context(), record.Record{Kind: record.Source, Name: "broken", Value: []byte("no gzip")}); err != nil {
		t.Fatal(err)
	}
	watch := stale{make(chan string, 1)}
	opened, err := catalogue.Open(t.Context(), x.records, builtIn(), watch, slog.New(slog.DiscardHandler))
	if err != nil || len(opened.Sources) != 1 || opened.Sources[0].Name() != "shop" {
		t.Fatalf("opened are %+v, %v", opened, err)
	}
	own, err := opened.Sources[0].(source.Bound).With(map[string]string{"base": "https://our.example"})
	if err != nil {
		t.Fatal(err)
	}
	x.add(t, shop+"    title: name\n")
	for _, src := range []source.Source{opened.Sources[0], own} {
		res := src.Call(t.Context(), source.Call{Run: domain.Run{Login: "acme"}, Token: "t"})
		if res.Verdict != source.Wait || !res.Free || res.RetryAfter != time.Second || <-watch.told != "shop" {
			t.Errorf("a call by an old file is %+v", res)
		}
	}
}

func TestLookout(t *testing.T) {
	x := install(t)
	x.add(t, shop)
	log := slog.New(slog.DiscardHandler)
	opened, err := catalogue.Open(t.Context(), x.records, builtIn(), nil, log)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"changed": func() { x.add(t, shop+"    title: name\n") },
		"removed": func() {
			if _, err := x.records.Remove(t.Context(), record.Source, "shop"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		look := catalogue.NewLookout()
		ctx, end := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("nothing was noticed"))
		change()
		look.Stale("shop")
		look.Run(ctx, x.records, opened, nil, log)
		select {
		case <-look.Differs():
		default:
			t.Errorf("%s: %v", name, context.Cause(ctx))
		}
		end()
	}
}
