package github

import (
	"net/http"
	"strconv"
	"strings"
)

// What is told by the day: how often a repository was looked at and cloned within a
// fortnight, and how many starred it since it exists.

const (
	day  = int64(86400)
	week = 7 * day
	// fortnight is how many days traffic is told of.
	fortnight = 14
	// starWeeks is how many weeks a page of the history of stars has at most.
	starWeeks = 30
)

// The listings by the day.
const (
	endpointViews     = "traffic_views"
	endpointClones    = "traffic_clones"
	endpointPaths     = "traffic_paths"
	endpointReferrers = "traffic_referrers"
	endpointStars     = "star_history"
)

func dayRoute(tail string) string {
	switch tail {
	case "traffic/views":
		return endpointViews
	case "traffic/clones":
		return endpointClones
	case "traffic/popular/paths":
		return endpointPaths
	case "traffic/popular/referrers":
		return endpointReferrers
	case "stargazers/history":
		return endpointStars
	}
	return ""
}

// visits is how often and by how many a repository was visited on a day.
func (r *repo) visits(what string, at int64) (count, uniques int64) {
	k := derive(r.key, kindPart, uint64(at/day)<<8|uint64(len(what)))
	count = int64(k % 50)
	return count, (count + 1) / 2
}

// serveDays answers what is told by the day; false for other endpoints.
func (c *call) serveDays(w *renderer, r *repo) bool {
	now := c.server.now().Unix()
	switch c.route.endpoint {
	case endpointStars:
		c.serveStars(w, r, now)
		return true
	case endpointViews, endpointClones, endpointPaths, endpointReferrers:
	default:
		return false
	}
	if c.viewer != r.account && !r.world.isMember(r.account, c.viewer) {
		c.fail(http.StatusForbidden, "Must have push access to repository", "rest/metrics/traffic")
		return true
	}
	switch c.route.endpoint {
	case endpointPaths:
		w.popular(r, now, "path", "/"+r.fullName())
	case endpointReferrers:
		w.popular(r, now, "referrer", "search.example.com")
	case endpointViews:
		w.traffic(r, now, "views")
	default:
		w.traffic(r, now, "clones")
	}
	return true
}

func (w *renderer) traffic(r *repo, now int64, what string) {
	count, uniques := int64(0), int64(0)
	w.open('{')
	w.key(what).open('[')
	for _, at := range days(now) {
		n, u := r.visits(what, at)
		count, uniques = count+n, uniques+u
		w.open('{')
		w.key("timestamp").time(at)
		w.key("count").int(n)
		w.key("uniques").int(u)
		w.close('}')
	}
	w.close(']')
	w.key("count").int(count)
	w.key("uniques").int(uniques)
	w.close('}')
}

// days are the days that traffic is told of, the oldest first.
func days(now int64) []int64 {
	out := make([]int64, 0, fortnight)
	for i := int64(fortnight - 1); i >= 0; i-- {
		out = append(out, now/day*day-i*day)
	}
	return out
}

func (w *renderer) popular(r *repo, now int64, member, most string) {
	n, u := r.visits(member, now)
	w.open('[')
	for i := range 3 {
		w.open('{')
		w.key(member).join(most, strconv.Itoa(i))
		if member == "path" {
			w.key("title").str("Page " + strconv.Itoa(i))
		}
		w.key("count").int(n + 3 - int64(i))
		w.key("uniques").int(u + 1)
		w.close('}')
	}
	w.close(']')
}

// starsOf is how many starred a repository in a week, and on each of its days.
func (r *repo) starsOf(at int64) (total int64, days [7]int64) {
	for i := range days {
		days[i] = int64(derive(r.key, kindPart, uint64(at+int64(i))|1<<50) % 4)
		total += days[i]
	}
	return total, days
}

// weeks are those of a repository's history, the newest first.
func (r *repo) weeks(now int64) []int64 {
	var out []int64
	for at := now / week * week; at > r.created-week; at -= week {
		out = append(out, at)
	}
	return out
}

func (c *call) serveStars(w *renderer, r *repo, now int64) {
	p := c.page()
	p.size = min(p.size, starWeeks)
	list := r.weeks(now)
	start, end := c.paginate(p, len(list), repoPath(r, c.route.tail))
	w.open('[')
	for _, at := range list[start:end] {
		total, days := r.starsOf(at)
		w.open('{')
		w.key("week").int(at)
		w.key("total").int(total)
		text := make([]string, len(days))
		for i, n := range days {
			text[i] = strconv.FormatInt(n, 10)
		}
		w.key("days").raw("[" + strings.Join(text, ",") + "]")
		w.close('}')
	}
	w.close(']')
}
