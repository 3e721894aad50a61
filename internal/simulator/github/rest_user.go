package github

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const pollInterval = "60"

func (c *call) serveRateLimit(w *renderer) {
	limits := c.server.limits
	entry := func(name string, b bucket) {
		left := limits.balance(c.owner, b, c.now)
		w.key(name).open('{')
		w.key("limit").int(int64(left.limit))
		w.key("used").int(int64(left.used))
		w.key("remaining").int(int64(left.remaining()))
		w.key("reset").int(left.reset)
		w.key("resource").join(b.String())
		w.close('}')
	}
	w.open('{')
	w.key("resources").open('{')
	for b := range buckets {
		entry(b.String(), b)
	}
	w.close('}')
	entry("rate", bucketCore)
	w.close('}')
}

func (c *call) serveViewer(w *renderer) {
	if c.viewer < 0 {
		c.fail(http.StatusUnauthorized, "Requires authentication", "rest/users/users#get-the-authenticated-user")
		return
	}
	if c.installation != nil {
		c.fail(http.StatusForbidden, "Resource not accessible by integration", "rest/users/users#get-the-authenticated-user")
		return
	}
	w.account(c.viewer, true)
}

func (c *call) serveAccount(w *renderer) {
	a, ok := w.world.accountByID(c.route.userID)
	if c.route.login != "" {
		a, ok = w.world.accountByLogin(c.route.login)
	}
	if !ok {
		c.notFound()
		return
	}
	switch c.route.endpoint {
	case endpointEvents:
		c.serveEvents(w, a)
	case endpointUserRepos:
		c.serveUserRepos(w, a)
	default:
		w.account(a, a == c.viewer && c.installation == nil)
	}
}

func userPath(a int, tail string) string {
	return "/user/" + strconv.FormatInt(accountIDBase+int64(a), 10) + tail
}

// serveEvents shows the newest 300 events; those of private repositories only
// to the account itself.
func (c *call) serveEvents(w *renderer, a int) {
	p := c.page()
	if (p.number-1)*p.size >= maxEvents {
		c.fail(http.StatusUnprocessableEntity, "In order to keep the API fast for everyone, pagination is limited for this resource.", "rest/activity/events")
		return
	}
	visible := w.world.visibleEvents(a, c.viewer, latest)
	start, end := c.paginate(p, len(visible), userPath(a, "/events"))
	if !c.server.options.NoPollInterval {
		c.writer.Header()["X-Poll-Interval"] = []string{pollInterval}
	}
	w.open('[')
	for _, e := range visible[start:end] {
		w.event(e)
	}
	w.close(']')
}

func (w *world) visibleEvents(a, viewer int, at int64) []event {
	var out []event
	for n := w.eventCount(a, at) - 1; n >= 0 && len(out) < maxEvents; n-- {
		e := w.event(a, n)
		if r, ok := w.repoByID(e.repo); ok && (!r.private || viewer == a) {
			out = append(out, e)
		}
	}
	return out
}

// serveUserRepos lists what the caller may see; the owner sees private ones too,
// so that this listing and GraphQL's agree.
func (c *call) serveUserRepos(w *renderer, a int) {
	repos := w.world.ownedRepos(a, c.viewer)
	key := repoSortKey(c.query.Get("sort"))
	descending := c.query.Get("sort") != "" && c.query.Get("sort") != "full_name"
	switch c.query.Get("direction") {
	case "asc":
		descending = false
	case "desc":
		descending = true
	}
	slices.SortFunc(repos, func(x, y *repo) int {
		order := key(x, y)
		if order == 0 {
			order = cmp64(x.id, y.id)
		}
		if descending {
			return -order
		}
		return order
	})
	start, end := c.paginate(c.page(), len(repos), userPath(a, "/repos"))
	w.open('[')
	for _, r := range repos[start:end] {
		w.repo(r)
	}
	w.close(']')
}

func repoSortKey(name string) func(x, y *repo) int {
	switch name {
	case "created":
		return func(x, y *repo) int { return cmp64(x.created, y.created) }
	case "updated":
		return func(x, y *repo) int { return cmp64(x.updated, y.updated) }
	case "pushed":
		return func(x, y *repo) int { return cmp64(x.pushed, y.pushed) }
	default:
		return func(x, y *repo) int { return strings.Compare(x.name, y.name) }
	}
}
