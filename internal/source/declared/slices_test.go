package declared_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	sim "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// sliced are streams that are asked for in slices of time.
var sliced = map[string]string{
	"instants": head + `
  items:
    get: "/items?since={cursor}&until={until}"
    page: {type: page, param: page, size: {n: 4}, total: total}
    records: data
    key: id
    version: updated
    window: 2h
    cursor: {start: 2026-11-15T00:00:00Z}
`,
	"seconds": head + `
  items:
    get: "/items"
    query: {since: "{cursor}", until: "{until}"}
    page: {type: cursor, param: after, next: next, size: {n: 3}}
    records: data
    key: id
    version: updated
    window: 5h
    cursor: {start: 2026-11-15, as: epoch, overlap: 0s}
`,
	"days": head + `
  items:
    get: "/items?since={cursor}&until={until}"
    key: id
    version: updated
    window: 1d
    cursor: {start: 2026-11-14, as: date}
`,
	"of parents": head + `
  items: {get: /items, key: id, version: updated}
  parts:
    of: items
    get: "/items/{items.id}/parts?since={cursor}&until={until}"
    page: {type: page, param: page, size: {n: 2}, total: total}
    records: data
    key: id
    version: updated
    window: 7h
    cursor: {start: 2026-11-15}
`,
}

// TestSlices: slices of time bring all there is, on their seams too, whichever ends an
// upstream takes to be in a slice.
func TestSlices(t *testing.T) {
	for name, text := range sliced {
		for open := range 4 {
			t.Run(fmt.Sprint(name, ", open ", open), func(t *testing.T) {
				records := 90
				if name == "of parents" {
					records = 9
				}
				d := drive(t, text, sim.Options{Records: records, Children: 4, Open: open, Spread: 60 * time.Hour})
				d.run()
				d.want("the first collection")
				first := d.calls
				for range 3 {
					d.upstream.Mutate(sim.Mutation{Change: 9, Add: 3})
					d.run()
					d.want("after changes")
				}
				if name != "of parents" && d.calls*2 > first {
					t.Errorf("a later run makes %d calls, the first made %d", d.calls, first)
				}
				// Slices that were missed are asked for when there is time again.
				d.now = d.now.Add(70 * time.Hour)
				d.upstream.Mutate(sim.Mutation{Change: 9, Add: 3})
				d.run()
				d.want("after a long time")
				before := len(d.cursors)
				d.run()
				d.want("after it")
				if len(d.cursors) != before && name != "of parents" {
					t.Errorf("a run of one slice leaves %d cursors, there were %d", len(d.cursors), before)
				}
			})
		}
	}
}

// TestSliceThatFails: a slice that cannot be read is asked for again by the next run,
// and nothing behind it is taken to be known.
func TestSliceThatFails(t *testing.T) {
	d := drive(t, sliced["instants"], sim.Options{Records: 90, Spread: 60 * time.Hour})
	calls := 0
	d.before = func() {
		if calls++; calls == 35 {
			d.upstream.Order(sim.Order{Stream: "items", Do: "403", Times: 1})
		}
	}
	d.run()
	if len(d.failures) != 1 || len(d.differences()) == 0 {
		t.Fatalf("%q, %q", d.failures, d.differences())
	}
	d.before = nil
	d.run()
	d.want("the next run")
}

// TestBeginThatIsSet: where a first walk begins may be a value that is set, and must be
// before a run is planned.
func TestBeginThatIsSet(t *testing.T) {
	f := load(t, strings.NewReplacer("start: 2026-11-15T00:00:00Z", "start: '{config.since}'", "config: {", "config: {since: '', ").Replace(sliced["instants"]))
	for since, want := range map[string]string{"": "set it to one such as 2020-01-01", "soon": "set it to one such as 2020-01-01", "2020-01-01": ""} {
		src, err := declared.New(f, declared.Options{Config: map[string]string{"since": since}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = src.Plan(domain.Run{ID: 1, AccountID: 7, Login: "acme"}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", since, err)
		}
	}
}

// TestManySlices: more slices than are planned at once are planned by the last of them.
func TestManySlices(t *testing.T) {
	text := strings.NewReplacer("window: 2h", "window: 1m", "2026-11-15T00:00:00Z", "2026-11-17T00:00:00Z").Replace(sliced["instants"])
	d := drive(t, text, sim.Options{Records: 30, Spread: 30 * time.Hour})
	d.run()
	d.want("the first collection")
	if d.calls < 34*60 {
		t.Errorf("%d calls", d.calls)
	}
}

// TestCount: what an upstream counts is what a walk expects, whatever the truth is; a
// count that cannot be had keeps nothing from being collected.
func TestCount(t *testing.T) {
	text := head + `
  items:
    get: /items
    page: {type: cursor, param: after, next: next, size: {n: 5}}
    records: data
    key: id
    count: {get: "/items/count", at: meta.total}
  parts:
    of: items
    get: "/items/{items.id}/parts"
    key: id
    count: {get: "/items/{items.id}/parts/count", at: {header: X-Count}}
`
	for _, lie := range []int{0, 17, -100} {
		d := drive(t, text, sim.Options{Records: 23, Miscount: lie})
		d.run()
		d.want("a collection")
		if lie == 0 && d.expected["ITEMS all"] != 5 {
			t.Errorf("it is expected to take %v", d.expected)
		}
		d.run()
		d.want("a later one")
	}
	for broken, times := range map[string]int{"404": 1, "403": 1, "500": 3, "html": 1, "cut": 3, "empty": 1} {
		d := drive(t, text, sim.Options{Records: 23})
		d.upstream.Order(sim.Order{Do: broken, Times: times})
		d.run()
		d.want(broken)
	}
	// What a count says is not believed beyond reason.
	for body, want := range map[string]int{`{"n":12}`: 12, `{"n":-1}`: 0, `{"n":"x"}`: 0, `{"n":99999999999999999999}`: 0, `{"n":1e3}`: 0, `[]`: 0, `{"n":1000000000}`: 1_000_000} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		src, err := declared.New(load(t, head+"\n  items: {get: /items, page: {type: link}, key: id, count: {get: /n, at: n}}\n"), declared.Options{Base: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
		jobs, _ := src.Plan(run)
		res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret"})
		server.Close()
		if res.Verdict != source.Done || len(res.Next) != 1 || res.Next[0].Type != "ITEMS" || res.Next[0].Expected != want {
			t.Errorf("%s: %+v", body, res)
		}
	}
}
