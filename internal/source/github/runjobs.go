package github

import (
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

// children declares something that REST lists for one element of a feed at a time, and
// for no more at once: the jobs of a run. Each element that is new or changed gets a
// call.
type children struct {
	route
	// tail follows the id of the element in the path of the feed.
	tail string
	item reader
}

var (
	runJobs = children{tail: "/jobs", item: runJobElement.read, route: route{typ: RunJobs, kind: KindRunJob, bucket: BucketCore, child: true,
		endpoint: "GET /repositories/{id}/actions/runs/{id}/jobs", wrap: "jobs", mayHide: true}}

	runJobElement = element{kind: KindRunJob, identity: "id", own: ownRunJob, fields: runJobFields}
)

func runJobKind() document.Declaration {
	return document.Declaration{Kind: KindRunJob, Source: Name, Plural: "workflow_jobs", Doc: "the jobs of runs of workflows; each run takes a call",
		Columns: table(document.TypeInteger, repositoryIDColumn, repositoryColumn, ownNumber("run_id", "", "the id of its run"),
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
	}
}

func ownRunJob(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "run_id":
		setInteger(f, name, v)
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
		p.Prev, p.PrevTag = "", ""
		res.Next = append(res.Next, p.spec(k.typ, c.Job.Resource, c.Job.PageKey+"+", BucketCore))
	}
	return res
}

// runs is the resource whose elements have jobs.
const runs = "workflow_runs"

// wanted reports whether the jobs of runs are asked for: the runs are then, too.
func (k *children) wanted(opt *Options) bool { return slices.Contains(opt.Resources, "workflow_jobs") }

// of adds the calls for those elements of a page of a feed that changed since the last
// collection. An element that changes again is asked for again.
func (k *children) of(c *call, path string, res *source.Result, from time.Time) {
	for i := range res.Documents {
		doc := &res.Documents[i]
		if doc.UpdatedAt.Before(from) {
			continue
		}
		target := c.p.Repo.path() + path + "/" + doc.Name + k.tail + "?per_page=" + strconv.Itoa(pageSize)
		p := params{Repo: c.p.Repo, At: c.p.At, URL: target}
		res.Next = append(res.Next, p.spec(k.typ, c.Job.Resource, doc.Name+":"+strconv.FormatInt(doc.UpdatedAt.Unix(), 36), BucketCore))
	}
}
