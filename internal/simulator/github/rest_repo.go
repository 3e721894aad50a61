package github

import (
	"net/http"
	"strconv"
	"time"
)

func (c *call) serveRepo(w *renderer) {
	r, ok := c.findRepo(w)
	if !ok {
		return
	}
	if c.heavyListing(r) {
		return
	}
	if l := listingAt(c.route.endpoint); l != nil {
		c.serveParts(w, r, l)
		return
	}
	if c.serveDays(w, r) || c.serveRunJobs(w, r) {
		return
	}
	switch c.route.endpoint {
	case endpointCommits:
		c.serveCommits(w, r)
	case endpointCommit:
		c.serveCommit(w, r)
	case endpointIssues:
		c.serveIssues(w, r)
	case endpointPulls:
		c.servePulls(w, r)
	case endpointIssue, endpointPull:
		c.serveItem(w, r)
	default:
		w.repo(r)
	}
}

// findRepo resolves the repository a request names; when it cannot be served it
// makes the answer itself.
func (c *call) findRepo(w *renderer) (*repo, bool) {
	r, ok := w.world.repoByID(c.route.repoID)
	if c.route.name != "" {
		r, ok = w.world.repoByName(c.route.login, c.route.name)
	}
	if !ok || !r.visibleTo(c.viewer) {
		c.notFound()
		return nil, false
	}
	if c.route.name != "" && !r.called(c.route.login, c.route.name) {
		c.redirect(r)
		return nil, false
	}
	if r.blocked() {
		c.status = http.StatusUnavailableForLegalReasons
		c.out.raw(`{"message":"Repository access blocked","block":{"reason":"dmca","created_at":"`)
		blocked, _ := r.overlay.gone.at(latest)
		c.out.b = appendTime(c.out.b, blocked.from)
		c.out.raw(`","html_url":"https://github.example.com/notices"}}`)
		return nil, false
	}
	return r, true
}

func (c *call) redirect(r *repo) {
	target := c.base + repoPath(r, c.route.tail)
	if c.req.URL.RawQuery != "" {
		target += "?" + c.req.URL.RawQuery
	}
	c.status = http.StatusMovedPermanently
	c.writer.Header().Set("Location", target)
	c.out.open('{')
	c.out.key("message").join("Moved Permanently")
	c.out.key("url").str(target)
	c.out.key("documentation_url").join(docs, "rest/guides/best-practices-for-using-the-rest-api#follow-redirects")
	c.out.close('}')
}

func repoPath(r *repo, tail string) string {
	return "/repositories/" + strconv.FormatInt(r.id, 10) + tail
}

// instant reads a time parameter; an unreadable one makes the answer 422.
func (c *call) instant(name, resource string) (unix int64, ok bool) {
	value := c.query.Get(name)
	if value == "" {
		return 0, true
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		c.invalid(resource, name)
		return 0, false
	}
	return t.Unix(), true
}

func (c *call) serveCommits(w *renderer, r *repo) {
	if r.empty() {
		c.fail(http.StatusConflict, "Git Repository is empty.", "rest/commits/commits#list-commits")
		return
	}
	since, okSince := c.instant("since", "Commit")
	until, okUntil := c.instant("until", "Commit")
	if !okSince || !okUntil {
		return
	}
	filter := commitFilter{since: since, until: until, author: c.query.Get("author")}
	if ref := c.query.Get("sha"); ref != "" {
		head, ok := r.resolve(ref)
		if !ok {
			c.notFound()
			return
		}
		filter.start = head + 1
	}
	list := w.world.commitRange(r, filter)
	start, end := c.paginate(c.page(), list.count, repoPath(r, "/commits"))
	w.open('[')
	for k := start; k < end; k++ {
		w.commit(w.world.commit(r, list.at(k)))
	}
	w.close(']')
}

// resolve finds the commit a branch or sha names. One that a force push took
// off the branch can still be had by its sha, as on GitHub.
func (r *repo) resolve(ref string) (serial int, ok bool) {
	switch ref {
	case "main", "HEAD", "heads/main", "refs/heads/main":
		if r.empty() {
			return 0, false
		}
		return r.head(), true
	}
	i, ok := commitIndex(r.key, ref)
	return i, ok && i < r.serials()
}

func (c *call) serveCommit(w *renderer, r *repo) {
	if r.empty() {
		c.fail(http.StatusConflict, "Git Repository is empty.", "rest/commits/commits#get-a-commit")
		return
	}
	index, ok := r.resolve(c.route.arg)
	if !ok {
		c.fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.route.arg, "rest/commits/commits#get-a-commit")
		return
	}
	found := w.world.commit(r, index)
	p := c.page()
	if found.files > filesPerPage {
		p.size = filesPerPage
		c.paginate(p, min(found.files, maxFiles), repoPath(r, "/commits/"+found.sha))
	}
	w.commitDetail(found, p.number)
}

func (c *call) serveItem(w *renderer, r *repo) {
	number, err := strconv.Atoi(c.route.arg)
	if err == nil && r.removedItem(number) {
		c.fail(http.StatusGone, "This issue was deleted", "rest/issues/issues#get-an-issue")
		return
	}
	it, ok := r.findItem(number)
	switch {
	case err != nil || !ok || c.route.endpoint == endpointPull && !it.pull:
		c.notFound()
	case c.route.endpoint == endpointPull:
		w.pull(it)
		w.pullStatistics(&it)
	default:
		w.issue(it)
	}
}

// pullStatistics adds to a pull request what only its own page shows.
func (w *renderer) pullStatistics(it *item) {
	w.b = w.b[:len(w.b)-1]
	commits, additions, deletions, files := it.changes()
	w.key("merged").bool(it.merged != 0)
	w.key("comments").int(it.comments())
	w.key("commits").int(commits)
	w.key("additions").int(additions)
	w.key("deletions").int(deletions)
	w.key("changed_files").int(files)
	w.close('}')
}
