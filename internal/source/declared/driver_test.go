package declared_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	sim "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// driver is the smallest engine that can run a source: one job at a time, all state
// in maps, on a clock that the test moves.
type driver struct {
	t        *testing.T
	file     *declared.File
	src      *declared.Source
	upstream *sim.Server
	now      time.Time
	cursors  map[string]time.Time
	stored   map[string]domain.Page
	docs     map[document.Key]document.Document
	gone     map[document.Key]bool
	failures []string
	calls    int
	token    string
	// expected is how many calls a job was said to take.
	expected map[string]int
	// before is done before each call.
	before func()
}

func drive(t *testing.T, text string, o sim.Options) *driver {
	t.Helper()
	d := &driver{
		t: t, token: "secret", file: load(t, text), now: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC),
		cursors: map[string]time.Time{}, stored: map[string]domain.Page{}, docs: map[document.Key]document.Document{}, gone: map[document.Key]bool{},
	}
	described, err := d.file.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sim.ParseSpec(described)
	if err != nil {
		t.Fatal(err)
	}
	for i := range spec.Rations {
		// One call follows another here: how many there are at a time is tested with
		// an engine.
		spec.Rations[i].Calls = 1 << 30
	}
	o.Now = func() time.Time { return d.now }
	if d.upstream, err = sim.New(spec, o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.upstream)
	t.Cleanup(server.Close)
	d.upstream.SetURL(server.URL)
	d.src, err = declared.New(d.file, declared.Options{Base: server.URL, Now: o.Now, MaxBody: 512 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// clock tells the time that the driver moves, for sources that are opened beside its own.
func (d *driver) clock() func() time.Time { return func() time.Time { return d.now } }

// run is one run, in which every second a call is made.
func (d *driver) run() {
	d.t.Helper()
	d.now = d.now.Add(time.Hour)
	run := domain.Run{ID: 1, AccountID: 7, Source: d.file.Name, Login: "acme", Anchor: d.now}
	queue, err := d.src.Plan(run)
	if err != nil {
		d.t.Fatal(err)
	}
	began := maps.Clone(d.cursors)
	done := map[string]bool{}
	d.failures, d.calls, d.expected = nil, 0, map[string]int{}
	for len(queue) > 0 {
		job := queue[0]
		queue = queue[1:]
		if name := job.Type + "|" + job.Resource + "|" + job.PageKey; done[name] {
			continue
		} else {
			done[name] = true
		}
		next := d.attempt(run, job, began)
		for _, one := range next {
			d.expected[one.Type+" "+one.Resource] = max(one.Expected, d.expected[one.Type+" "+one.Resource])
		}
		queue = append(queue, next...)
	}
}

func (d *driver) attempt(run domain.Run, job domain.JobSpec, began map[string]time.Time) []domain.JobSpec {
	d.t.Helper()
	var res source.Result
	for failures := range 5 {
		if d.before != nil {
			d.before()
		}
		d.now = d.now.Add(time.Second)
		call := source.Call{Run: run, Job: domain.Job{JobSpec: job, Failures: failures}, Token: d.token, Cursors: began}
		if page, ok := d.stored[d.src.StoredKey(job)]; ok {
			call.Stored = &page
		}
		d.calls++
		if res = d.src.Call(d.t.Context(), call); res.Verdict == source.Done {
			break
		}
		if res.Verdict != source.Retry && res.Verdict != source.Wait {
			break
		}
	}
	if res.Verdict != source.Done {
		d.failures = append(d.failures, job.Type+" "+job.Resource+": "+res.Failure.Message)
		return nil
	}
	d.commit(res)
	return res.Next
}

func (d *driver) commit(res source.Result) {
	if err := d.file.Describe().Kinds.CheckDocuments(res.Documents); err != nil {
		d.t.Fatal(err)
	}
	if err := d.file.Describe().Kinds.CheckAbsences(res.Absences); err != nil {
		d.t.Fatal(err)
	}
	for _, doc := range res.Documents {
		if old, there := d.docs[doc.Key]; there && old.Version.After(doc.Version) {
			old.SeenAt = doc.SeenAt
			doc = old
		}
		d.docs[doc.Key] = doc
		delete(d.gone, doc.Key)
	}
	for _, a := range res.Absences {
		for key, doc := range d.docs {
			if key.Kind == a.Kind && doc.Repository == a.Repository && doc.SeenAt.Before(a.NotSeenSince) {
				d.gone[key] = true
			}
		}
	}
	for _, c := range res.Cursors {
		if c.At.After(d.cursors[c.Resource]) {
			d.cursors[c.Resource] = c.At
		}
	}
	for _, p := range res.Stored {
		d.stored[p.Key] = p
	}
}

// differences are what is not as the upstream has it.
func (d *driver) differences() (all []string) {
	truth := d.upstream.Truth()
	for _, s := range d.file.Streams {
		kind := d.file.Kind(s)
		for name, raw := range truth.Records[s.Name] {
			key := document.Key{Account: 7, Kind: kind, Name: name}
			doc, there := d.docs[key]
			switch {
			case !there:
				all = append(all, fmt.Sprintf("%s %s is missing", kind, name))
			case d.gone[key]:
				all = append(all, fmt.Sprintf("%s %s is said to be gone", kind, name))
			case gjson.GetBytes(doc.Raw, "turn").Int() != gjson.GetBytes(raw, "turn").Int():
				all = append(all, fmt.Sprintf("%s %s is old: %s, not %s", kind, name, doc.Raw, raw))
			}
		}
		for key := range d.docs {
			if _, there := truth.Records[s.Name][key.Name]; key.Kind == kind && !there && !d.gone[key] {
				all = append(all, fmt.Sprintf("%s %s is gone, and nobody knows", kind, key.Name))
			}
		}
	}
	slices.Sort(all)
	return all
}

func (d *driver) want(when string) {
	d.t.Helper()
	if len(d.failures) > 0 {
		d.t.Fatalf("%s: %s", when, strings.Join(d.failures, "\n"))
	}
	if wrong := d.differences(); len(wrong) > 0 {
		d.t.Fatalf("%s: %d differences:\n%s", when, len(wrong), strings.Join(wrong[:min(len(wrong), 12)], "\n"))
	}
	if a := d.upstream.Audit(); len(a.Unknown) > 0 || a.Anonymous > 0 {
		d.t.Fatalf("%s: %+v", when, a)
	}
}

// forget drops what is gone of a kind for which nothing tells that.
func (d *driver) forget(kind document.Kind) {
	truth := d.upstream.Truth()
	for _, s := range d.file.Streams {
		if d.file.Kind(s) != kind {
			continue
		}
		for _, name := range truth.Gone[s.Name] {
			delete(d.docs, document.Key{Account: 7, Kind: kind, Name: name})
		}
	}
}
