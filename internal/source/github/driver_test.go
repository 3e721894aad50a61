package github

import (
	"context"
	"fmt"
	"iter"
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
	// keys are the keys that were ever stored: absences are looked for in one
	// kind of one repository.
	keys map[place][]document.Key
	// gone are the absences of single documents; vanished and seen those and
	// the sightings of repositories.
	gone     map[document.Key]document.Absence
	vanished map[int64]document.Absence
	seen     map[int64]time.Time

	// Of the last run: the cursors it began with, and
	began    map[string]time.Time
	calls    int
	done     map[string]bool
	failures []string
	verdict  source.Verdict
	target   domain.Target
	free     int
	asked    map[string]int // cost by bucket
	pages    map[string]int
	known    map[string]int
	before   func(job domain.JobSpec)

	// shared is what calls may know of what is stored; nil if that is nothing.
	shared source.Shared
}

// place is what an absence of single documents is about.
type place struct {
	kind       document.Kind
	repository int64
}

func newDriver(t testing.TB, src *Source, login, token string) *driver {
	return &driver{
		t: t, src: src, login: login, token: token,
		cursors: map[string]time.Time{}, stored: map[string]domain.Page{}, docs: map[document.Key]document.Document{},
		keys: map[place][]document.Key{}, gone: map[document.Key]document.Absence{}, vanished: map[int64]document.Absence{}, seen: map[int64]time.Time{},
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
	d.work(run, queue)
}

// work does jobs and all that they lead to.
func (d *driver) work(run domain.Run, queue []domain.JobSpec) {
	d.t.Helper()
	d.began = maps.Clone(d.cursors)
	d.calls, d.free, d.verdict = 0, 0, source.Done
	d.done, d.failures = map[string]bool{}, nil
	d.pages, d.known, d.asked = map[string]int{}, map[string]int{}, map[string]int{}
	for len(queue) > 0 {
		spec := queue[0]
		queue = queue[1:]
		name := spec.Type + "|" + spec.Resource + "|" + spec.PageKey
		if d.done[name] {
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
		queue = d.drop(append(queue, res.Next...), res.Drop)
	}
}

// drop cancels what waits for a resource. A canceled job is not made again
// under its name.
func (d *driver) drop(queue []domain.JobSpec, resource string) []domain.JobSpec {
	if resource == "" {
		return queue // as nearly always, and there may be thousands of jobs
	}
	return slices.DeleteFunc(queue, func(spec domain.JobSpec) bool {
		if spec.Resource != resource {
			return false
		}
		d.done[spec.Type+"|"+spec.Resource+"|"+spec.PageKey] = true
		return true
	})
}

// attempt calls until the job is done or has failed, as an engine would.
func (d *driver) attempt(run domain.Run, spec domain.JobSpec) source.Result {
	d.t.Helper()
	var res source.Result
	for failures := 0; failures < 5; {
		ask, err := d.src.Ask(spec, "owner")
		if err != nil {
			d.t.Fatal(err)
		}
		d.asked[ask.Bucket] += ask.Cost
		call := source.Call{Run: run, Job: domain.Job{JobSpec: spec, Failures: failures}, Token: d.token, Cursors: d.began, Since: d.began[CursorKey(spec.Type, spec.Resource)], Shared: d.shared}
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
		if res.Verdict == source.Retry {
			failures++
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
		d.store(doc)
	}
	for _, gone := range res.Absences {
		d.flag(gone)
	}
	d.settleFlags()
	for _, c := range res.Cursors {
		if c.At.After(d.cursors[c.Resource]) {
			d.cursors[c.Resource] = c.At
		}
	}
	for _, p := range res.Stored {
		d.stored[p.Key] = p
	}
	if res.Target != "" {
		d.target = res.Target
	}
	ledger := CursorKey(spec.Type, spec.Resource)
	d.pages[ledger]++
	d.known[ledger] = max(d.known[ledger], res.Pages)
}

func (d *driver) store(doc document.Document) {
	if doc.SeenAt.IsZero() {
		d.t.Errorf("%v has no time at which it was seen", doc.Key)
	}
	old, ok := d.docs[doc.Key]
	if ok && doc.Version.Before(old.Version) {
		doc, old = old, doc
	}
	if old.SeenAt.After(doc.SeenAt) {
		doc.SeenAt = old.SeenAt
	}
	if before := d.docs[doc.Key]; !ok || before.Repository != doc.Repository {
		in := place{doc.Kind, doc.Repository}
		d.keys[in] = append(d.keys[in], doc.Key)
	}
	d.docs[doc.Key] = doc
	if doc.Kind == KindRepository && doc.SeenAt.After(d.seen[doc.Repository]) {
		d.seen[doc.Repository] = doc.SeenAt
	}
}

// flag does what a store does with an absence, for the kinds the source makes.
func (d *driver) flag(gone document.Absence) {
	if gone.Why == "" || gone.Since.IsZero() || gone.Account != testAccount || (gone.Kind == "" || len(gone.With) > 0) != gone.NotSeenSince.IsZero() {
		d.t.Errorf("absence %+v", gone)
	}
	if kind := Kinds().Of(gone.Kind); gone.Kind != "" && (kind == nil || kind.Independent || gone.Repository == 0) {
		d.t.Errorf("stores refuse the absence %+v", gone)
	}
	if gone.Kind == "" {
		d.vanished[gone.Repository] = gone
		return
	}
	if len(gone.With) > 0 {
		d.follow(gone)
		return
	}
	for key, doc := range d.all(gone.Kind, gone.Repository) {
		if doc.SeenAt.Before(gone.NotSeenSince) {
			d.gone[key] = gone
		}
	}
}

// all are the documents of a kind of a repository.
func (d *driver) all(kind document.Kind, repository int64) iter.Seq2[document.Key, *document.Document] {
	return func(yield func(document.Key, *document.Document) bool) {
		for _, key := range d.keys[place{kind, repository}] {
			if doc, ok := d.docs[key]; ok && doc.Repository == repository && !yield(key, &doc) {
				return
			}
		}
	}
}

// follow lets documents go and come back with those that they belong to.
func (d *driver) follow(a document.Absence) {
	holds := func(key document.Key, doc *document.Document) bool {
		own, ok := d.gone[key]
		return ok && !doc.SeenAt.After(own.Since)
	}
	gone := map[int64]bool{}
	for _, kind := range a.With {
		for key, doc := range d.all(kind, a.Repository) {
			if holds(key, doc) {
				gone[a.NumberOf(key.Name, doc.Number)] = true
			}
		}
	}
	for key, doc := range d.all(a.Kind, a.Repository) {
		switch {
		case gone[doc.Number]:
			d.gone[key] = a
		case holds(key, doc):
			delete(d.gone, key)
			d.settle(key)
		}
	}
}

func (d *driver) settleFlags() {
	for key := range d.gone {
		d.settle(key)
	}
	if len(d.vanished) == 0 {
		return // as in most tests, which have thousands of documents
	}
	for key := range d.docs {
		d.settle(key)
	}
}

// settle says of a document whether it is gone.
func (d *driver) settle(key document.Key) {
	doc, ok := d.docs[key]
	if !ok {
		return
	}
	was, why := doc.Deleted, doc.GoneWhy
	own, repo := d.gone[key], d.vanished[doc.Repository]
	doc.Deleted, doc.GoneWhy = false, ""
	switch {
	case own.Why != "" && !doc.SeenAt.After(own.Since):
		doc.Deleted, doc.GoneWhy = true, own.Why
	case repo.Why != "" && !d.seen[doc.Repository].After(repo.Since) && key.Kind != KindEvent:
		doc.Deleted, doc.GoneWhy = true, repo.Why
	}
	if doc.Deleted != was || doc.GoneWhy != why {
		d.docs[key] = doc
	}
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
		if key.Kind == KindRepository {
			return "repo:" + key.Name
		}
	}
	d.t.Fatal("no repository was collected")
	return ""
}
