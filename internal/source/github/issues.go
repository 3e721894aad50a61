package github

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

func (r *repoRef) path() string { return "/repositories/" + formatID(r.ID) }

// issuesRequest lists issues by creation, the one order that changes cannot
// disturb. In a walk for changes a page is never asked for conditionally: a
// remembered page would not name the pull requests to fetch.
func issuesRequest(s *Source, c *call) request {
	etag := c.etag()
	if c.p.Changes && !c.p.Bridge {
		etag = ""
	}
	if c.p.URL != "" {
		return request{target: c.resize(c.p.URL), etag: etag}
	}
	q := url.Values{
		"state": {"all"}, "sort": {"created"}, "direction": {"asc"}, "per_page": {strconv.Itoa(pageSize)},
	}
	if since := s.from(c.walkSince()); !since.IsZero() && !c.sweeps() {
		q.Set("since", since.Format(time.RFC3339))
	}
	return request{target: c.resize(c.p.Repo.path() + "/issues?" + q.Encode()), etag: etag}
}

// walkSince is what a walk is bounded by: what an earlier job said, or the
// cursor of the job's own resource.
func (c *call) walkSince() time.Time {
	if c.p.Since != 0 {
		return unix(c.p.Since)
	}
	return c.Since
}

// from is where a walk bounded by a cursor begins.
func (s *Source) from(cursor time.Time) time.Time {
	if cursor.IsZero() {
		return cursor
	}
	return cursor.Add(-s.opt.Overlap).UTC().Truncate(time.Second)
}

func readIssues(s *Source, c *call, a *answer) source.Result {
	res := pageOf(a)
	pulls := slices.Clone(c.p.IDs)
	var on span
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, node, end, wrong := c.issue(a.body, i)
		on.add(doc.Number)
		if node != "" {
			pulls = append(pulls, node)
		} else {
			s.fit(&doc)
			res.Documents = append(res.Documents, doc)
		}
		return end, wrong
	})
	if wrong != "" {
		return malformed(wrong)
	}
	res.Items = n
	l := s.linksOf(c, a)
	if !c.p.Changes {
		c.remember(&res, l)
		c.goOn(&res, l, on)
		return res
	}
	then, wrong := c.following(l, on)
	if wrong != "" {
		return malformed(wrong)
	}
	res.Pages = l.pages
	c.goOnWithPulls(&res, pulls, then)
	return res
}

// sameIssues lets the remembered page stand for a 304. In a walk for changes
// that is a page which was read before: what it named is fetched already.
func sameIssues(s *Source, c *call) source.Result {
	if !c.p.Changes {
		return sameList(s, c)
	}
	res := source.Result{Verdict: source.Done}
	c.goOnWithPulls(&res, slices.Clone(c.p.IDs), c.p.Then)
	return res
}

// issue reads one member of the issues listing. For a pull request, which is
// listed too, it returns the node id alone.
func (c *call) issue(body []byte, i int) (doc document.Document, pullNode string, end int, wrong string) {
	var id int64
	var node string
	pull := false
	end = members(body, i, func(name string, v gjson.Result) {
		ownIssue(&doc.Fields, name, v)
		switch name {
		case "id":
			id = v.Int()
		case "node_id":
			node = text(v)
		case "pull_request":
			pull = v.IsObject()
		case "closed_by":
			doc.ClosedBy = login(v)
		default:
			c.thread(&doc, name, v)
		}
	})
	switch {
	case end < 0 || id == 0 || doc.Number == 0 || pull && node == "":
		return doc, "", end, "an issue is cut off or has no id"
	case pull:
		return doc, node, end, ""
	case doc.UpdatedAt.IsZero():
		return doc, "", end, "an issue has no time"
	}
	c.inherit(&doc.Fields)
	doc.Key = c.key(KindIssue, formatID(id))
	doc.Raw, doc.Version = body[i:end:end], doc.UpdatedAt
	return doc, "", end, ""
}

// thread reads a member that issues and pull requests have alike in REST.
func (c *call) thread(doc *document.Document, name string, v gjson.Result) {
	switch name {
	case "number":
		doc.Number = v.Int()
	case "title":
		doc.Title = text(v)
	case "state":
		doc.State = text(v)
	case "user":
		doc.Author = login(v)
	case "created_at":
		doc.CreatedAt = when(v)
	case "updated_at":
		doc.UpdatedAt = when(v)
	case "closed_at":
		doc.ClosedAt = when(v)
	case "merged_at":
		doc.MergedAt = when(v)
	}
}

// goOnWithPulls continues a walk for changes: with a batch of the pull requests
// met so far once it is full or nothing else is left, else with the next page
// of issues. All of it is one chain, so that the cursors of both resources,
// which move at its end, never pass a batch that failed.
func (c *call) goOnWithPulls(res *source.Result, pulls []string, then *params) {
	switch {
	case c.p.Alone:
	case len(pulls) >= pageSize || len(pulls) > 0 && (then == nil || c.p.Of != ""):
		p := params{Repo: c.p.Repo, At: c.p.At, Start: c.p.Start, IDs: pulls, Then: then, Page: c.p.page(), Tag: c.p.Tag, Of: c.p.Of,
			Plain: c.p.Plain, Partial: c.p.Partial}
		key := p.key("ids:" + strconv.Itoa(c.p.page()) + ":" + pulls[0] + ":" + strconv.Itoa(len(pulls)))
		spec := p.spec(RepoPulls, c.Job.Resource, key, BucketGraphQL)
		spec.Expected = 1
		if then != nil {
			spec.Expected += then.left()
		}
		res.Next = append(res.Next, spec)
	case then != nil:
		p := *then
		p.IDs, p.Partial = pulls, p.Partial || c.p.Partial
		if c.p.Of != "" {
			res.Next = append(res.Next, p.spec(c.p.Of, c.Job.Resource, p.key(p.After), BucketGraphQL))
			return
		}
		res.Next = append(res.Next, p.spec(RepoIssues, c.Job.Resource, p.number(), BucketCore))
	case c.p.Of != "":
		c.endPulls(res, c.p.Of)
	default:
		res.Cursors = append(res.Cursors, c.cursor(RepoIssues), c.cursorOf(RepoPulls, BucketGraphQL))
	}
}
