package github

import (
	"net/url"
	"strconv"
	"time"

	"sluice/internal/document"
	"sluice/internal/source"
)

// stream declares something that GitHub lists in REST in the order of changes, and
// from an instant on: the comments of a repository.
//
// A page is not named by its number, which GitHub refuses beyond some, and which
// shifts when something is deleted or changed: each begins at the instant at which the
// one before ended. What changes meanwhile moves ahead and is met again. Only where
// more than a page changed in one second do numbers follow.
//
// A later run asks for what changed since. What was deleted is found by a sweep, which
// is the same walk from the beginning.
type stream struct {
	route
	item reader
}

func (t *stream) operation() operation {
	return operation{endpoint: t.endpoint, request: t.request, read: t.read, list: true}
}

func (t *stream) request(s *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.resize(c.p.URL)}
	}
	q := url.Values{"sort": {"updated"}, "direction": {"asc"}, "per_page": {strconv.Itoa(pageSize)}}
	if since := t.from(s, c); !since.IsZero() {
		q.Set("since", since.Format(time.RFC3339))
	}
	return request{target: c.resize(c.p.Repo.path() + t.path + "?" + q.Encode())}
}

// from is where a page begins.
func (t *stream) from(s *Source, c *call) time.Time {
	switch {
	case c.p.Slice != 0:
		return unix(c.p.Slice)
	case c.Job.Type == t.sweep:
		return time.Time{}
	}
	return s.from(c.walkSince())
}

func (t *stream) read(s *Source, c *call, a *answer) source.Result {
	res, _, last, wrong := t.elements(s, c, a, t.item)
	if wrong != "" {
		return malformed(wrong)
	}
	l := s.linksOf(c, a)
	res.Pages = l.pages
	sweeps := c.Job.Type == t.sweep
	// What changed after the walk's instant comes with the next run, but a sweep must
	// meet everything.
	if l.next != "" && (sweeps || last.Unix() <= c.p.At) {
		p := *c.followed(l, span{})
		p.Prev, p.PrevTag = "", ""
		if last.After(t.from(s, c)) {
			p.URL, p.Slice = "", last.Unix()
		}
		// The cursor may move before the walk ends.
		p.Since = seconds(c.walkSince())
		res.Next = append(res.Next, p.spec(c.Job.Type, c.Job.Resource, p.number(), BucketCore))
		return res
	}
	res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
	if sweeps && c.metAll() {
		res.Absences = append(res.Absences, c.notSeen(t.kind, document.GoneDeleted))
	}
	return res
}
