package github

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// pullNodesRequest asks for pull requests in one of four ways: a batch by id,
// all of several small repositories, the changed ones newest first (for
// repositories without an issues listing to learn them from), or all of one
// repository by creation.
func pullNodesRequest(s *Source, c *call) request {
	if len(c.p.Repos) > 0 {
		return graphqlRequest(s.queries.pullsOfMany, map[string]any{"ids": nodesOf(c.p.Repos)})
	}
	if len(c.p.IDs) > 0 {
		return graphqlRequest(s.queries.pullsByID, map[string]any{"ids": c.batch()})
	}
	query := s.queries.pulls
	if !c.walkSince().IsZero() {
		query = s.queries.pullsChanged
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After)})
}

func (c *call) batch() []string { return c.p.IDs[:min(len(c.p.IDs), pageSize)] }

func readPullNodes(s *Source, c *call, a *answer) source.Result {
	switch {
	case len(c.p.Repos) > 0:
		return graph("nodes", readPullPack)(s, c, a)
	case len(c.p.IDs) > 0:
		return graph("nodes", readPullBatch)(s, c, a)
	case !c.walkSince().IsZero():
		return graph("node", readChangedPulls)(s, c, a)
	}
	return graph("node", readAllPulls)(s, c, a)
}

func readAllPulls(s *Source, c *call, a *answer, root gjson.Result, errs []graphError) source.Result {
	k, ok := readConnection(root.Get("pullRequests"))
	if !ok {
		return incomplete("a list of pull requests", errs)
	}
	res := pageOf(a)
	n, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		doc, end, wrong := c.pullNode(a.body, i)
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(wrong, errs)
	}
	res.Items = n
	if !c.walkOn(&res, k, true) {
		res.Cursors = append(res.Cursors, c.cursor(RepoPulls))
	}
	return res
}

// readChangedPulls stops at the first pull request that is older than the
// cursor. One that changes during the walk moves ahead of it; its new state is
// past the anchor and comes with the next run.
func readChangedPulls(s *Source, c *call, a *answer, root gjson.Result, errs []graphError) source.Result {
	k, ok := readConnection(root.Get("pullRequests"))
	if !ok {
		return incomplete("a list of pull requests", errs)
	}
	from := s.from(c.walkSince())
	res := pageOf(a)
	_, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		doc, end, wrong := c.pullNode(a.body, i)
		if wrong == "" && doc.UpdatedAt.Before(from) {
			k.after = ""
			return end, ""
		}
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(wrong, errs)
	}
	res.Items = len(res.Documents)
	c.p.Since = seconds(c.walkSince())
	if !c.walkOn(&res, k, false) {
		res.Cursors = append(res.Cursors, c.cursor(RepoPulls))
	}
	return res
}

// readPullBatch reads pull requests by id. What is not there any more is left
// out; what GitHub failed to give is asked for once more, by a job of its own
// within the chain.
func readPullBatch(s *Source, c *call, a *answer, root gjson.Result, errs []graphError) source.Result {
	asked := c.batch()
	lost := hopeless(errs)
	var missing []string
	res := pageOf(a)
	at := -1
	n, wrong := eachNode(a.body, root, func(i int) (int, string) {
		at++
		if isNull(a.body, i) {
			if at < len(asked) && !lost[at] && len(errs) > 0 {
				missing = append(missing, asked[at])
			}
			return checkValue(a.body, i, 0), ""
		}
		doc, end, wrong := c.pullNode(a.body, i)
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(wrong, errs)
	}
	if n != len(asked) {
		return malformed("a batch of pull requests has another size than was asked for")
	}
	if len(missing) > 0 && c.p.Again {
		return incomplete("a batch of pull requests", errs)
	}
	res.Items = len(res.Documents)
	rest := c.p.IDs[len(asked):]
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

// hopeless lists the positions in a batch that asking again cannot fill.
func hopeless(errs []graphError) map[int]bool {
	lost := map[int]bool{}
	for _, e := range errs {
		if path := e.path.Array(); len(path) >= 2 && (e.isNotFound() || e.isForbidden()) {
			lost[int(path[1].Int())] = true
		}
	}
	return lost
}

// incomplete is an answer that lacks something which cannot be asked for alone.
func incomplete(what string, errs []graphError) source.Result {
	if len(errs) == 0 {
		return malformed(what)
	}
	return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub left out %s: %s", what, errs[0].message)}
}

func (c *call) pullNode(body []byte, i int) (doc document.Document, end int, wrong string) {
	var id int64
	measures := 0
	end = members(body, i, func(name string, v gjson.Result) {
		switch name {
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
	return doc, end, wrong
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
	if doc.Raw == nil || id == 0 || doc.UpdatedAt.IsZero() {
		return doc, "a pull request is cut off or has no id or no time"
	}
	c.inherit(&doc.Fields)
	doc.Key = c.key(document.KindPull, formatID(id))
	doc.Version = doc.UpdatedAt
	return doc, ""
}

func pullsRequest(_ *Source, c *call) request {
	target := c.p.URL
	if target == "" {
		q := url.Values{"state": {"all"}, "sort": {"created"}, "direction": {"asc"}, "per_page": {strconv.Itoa(pageSize)}}
		target = c.p.Repo.path() + "/pulls?" + q.Encode()
	}
	return request{target: target, etag: c.etag()}
}

func readPulls(s *Source, c *call, a *answer) source.Result {
	res := pageOf(a)
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, end, wrong := c.restPull(a.body, i)
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return malformed(wrong)
	}
	res.Items = n
	l := s.linksOf(c, a)
	c.remember(&res, a, l)
	c.goOn(&res, l)
	return res
}

func (c *call) restPull(body []byte, i int) (doc document.Document, end int, wrong string) {
	var id int64
	end = members(body, i, func(name string, v gjson.Result) {
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
