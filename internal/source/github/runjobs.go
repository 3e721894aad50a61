package github

import (
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// children declares something that REST lists for one element of a feed at a time, and
// for no more at once: the jobs of a run. Each element that is new or changed gets a
// call.
//
// The calls for a page come between that page and the next, one after the other: the
// walk ends when all of them are done, and its cursors move then. An element whose
// children are refused is passed over, and asked for again by the next walk.
type children struct {
	route
	// tail follows the id of the element in the path of the feed.
	tail string
	item reader
}

var (
	runJobs = children{tail: "/jobs", item: runJobElement.read, route: route{typ: RunJobs, kind: KindRunJob, bucket: BucketCore, child: true,
		endpoint: "GET /repositories/{id}/actions/runs/{id}/jobs", wrap: "jobs", query: "filter=all&"}}

	runJobElement = element{kind: KindRunJob, identity: "id", own: ownRunJob, fields: runJobFields}
)

func runJobKind() document.Declaration {
	return document.Declaration{Kind: KindRunJob, Source: Name, Plural: "workflow_jobs", Doc: "the jobs of runs of workflows; each run takes a call",
		Columns: table(document.TypeInteger, repositoryIDColumn, repositoryColumn, ownNumber("run_id", "", "the id of its run"),
			ownNumber("attempt", "", "the attempt of the run that it is part of"),
			document.Column{Name: "name", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "its name"},
			document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "queued, in_progress, completed …"},
			repeated(ownText("conclusion", "success, failure, cancelled, skipped …; null until it is completed")),
			repeated(ownText("runner", "what ran it")), createdAtColumn,
			ownColumn("started_at", document.TypeInstant, "when it began"), ownColumn("completed_at", document.TypeInstant, "when it ended; null until then"), urlColumn),
		Read: fromPayload(ownRunJob)}
}

func runJobFields(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "name":
		f.Title = text(v)
	case "status":
		f.State = text(v)
	case "run_id":
		f.Number = v.Int() // by which it goes with its run
	}
}

func ownRunJob(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "run_id":
		setInteger(f, name, v)
	case "run_attempt":
		setInteger(f, "attempt", v)
	case "conclusion":
		setText(f, name, v)
	case "runner_name":
		setText(f, "runner", v)
	case "started_at", "completed_at":
		setInstant(f, name, v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func (k *children) operation() operation {
	return operation{endpoint: k.endpoint, request: k.request, read: k.read}
}

func (k *children) request(_ *Source, c *call) request { return request{target: c.resize(c.p.URL)} }

func (k *children) read(s *Source, c *call, a *answer) source.Result {
	res, _, _, wrong := k.elements(s, c, a, k.item)
	if wrong != "" {
		return malformed(wrong)
	}
	if l := s.linksOf(c, a); l.next != "" {
		p := *c.followed(l, span{})
		p.Prev, p.PrevTag, p.Again = "", "", false
		res.Next = append(res.Next, p.spec(k.typ, c.Job.Resource, c.Job.PageKey+"+", BucketCore))
		return res
	}
	k.goOn(c, c.p.IDs, false, &res)
	return res
}

// passOver goes on after a refusal: its element was deleted meanwhile, or cannot be seen
// now. After the second in a row the others of the page are left to the next walk.
func (k *children) passOver(c *call) source.Result {
	res := source.Result{Verdict: source.Done, Pages: 1}
	left := c.p.IDs
	if c.p.Again {
		left = nil
	}
	if c.p.Then != nil {
		c.p.Then.Lacks = true
	}
	k.goOn(c, left, true, &res)
	return res
}

// goOn leads to the children of the next element, or back to the walk.
func (k *children) goOn(c *call, left []string, refused bool, res *source.Result) {
	of, ok := walkFor(c.p.Of)
	f, is := of.(*feed)
	if !ok || !is || c.p.Then == nil {
		return // a job of an earlier version, which stands by itself
	}
	if len(left) == 0 {
		f.goOn(c, c.p.Of, c.p.Then, res)
		return
	}
	p := params{Repo: c.p.Repo, At: c.p.At, Start: c.p.Start, IDs: left[1:], Then: c.p.Then, Of: c.p.Of, Again: refused}
	res.Next = append(res.Next, k.call(c, f, left[0], &p))
}

// call is the job that asks for the children of an element.
func (k *children) call(c *call, f *feed, name string, p *params) domain.JobSpec {
	p.URL = p.Repo.path() + f.path + "/" + name + k.tail + "?" + k.query + "per_page=" + strconv.Itoa(pageSize)
	// Pages shift: an element may be met again on the next one.
	key := p.Then.key(p.Of + ":" + strconv.Itoa(p.Then.Page) + ":" + name)
	spec := p.spec(k.typ, c.Job.Resource, key, BucketCore)
	spec.Expected = 1 + len(p.IDs)
	return spec
}

// runs is the resource whose elements have jobs.
const runs = "workflow_runs"

// wanted reports whether the jobs of runs are asked for: the runs are then, too.
func (k *children) wanted(opt *Options) bool { return slices.Contains(opt.Resources, "workflow_jobs") }

// since is up to when the children of all elements are stored.
func (k *children) since(c *call) time.Time {
	return c.Cursors[c.opt.cursorKey(k.typ, k.bucket, c.Job.Resource)].Truncate(time.Second)
}

// first leads to the children of those elements of a page of a feed that changed since
// they were last asked for; then is where the walk goes on. It reports whether there are
// any. A sweep meets everything, and asks for what changed since the last sweep.
func (k *children) first(s *Source, c *call, f *feed, then *params, res *source.Result) bool {
	from := s.from(k.since(c))
	if c.Job.Type == f.sweep {
		from = s.from(c.Cursors[c.opt.cursorKey(f.sweep, f.bucket, c.Job.Resource)])
	}
	var names []string
	for i := range res.Documents {
		if doc := &res.Documents[i]; !doc.UpdatedAt.Before(from) {
			names = append(names, doc.Name)
		}
	}
	if len(names) == 0 {
		return false
	}
	p := params{Repo: c.p.Repo, At: c.p.At, Start: c.p.Start, IDs: names[1:], Then: then, Of: c.Job.Type}
	res.Next = append(res.Next, k.call(c, f, names[0], &p))
	return true
}
