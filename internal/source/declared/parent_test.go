package declared_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	sim "sluice/internal/simulator/declared"
	"sluice/internal/source/declared"
)

// parts are two streams of projects: one that has a walk of everything from time to time,
// and one that is only ever asked for what changed.
const parts = head + `
  projects: {get: /projects, page: {type: link}, key: id, version: at}
  issues:
    of: projects
    first: {get: "/projects/{projects.id}/issues", page: {type: link}}
    changes: {get: "/issues?since={cursor}", page: {type: link}}
    sweep: {get: "/projects/{projects.id}/issues?sweep=1", page: {type: link}, every: 90m}
    parent: project
    key: id
    version: updated
    gone: [404]
    cursor: {as: epoch, overlap: 2m}
  pipelines:
    of: projects
    get: "/projects/{projects.id}/pipelines?updated_after={cursor}"
    page: {type: link}
    key: id
    version: updated
    gone: [404]
    cursor: {as: epoch, overlap: 2m}
`

// between serves the driver's upstream behind something that may answer instead, and
// returns its address.
func between(t *testing.T, d *driver, instead func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !instead(w, r) {
			d.upstream.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	d.upstream.SetURL(server.URL)
	d.open(server.URL, nil)
	return server.URL
}

// open opens the driver's source at an address, with values of its config.
func (d *driver) open(address string, config map[string]string) {
	d.t.Helper()
	var err error
	if d.src, err = declared.New(d.file, declared.Options{Base: address, Config: config, Now: d.clock(), MaxBody: 512 << 10}); err != nil {
		d.t.Fatal(err)
	}
}

// TestOneAnswerThatAParentIsGone: an upstream that says once that something is not there
// is asked once more. Where it says so twice, what it had is gone, and is collected again
// as a whole when it answers again, also by a stream that is only asked for changes.
func TestOneAnswerThatAParentIsGone(t *testing.T) {
	for _, part := range []string{"sweep=1", "/pipelines"} {
		for _, answers := range []int{1, 2} {
			d := drive(t, parts, sim.Options{Seed: 3, Records: 6, Children: 3})
			left, calls := 0, 0
			var of string
			between(t, d, func(w http.ResponseWriter, r *http.Request) bool {
				if left == 0 || !strings.Contains(r.URL.String(), part) || of != "" && r.URL.String() != of {
					return false
				}
				left, of = left-1, r.URL.String()
				calls++
				w.WriteHeader(http.StatusNotFound)
				return true
			})
			d.run()
			d.run()
			before := len(d.gone)
			left = answers
			for calls < answers && left > 0 {
				d.run()
			}
			if flagged := len(d.gone) > before; flagged != (answers == 2) {
				t.Errorf("%s: after %d answers that it is gone: flagged is %v", part, answers, flagged)
			}
			d.run()
			d.want(part + ", after it was there again")
		}
	}
}

// TestAnotherQuestion: how far a narrow question was collected says nothing of a wider one.
func TestAnotherQuestion(t *testing.T) {
	text := `
source: api
config: {state: all, note: ""}
base: https://api.example
auth: bearer
ration: {all: {per: key, calls: 1000, every: 1m, shape: sliding}}
streams:
  items:
    get: "/items?state={config.state}"
    changes: {get: "/items?state={config.state}&since={cursor}"}
    key: id
    version: updated
`
	d := drive(t, text, sim.Options{Seed: 3, Records: 9})
	some := func(w http.ResponseWriter, r *http.Request) bool {
		narrow := r.URL.Query().Get("state") == "some"
		r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "state=some", "state=all", 1)
		got := httptest.NewRecorder()
		d.upstream.ServeHTTP(got, r)
		body := got.Body.Bytes()
		if all := gjson.ParseBytes(body).Array(); narrow && len(all) > 1 {
			body = []byte("[" + all[0].Raw + "]")
		}
		for name, values := range got.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(got.Code)
		_, _ = w.Write(body)
		return true
	}
	address := between(t, d, some)
	d.open(address, map[string]string{"state": "some"})
	d.run()
	d.run()
	if n := len(d.docs); n != 1 {
		t.Fatalf("%d documents of the narrow question", n)
	}
	d.open(address, nil)
	d.run()
	d.want("after the wider question")
	// What no stream speaks of is no other question.
	before := len(d.cursors)
	d.open(address, map[string]string{"note": "x"})
	d.run()
	if len(d.cursors) != before {
		t.Errorf("a value that no stream speaks of began the walk anew: %v", d.cursors)
	}
}
