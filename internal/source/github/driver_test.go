package github

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

// driver is the smallest engine that can run a source: one job at a time, all
// state in maps.
type driver struct {
	t       testing.TB
	src     *Source
	login   string
	token   string
	cursors map[string]time.Time
	stored  map[string]domain.Page
	docs    map[document.Key]document.Document

	// Of the last run: the cursors it began with, and
	began    map[string]time.Time
	calls    int
	done     map[string]bool
	failures []string
	dropped  map[string]bool
	verdict  source.Verdict
	free     int
	asked    map[string]int // cost by bucket
	pages    map[string]int
	known    map[string]int
	before   func(job domain.JobSpec)
}

func newDriver(t testing.TB, src *Source, login, token string) *driver {
	return &driver{
		t: t, src: src, login: login, token: token,
		cursors: map[string]time.Time{}, stored: map[string]domain.Page{}, docs: map[document.Key]document.Document{},
	}
}

const testAccount = 7

func (d *driver) run(anchor time.Time) {
	d.t.Helper()
	run := domain.Run{ID: 1, AccountID: testAccount, Source: "github", Login: d.login, Anchor: anchor}
	queue, err := d.src.Plan(run)
	if err != nil {
		d.t.Fatal(err)
	}
	d.began = maps.Clone(d.cursors)
	d.calls, d.free, d.verdict = 0, 0, source.Done
	d.done, d.dropped, d.failures = map[string]bool{}, map[string]bool{}, nil
	d.pages, d.known, d.asked = map[string]int{}, map[string]int{}, map[string]int{}
	for len(queue) > 0 {
		spec := queue[0]
		queue = queue[1:]
		name := spec.Type + "|" + spec.Resource + "|" + spec.PageKey
		if d.done[name] || d.dropped[spec.Resource] {
			continue
		}
		d.done[name] = true
		if d.before != nil {
			d.before(spec)
		}
		res := d.attempt(run, spec)
		if res.Verdict == source.FailRun || res.Verdict == source.PauseAccount {
			d.verdict = res.Verdict
			return
		}
		queue = append(queue, res.Next...)
	}
}

// attempt calls until the job is done or has failed, as an engine would.
func (d *driver) attempt(run domain.Run, spec domain.JobSpec) source.Result {
	d.t.Helper()
	var res source.Result
	for range 5 {
		ask, err := d.src.Ask(spec, "owner")
		if err != nil {
			d.t.Fatal(err)
		}
		d.asked[ask.Bucket] += ask.Cost
		call := source.Call{Run: run, Job: domain.Job{JobSpec: spec}, Token: d.token, Cursors: d.began, Since: d.began[CursorKey(spec.Type, spec.Resource)]}
		if page, ok := d.stored[d.src.StoredKey(spec)]; ok {
			call.Stored = &page
		}
		res = d.src.Call(context.Background(), call)
		d.calls++
		if res.Free {
			d.free++
		}
		if res.Verdict != source.Retry && res.Verdict != source.Wait {
			break
		}
	}
	if res.Verdict != source.Done {
		d.failures = append(d.failures, fmt.Sprintf("%s %s %s: %v", spec.Type, spec.Resource, spec.PageKey, res.Failure))
		return res
	}
	d.keep(spec, res)
	return res
}

func (d *driver) keep(spec domain.JobSpec, res source.Result) {
	for _, doc := range res.Documents {
		if old, ok := d.docs[doc.Key]; !ok || !doc.Version.Before(old.Version) {
			d.docs[doc.Key] = doc
		}
	}
	for _, gone := range res.Absences {
		for key, doc := range d.docs {
			swept := key.Kind == gone.Kind && doc.Number > gone.After && doc.Number <= gone.UpTo &&
				doc.CreatedAt.Before(gone.CreatedBefore) && !slices.Contains(gone.Present, doc.Number)
			if doc.Repository == gone.Repository && (gone.Kind == "" && key.Kind != document.KindEvent || swept) {
				doc.Deleted = true
				d.docs[key] = doc
			}
		}
	}
	for _, c := range res.Cursors {
		d.cursors[c.Resource] = c.At
	}
	for _, p := range res.Stored {
		d.stored[p.Key] = p
	}
	if res.Drop != "" {
		d.dropped[res.Drop] = true
	}
	ledger := CursorKey(spec.Type, spec.Resource)
	d.pages[ledger]++
	d.known[ledger] = max(d.known[ledger], res.Pages)
}

func (d *driver) noFailures() {
	d.t.Helper()
	for _, f := range d.failures {
		d.t.Error("failed:", f)
	}
}

// world is a simulated GitHub and a source that collects from it.
type world struct {
	*sim.Server
	url string
}

func newWorld(t testing.TB, opt sim.Options) *world {
	t.Helper()
	opt.Limits.Disabled = true
	s := sim.New(opt)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &world{Server: s, url: server.URL}
}

func (w *world) source(t testing.TB, opt Options) *Source {
	t.Helper()
	opt.BaseURL = w.url + opt.BaseURL
	src, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if idle, ok := src.opt.Transport.(*http.Transport); ok {
			idle.CloseIdleConnections()
		}
	})
	return src
}

// driver makes a driver of the world's source.
func (w *world) driver(t testing.TB, opt Options, login string) *driver {
	t.Helper()
	d := newDriver(t, nil, login, w.Token(login))
	d.src = w.source(t, opt)
	return d
}

// repositoryResource names the only repository of a world with one.
func (d *driver) repositoryResource() string {
	for key := range d.docs {
		if key.Kind == document.KindRepository {
			return "repo:" + key.Name
		}
	}
	d.t.Fatal("no repository was collected")
	return ""
}
