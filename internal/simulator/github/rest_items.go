package github

import (
	"net/http"
	"strconv"
)

func (c *call) serveIssues(w *renderer, r *repo) {
	if r.issuesDisabled {
		c.fail(http.StatusGone, "Issues are disabled for this repo", "v3/issues/")
		return
	}
	q := itemQuery{issues: true, pulls: true}
	var ok bool
	if q.since, ok = c.instant("since", "Issue"); !ok || !c.states(&q, "Issue") || !c.order(&q, "Issue") {
		return
	}
	list := r.items(q)
	if list.len() > c.server.options.LargeIssues {
		c.serveLargeIssues(w, r, &list)
		return
	}
	start, end := c.paginate(c.page(), list.len(), repoPath(r, "/issues"))
	c.writeIssues(w, r, &list, start, end)
}

// serveLargeIssues pages by cursor: its next link carries one, and a page
// number alone does not reach far.
func (c *call) serveLargeIssues(w *renderer, r *repo, list *itemList) {
	p := c.page()
	start := (p.number - 1) * p.size
	cursor := c.query.Get("after")
	switch {
	case cursor != "":
		key, number, ok := decodeCursor(cursor)
		if !ok {
			c.invalid("Issue", "after")
			return
		}
		start = list.after(itemRef{key: key, number: int(number)})
	case start >= c.server.options.LargeIssues:
		c.fail(http.StatusUnprocessableEntity, "Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)", "rest/issues/issues#list-repository-issues")
		return
	}
	end := min(start+p.size, list.len())
	if end < list.len() {
		last := list.at(end - 1)
		c.link = c.linkTo("next", repoPath(r, "/issues"), map[string]string{
			"after": encodeCursor(last.key, int64(last.number)), "page": strconv.Itoa(p.number + 1),
		})
	}
	c.writeIssues(w, r, list, start, end)
}

func (c *call) writeIssues(w *renderer, r *repo, list *itemList, start, end int) {
	w.open('[')
	for i := start; i < end; i++ {
		w.issue(r.item(list.at(i).number))
	}
	w.close(']')
}

func (c *call) servePulls(w *renderer, r *repo) {
	q := itemQuery{pulls: true}
	if !c.states(&q, "PullRequest") || !c.order(&q, "PullRequest") {
		return
	}
	list := r.items(q)
	start, end := c.paginate(c.page(), list.len(), repoPath(r, "/pulls"))
	w.open('[')
	for i := start; i < end; i++ {
		w.pull(r.item(list.at(i).number))
	}
	w.close(']')
}

// states reads the state parameter; open is the default.
func (c *call) states(q *itemQuery, resource string) bool {
	switch c.query.Get("state") {
	case "", "open":
		q.open = true
	case "closed":
		q.closed, q.merged = true, true
	case "all":
		q.open, q.closed, q.merged = true, true, true
	default:
		c.invalid(resource, "state")
		return false
	}
	return true
}

// order reads sort and direction; the newest first is the default.
func (c *call) order(q *itemQuery, resource string) bool {
	switch c.query.Get("sort") {
	case "", "created":
		q.sort = sortCreated
	case "updated", "long-running":
		q.sort = sortUpdated
	case "comments", "popularity":
		q.sort = sortComments
	default:
		c.invalid(resource, "sort")
		return false
	}
	switch c.query.Get("direction") {
	case "asc":
	case "", "desc":
		q.descending = true
	default:
		c.invalid(resource, "direction")
		return false
	}
	return true
}
