package github

import (
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// graphReader understands what a query's root field holds; unknown is what the
// answer's errors leave open below it.
type graphReader func(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result

// graph reads a GraphQL answer, in which failures come with status 200, and
// hands its root field to read. It is the only way to a reader, so that none
// takes a null for nothing which an error says is unknown.
func graph(field string, read graphReader) func(*Source, *call, *answer) source.Result {
	return func(s *Source, c *call, a *answer) source.Result {
		whole := view(a.body)
		data := whole.Get("data")
		errs := graphErrors(whole.Get("errors"))
		res, failed := s.graphFailure(c, a, field, data.Get(field), errs)
		if !failed {
			res = read(s, c, a, data.Get(field), holes(errs).at(field))
		}
		paid := graphRate(data.Get("rateLimit"))
		paid.Exhausted, paid.RetryAfter, paid.Backoff = res.Quota.Exhausted, res.Quota.RetryAfter, res.Quota.Backoff
		res.Quota = paid
		return res
	}
}

// graphFailure is the meaning of errors that leave nothing to read.
func (s *Source) graphFailure(c *call, a *answer, field string, root gjson.Result, errs []graphError) (source.Result, bool) {
	pathless := false
	for _, e := range errs {
		switch {
		case e.isRateLimit():
			return exhausted(e.message), true
		case strings.Contains(strings.ToLower(e.message), "secondary rate limit"):
			return s.stayAway(retryAfter(a, s.opt.Now()), "a secondary limit", e.message), true
		case e.isSchema():
			return s.withoutGraphQL(c, e.message), true
		}
		c.heavy = c.heavy || e.isHeavy()
		pathless = pathless || len(e.path) == 0
	}
	if root.IsObject() || root.IsArray() {
		if pathless {
			return incomplete(c, a, "something, without saying what", errs), true
		}
		return source.Result{}, false
	}
	for _, e := range holes(errs).at(field) {
		switch {
		case e.isNotFound():
			return s.notFound(c, a), true
		case e.isForbidden() && blockedWords(e.message) && c.p.Repo != nil:
			return confirmed(c, s.serverTime(a), blockedReason), true
		case e.isForbidden():
			return s.forbidden(c, a, e.message), true
		}
	}
	if len(errs) > 0 {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub could not answer the query: %s", errs[0].message)}, true
	}
	if root.Type == gjson.Null && root.Exists() {
		return s.notFound(c, a), true
	}
	return malformed("the query's result is missing"), true
}

// incomplete is an answer that lacks something which cannot be asked for alone.
// Trying again asks for a smaller page, see size.
func incomplete(c *call, a *answer, what string, unknown holes) source.Result {
	if len(unknown) == 0 {
		return malformed(what)
	}
	if e, ok := unknown.forbidden(); ok && unknown.hidden() {
		return c.lacksPermission(a, e.message)
	}
	return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub left out %s: %s", what, unknown[0].message)}
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

// readConnection reads a connection of which the page itself is known; nodes
// within it may be unknown.
func readConnection(v gjson.Result, unknown holes) (connection, bool) {
	total, info := v.Get("totalCount"), v.Get("pageInfo")
	k := connection{total: int(total.Int()), nodes: v.Get("nodes")}
	more := info.Get("hasNextPage")
	if more.Bool() {
		k.after = text(info.Get("endCursor"))
		if k.after == "" {
			return k, false
		}
	}
	known := total.Type == gjson.Number && more.IsBool() && k.nodes.IsArray()
	return k, known && len(unknown.outside("nodes")) == 0
}

// walkOn adds to a result the page that follows; it reports whether there is
// one. counted says that the first page's total tells the number of pages.
func (c *call) walkOn(res *source.Result, k connection, counted bool) bool {
	p := c.p
	if counted && c.p.page() == 1 {
		size := c.size()
		res.Pages = max((k.total+size-1)/size, 1)
		p.Announced = res.Pages
	}
	if k.after == "" {
		return false
	}
	p.After = k.after
	p.First, p.Steady = c.nextSize()
	res.Next = append(res.Next, c.successor(p, p.key(k.after)))
	return true
}
