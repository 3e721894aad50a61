package github

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

// pullNodesRequest asks for pull requests in one of four ways: a batch by id,
// all of several small repositories, the changed ones newest first (for
// repositories without an issues listing to learn them from), or all of one
// repository by creation.
func pullNodesRequest(s *Source, c *call) request {
	q := s.queriesOf(c)
	if len(c.p.Repos) > 0 {
		first, labels := c.p.packPage()
		return graphqlRequest(q.pullsOfMany, map[string]any{"ids": nodesOf(c.p.Repos), "first": first, "labels": labels})
	}
	if len(c.p.IDs) > 0 {
		return graphqlRequest(q.pullsByID, map[string]any{"ids": c.batch()})
	}
	query := q.pulls
	if c.changedPulls() {
		query = q.pullsChanged
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After), "first": c.size()})
}

// changedPulls reports whether the walk asks for changes alone.
func (c *call) changedPulls() bool { return !c.sweeps() && !c.walkSince().IsZero() }

func (c *call) batch() []string { return c.p.IDs[:min(len(c.p.IDs), c.size())] }

func readPullNodes(s *Source, c *call, a *answer) source.Result {
	switch {
	case len(c.p.Repos) > 0:
		return graph("nodes", readPullPack)(s, c, a)
	case len(c.p.IDs) > 0:
		return graph("nodes", readPullBatch)(s, c, a)
	case c.changedPulls():
		return graph("node", readChangedPulls)(s, c, a)
	}
	return graph("node", readAllPulls)(s, c, a)
}

func readAllPulls(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	return readPullWalk(s, c, a, root, unknown, time.Time{})
}

// readChangedPulls stops at the first pull request that is older than the
// cursor. One that changes during the walk moves ahead of it; its new state is
// past the anchor and comes with the next run.
func readChangedPulls(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	return readPullWalk(s, c, a, root, unknown, s.from(c.walkSince()))
}

// readPullWalk reads one page of pull requests. Those that are known only in
// part are fetched by their ids before the walk goes on.
func readPullWalk(s *Source, c *call, a *answer, root gjson.Result, unknown holes, from time.Time) source.Result {
	unknown = unknown.at("pullRequests")
	k, ok := readConnection(root.Get("pullRequests"), unknown)
	if !ok {
		return incomplete(c, a, "a list of pull requests", unknown)
	}
	res := pageOf(a)
	var partly []string
	at := -1
	_, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		at++
		doc, node, end, wrong := c.pullNode(a.body, i)
		switch {
		case len(unknown.at("nodes", strconv.Itoa(at))) > 0 && node != "" && end >= 0:
			partly = append(partly, node)
			return end, ""
		case wrong == "" && doc.UpdatedAt.Before(from):
			k.after = ""
			return end, ""
		}
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(c, a, wrong, unknown)
	}
	res.Items = len(res.Documents)
	if !from.IsZero() {
		c.p.Since = seconds(c.walkSince())
	}
	more := c.walkOn(&res, k, from.IsZero())
	switch {
	case len(partly) > 0:
		c.fetchFirst(&res, partly)
	case !more:
		c.endPulls(&res, c.Job.Type)
	}
	return res
}

// fetchFirst puts a batch of pull requests before the page that a walk was to
// go on with.
func (c *call) fetchFirst(res *source.Result, ids []string) {
	var then *params
	if last := len(res.Next) - 1; last >= 0 {
		p, err := parseParams(res.Next[last].Params)
		if err != nil {
			*res = malformed("a page cannot be continued")
			return
		}
		then, res.Next = &p, res.Next[:last]
	}
	p := params{Repo: c.p.Repo, At: c.p.At, Start: c.p.Start, IDs: ids, Then: then, Page: c.p.page(), Tag: c.p.Tag, Of: c.Job.Type,
		Plain: c.p.Plain, Partial: c.p.Partial}
	spec := p.spec(RepoPulls, c.Job.Resource, p.key("ids:"+c.Job.Type+":"+ids[0]), BucketGraphQL)
	res.Next = append(res.Next, spec)
}

// endPulls ends a walk over pull requests.
func (c *call) endPulls(res *source.Result, walk string) {
	one := *c
	one.Job.Type = walk
	res.Cursors = append(res.Cursors, one.cursorOf(walk, BucketGraphQL))
	one.sweepEnd(res)
}

// readPullBatch reads pull requests by id. What is not there any more is left
// out, as is what the token may not see, which is not gone; what GitHub failed to give is asked for once more, by a job of its own
// within the chain.
func readPullBatch(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	asked := c.batch()
	var missing []string
	res := pageOf(a)
	at := -1
	n, wrong := eachNode(a.body, root, func(i int) (int, string) {
		at++
		here := unknown.node("", at)
		doc, _, end, wrong := c.pullNode(a.body, i)
		switch {
		case end < 0 || at >= len(asked):
			return end, wrong
		case isNull(a.body, i) && here.hidden():
			if _, there := here.forbidden(); there {
				c.p.Partial = true
			}
			return end, ""
		case isNull(a.body, i) || len(here) > 0:
			missing = append(missing, asked[at])
			return end, ""
		}
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(c, a, wrong, unknown)
	}
	if n != len(asked) {
		return malformed("a batch of pull requests has another size than was asked for")
	}
	if len(missing) > 0 && c.p.Again {
		return incomplete(c, a, "a batch of pull requests", unknown)
	}
	res.Items = len(res.Documents)
	rest := slices.Clone(c.p.IDs[len(asked):])
	if len(missing) == 0 {
		c.goOnWithPulls(&res, rest, c.p.Then)
		return res
	}
	p := c.p
	p.IDs, p.Again = slices.Concat(missing, rest), true
	spec := p.spec(RepoPulls, c.Job.Resource, c.Job.PageKey+"#again", c.Job.Bucket)
	spec.Expected = 1
	res.Next = append(res.Next, spec)
	return res
}

func (c *call) pullNode(body []byte, i int) (doc document.Document, node string, end int, wrong string) {
	var id int64
	measures := 0
	end = members(body, i, func(name string, v gjson.Result) {
		ownPull(&doc.Fields, name, v)
		switch name {
		case "id":
			node = text(v)
		case "databaseId":
			id = v.Int()
		case "number":
			doc.Number = v.Int()
		case "title":
			doc.Title = text(v)
		case "state":
			doc.State = pullState(text(v))
		case "author":
			doc.Author = login(v)
		case "mergedBy":
			doc.ClosedBy = login(v)
		case "additions":
			doc.Additions, measures = v.Int(), measures+number(v)
		case "deletions":
			doc.Deletions, measures = v.Int(), measures+number(v)
		default:
			graphTimes(&doc.Fields, name, v)
		}
	})
	if end >= 0 {
		doc.Raw = body[i:end:end]
	}
	doc.Measured = measures == 2
	doc, wrong = c.pull(doc, id)
	return doc, node, end, wrong
}

func graphTimes(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "createdAt":
		f.CreatedAt = when(v)
	case "updatedAt":
		f.UpdatedAt = when(v)
	case "closedAt":
		f.ClosedAt = when(v)
	case "mergedAt":
		f.MergedAt = when(v)
	}
}

// pullState says a state as REST does: a merged pull request is closed, and has
// the time of its merge.
func pullState(state string) string {
	if state == "OPEN" {
		return "open"
	}
	return "closed"
}

func (c *call) pull(doc document.Document, id int64) (document.Document, string) {
	if doc.Raw == nil || id == 0 || doc.Number == 0 || doc.UpdatedAt.IsZero() {
		return doc, "a pull request is cut off or has no id, no number or no time"
	}
	c.inherit(&doc.Fields)
	doc.Key = c.key(KindPull, formatID(id))
	doc.Version = doc.UpdatedAt
	if doc.Measured {
		// Like a commit: REST's listing, which does not measure, must not take
		// away what GraphQL's told.
		doc.Version = doc.Version.Add(time.Second)
	}
	return doc, ""
}

func pullsRequest(_ *Source, c *call) request {
	target := c.p.URL
	if target == "" {
		q := url.Values{"state": {"all"}, "sort": {"created"}, "direction": {"asc"}, "per_page": {strconv.Itoa(pageSize)}}
		target = c.p.Repo.path() + "/pulls?" + q.Encode()
	}
	return request{target: c.resize(target), etag: c.etag()}
}

func readPulls(s *Source, c *call, a *answer) source.Result {
	res := pageOf(a)
	var on span
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, end, wrong := c.restPull(a.body, i)
		on.add(doc.Number)
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return malformed(wrong)
	}
	res.Items = n
	l := s.linksOf(c, a)
	c.remember(&res, l)
	c.goOn(&res, l, on)
	return res
}

func (c *call) restPull(body []byte, i int) (doc document.Document, end int, wrong string) {
	var id int64
	end = members(body, i, func(name string, v gjson.Result) {
		ownPull(&doc.Fields, name, v)
		if name == "id" {
			id = v.Int()
		} else {
			c.thread(&doc, name, v)
		}
	})
	if end >= 0 {
		doc.Raw = body[i:end:end]
	}
	doc, wrong = c.pull(doc, id)
	return doc, end, wrong
}

func headline(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return strings.Clone(line)
}
