package github

import (
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// graphError is one member of a GraphQL answer's errors.
type graphError struct {
	kind, message string
	path          gjson.Result
}

// isNotFound reports whether the thing asked for is not there.
func (e graphError) isNotFound() bool { return e.kind == "NOT_FOUND" }

// isForbidden reports whether asking again with the same token is pointless.
func (e graphError) isForbidden() bool {
	return e.kind == "FORBIDDEN" || e.kind == "INSUFFICIENT_SCOPES"
}

func (e graphError) isRateLimit() bool {
	return e.kind == "RATE_LIMITED" || e.kind == "RATE_LIMIT"
}

// graphReader understands what a query's root field holds. errs is not empty
// when parts are missing.
type graphReader func(s *Source, c *call, a *answer, root gjson.Result, errs []graphError) source.Result

// graph reads a GraphQL answer, in which failures come with status 200, and
// hands its root field to read.
func graph(field string, read graphReader) func(*Source, *call, *answer) source.Result {
	return func(s *Source, c *call, a *answer) source.Result {
		whole := view(a.body)
		data := whole.Get("data")
		errs := graphErrors(whole.Get("errors"))
		res, failed := s.graphFailure(c, a, data.Get(field), errs)
		if !failed {
			res = read(s, c, a, data.Get(field), errs)
		}
		paid := graphRate(data.Get("rateLimit"))
		paid.Exhausted, paid.RetryAfter = res.Quota.Exhausted, res.Quota.RetryAfter
		res.Quota = paid
		return res
	}
}

func graphErrors(list gjson.Result) []graphError {
	var errs []graphError
	list.ForEach(func(_, e gjson.Result) bool {
		errs = append(errs, graphError{kind: e.Get("type").String(), message: shorten(e.Get("message").String(), 200), path: e.Get("path")})
		return true
	})
	return errs
}

// graphFailure is the meaning of errors that leave nothing to read.
func (s *Source) graphFailure(c *call, a *answer, root gjson.Result, errs []graphError) (source.Result, bool) {
	for _, e := range errs {
		switch {
		case e.isRateLimit():
			return exhausted(e.message), true
		case strings.Contains(strings.ToLower(e.message), "secondary rate limit"):
			return s.stayAway(retryAfter(a, s.opt.Now()), "a secondary limit", e.message), true
		}
	}
	if root.IsObject() || root.IsArray() {
		return source.Result{}, false
	}
	for _, e := range errs {
		switch {
		case e.isNotFound():
			return notFound(c), true
		case e.isForbidden():
			return forbidden(c, a, e.message), true
		}
	}
	if len(errs) > 0 {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub could not answer the query: %s", errs[0].message)}, true
	}
	if root.Type == gjson.Null && root.Exists() {
		return notFound(c), true
	}
	return malformed("the query's result is missing"), true
}

// graphRate is what the query really cost.
func graphRate(v gjson.Result) quota.Response {
	if !v.IsObject() {
		return quota.Response{}
	}
	r := quota.Response{
		Known: true, Cost: int(v.Get("cost").Int()), Limit: int(v.Get("limit").Int()),
		Remaining: int(v.Get("remaining").Int()), Reset: when(v.Get("resetAt")),
	}
	if r.Reset.IsZero() || r.Limit == 0 {
		return quota.Response{Cost: r.Cost}
	}
	return r
}

// connection is one page of a GraphQL connection.
type connection struct {
	total int
	after string // cursor of the next page, empty on the last
	nodes gjson.Result
}

func readConnection(v gjson.Result) (connection, bool) {
	k := connection{total: int(v.Get("totalCount").Int()), nodes: v.Get("nodes")}
	info := v.Get("pageInfo")
	if info.Get("hasNextPage").Bool() {
		k.after = text(info.Get("endCursor"))
		if k.after == "" {
			return k, false
		}
	}
	return k, k.nodes.IsArray() && info.IsObject()
}

// pages is how many pages hold the connection.
func (k connection) pages() int { return max((k.total+pageSize-1)/pageSize, 1) }

// walkOn adds to a result the page that follows; it reports whether there is
// one. counted says that the first page's total tells the number of pages.
func (c *call) walkOn(res *source.Result, k connection, counted bool) bool {
	p := c.p
	if counted && c.p.page() == 1 {
		res.Pages = k.pages()
		p.Announced = res.Pages
	}
	if k.after == "" {
		return false
	}
	p.After = k.after
	res.Next = append(res.Next, c.successor(p, c.pageKeyOf(k.after)))
	return true
}

// pageKeyOf names the page behind a cursor. A second walk of the same resource
// in a run keeps its pages apart from the first.
func (c *call) pageKeyOf(after string) string {
	if c.p.Full {
		return "full:" + after
	}
	return after
}
