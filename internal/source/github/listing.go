package github

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// listing declares something that GitHub lists in REST and that is read as a whole:
// the members of an organisation, the labels of a repository.
//
// Nothing tells what changed in such a list. Its pages are asked for conditionally,
// which is free while all are as they were. As soon as one is not, the list is read
// from its beginning to its end without conditions, and what was not on it is gone.
type listing struct {
	route
	item reader
	// perPage is the size of its pages, zero for the usual one.
	perPage int
	// lasting says that what is not listed any more is not gone: the list shows the last
	// days alone.
	lasting bool
}

func (l *listing) operation() operation {
	return operation{endpoint: l.endpoint, request: l.request, read: l.read, on304: l.same, list: l.wrap == ""}
}

// The walks of a listing that begin anew: since one of its pages changed behind
// others that had not, and since an earlier page changed while it was read.
const (
	wholeTag   = "whole"
	shiftedTag = "shifted"
)

func (l *listing) request(_ *Source, c *call) request {
	target := c.p.URL
	if target == "" {
		base := "/orgs/" + c.Run.Login
		if c.p.Repo != nil {
			base = c.p.Repo.path()
		}
		target = base + l.path + "?" + l.query + "per_page=" + strconv.Itoa(cmp.Or(l.perPage, pageSize))
	}
	if l.perPage == 0 {
		target = c.resize(target)
	}
	return request{target: target, etag: c.etag()}
}

// read reads a page that changed, or that was asked for without conditions.
func (l *listing) read(s *Source, c *call, a *answer) source.Result {
	res, _, _, wrong := l.elements(s, c, a, l.item)
	if wrong != "" {
		return malformed(wrong)
	}
	switch {
	case c.p.Bridge:
		// The page before this one changed since it was read: what stood first on
		// this one may stand on that one now.
		return l.again(c, res, shiftedTag)
	case c.p.page() > 1 && !c.p.Full:
		return l.again(c, res, wholeTag)
	}
	c.meetViewer(&res)
	links := s.linksOf(c, a)
	l.remember(c, &res, links)
	res.Pages = links.pages
	var next *params
	if links.next != "" {
		next = c.followed(links, span{})
		next.Full = true
	}
	if c.p.Prev == "" || c.p.page() == 1 {
		l.goOn(c, &res, next)
		return res
	}
	bridge := c.p
	bridge.Bridge, bridge.URL, bridge.Prev, bridge.Then, bridge.First, bridge.Page = true, c.p.Prev, "", next, 0, c.p.page()
	res.Next = append(res.Next, bridge.spec(l.typ, c.Job.Resource, bridge.number(), BucketCore))
	return res
}

// meetViewer notes that the list has the user whose token it was asked for with: a member
// of an organisation, who sees concealed members, is on it.
func (c *call) meetViewer(res *source.Result) {
	own := formatID(c.p.Viewer)
	if slices.ContainsFunc(res.Documents, func(d document.Document) bool { return d.Name == own }) {
		c.p.Viewer = 0
	}
}

// again reads the whole list once more, from its beginning.
func (l *listing) again(c *call, res source.Result, tag string) source.Result {
	if strings.Count(c.p.Tag, shiftedTag) >= lastTry {
		return malformed("a listing changes faster than it can be read")
	}
	p := params{Repo: c.p.Repo, Org: c.p.Org, At: c.p.At, Told: c.p.Told, Partial: c.p.Partial, Viewer: c.p.Viewer, Tag: strings.TrimPrefix(c.p.Tag+"."+tag, ".")}
	res.Next = append(res.Next, p.spec(l.typ, c.Job.Resource, p.key(""), BucketCore))
	return res
}

// goOn goes on with the page that follows, or says what the end of the list proves.
func (l *listing) goOn(c *call, res *source.Result, next *params) {
	if next != nil {
		res.Next = append(res.Next, next.spec(l.typ, c.Job.Resource, next.number(), BucketCore))
		return
	}
	res.Cursors = append(res.Cursors, c.cursor(l.typ))
	if l.lasting || !c.metAll() || !c.p.Full && c.p.page() > 1 {
		return
	}
	start := unix(c.p.Start)
	res.Absences = append(res.Absences, document.Absence{
		Account: c.Run.AccountID, Repository: c.container(), Kind: l.kind, Why: document.GoneDeleted, Since: start, NotSeenSince: start,
	})
}

// same lets a page that is as it was stand for itself.
func (l *listing) same(_ *Source, c *call) source.Result {
	res := source.Result{Verdict: source.Done}
	if c.p.Bridge {
		one := *c
		one.p.Bridge = false
		l.goOn(&one, &res, c.p.Then)
		return res
	}
	if c.Stored != nil && c.Stored.Next != "" {
		p := c.p
		p.URL, p.Moved, p.Page = c.Stored.Next, false, c.p.page()+1
		res.Next = append(res.Next, p.spec(l.typ, c.Job.Resource, p.number(), BucketCore))
		return res
	}
	res.Cursors = append(res.Cursors, c.cursor(l.typ))
	return res
}

// remember keeps a page for a later run, under the name that it has there. A walk that
// began anew keeps none: what it found missing may have been seen in the same second,
// which only a later walk can tell apart. Nor does one at another address, which is not
// asked first.
func (l *listing) remember(c *call, res *source.Result, links linked) {
	if links.etag == "" || c.p.Partial || c.p.Tag != "" && !byEvent(c.p.Tag) || c.size() != pageSize || c.p.First != 0 {
		return
	}
	plain := params{Page: c.p.Page}
	res.Stored = append(res.Stored, domain.Page{
		AccountID: c.Run.AccountID, Key: storedKey(l.typ, c.Job.Resource, plain.number()), ETag: links.etag, Next: links.next, Items: res.Items,
	})
}

// container is what documents belong to: a repository, or an organisation, whose id
// is told apart from those of repositories by its sign.
func (c *call) container() int64 {
	if c.p.Repo != nil {
		return c.p.Repo.ID
	}
	return -c.p.Org
}
