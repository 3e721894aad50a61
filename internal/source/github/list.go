package github

import (
	"net/url"
	"strconv"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// linked is what a REST page says about the pages around it.
type linked struct {
	// next is the target of the following page, empty on the last.
	next string
	// pages is how many pages there are, known from the first page alone.
	pages int
	// etag names the page as it was read.
	etag string
}

func (s *Source) linksOf(c *call, a *answer) linked {
	header := a.header.Get("Link")
	l := linked{etag: a.header.Get("Etag")}
	if next := linkRel(header, "next"); next != "" {
		l.next, _ = s.targetOf(next)
	}
	if c.p.page() > 1 || c.p.Bridge {
		return l
	}
	l.pages = pageNumber(linkRel(header, "last"))
	if l.next == "" {
		l.pages = 1
	}
	return l
}

// span is what a page holds of a numbered listing: the first, the last and the
// lowest number, zero if not known.
type span struct{ first, last, low int64 }

func (s *span) add(number int64) {
	if s.first == 0 {
		s.first, s.low = number, number
	}
	s.last, s.low = number, min(s.low, number)
}

// goOn adds to a result the page that follows, or, after the last one, what the
// end of the walk proves.
func (c *call) goOn(res *source.Result, l linked, on span) {
	res.Pages = l.pages
	next, wrong := c.following(l, on)
	switch {
	case wrong != "":
		*res = malformed(wrong)
	case next != nil:
		res.Next = append(res.Next, next.spec(c.Job.Type, c.Job.Resource, next.number(), c.Job.Bucket))
	default:
		res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
		c.sweepEnd(res)
		c.lookForUnmet(res)
	}
}

// number names a page of a walk by its number.
func (p *params) number() string {
	switch {
	case p.Bridge:
		return p.key(strconv.Itoa(p.Page) + "~")
	case p.Page < 2:
		return p.key("")
	}
	return p.key(strconv.Itoa(p.Page))
}

// following says with which page a walk goes on, nil after the last.
//
// Numbered pages shift when something on an earlier one is deleted: what was to
// be first on the next page is then last on the one that was read already. So
// whenever a page does not continue the numbers of the one before, that one is
// asked for again, which costs nothing if it is as it was.
func (c *call) following(l linked, on span) (next *params, wrong string) {
	if c.p.Bridge {
		return c.bridged(on)
	}
	if l.next != "" {
		next = c.followed(l, on)
	}
	if c.p.Prev == "" || on.first == 0 || on.first == c.p.Edge+1 {
		return next, ""
	}
	p := c.p
	p.Bridge, p.URL, p.Prev, p.Then, p.First, p.Page = true, c.p.Prev, "", next, 0, c.p.page()
	return &p, ""
}

// bridged goes on after an earlier page was read once more. It must still hold
// something that was on it, or more was deleted than one page can tell of: then
// the walk begins anew.
func (c *call) bridged(on span) (next *params, wrong string) {
	switch {
	case c.p.Then == nil && (c.p.Edge == 0 || on.low <= c.p.Edge):
		return nil, ""
	case c.p.Edge == 0 || on.low <= c.p.Edge:
		p := *c.p.Then
		p.Unmet, p.Partial = c.p.Unmet, p.Partial || c.p.Partial
		return &p, ""
	case c.p.Tag != "":
		return nil, "a listing loses entries faster than it can be read"
	}
	p := params{
		Repo: c.p.Repo, At: c.p.At, Since: c.p.Since, Start: c.p.Start, Changes: c.p.Changes, IDs: c.p.IDs,
		Unmet: c.p.Unmet, Partial: c.p.Partial, Tag: "shrunk",
	}
	return &p, ""
}

// followed is what the job of the next page carries.
func (c *call) followed(l linked, on span) *params {
	p := c.p
	p.URL, p.Moved, p.Page = l.next, false, c.p.page()+1
	p.First, p.Steady = c.nextSize()
	p.Prev, p.PrevTag, p.Edge = "", "", 0
	if numbered(l.next) && l.etag != "" {
		p.Prev, p.PrevTag, p.Edge = c.target, l.etag, on.last
	}
	if l.pages > 0 {
		p.Announced = l.pages
	}
	return &p
}

// numbered reports whether a page is named by its number alone.
func numbered(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Query().Get("after") == "" && u.Query().Get("page") != ""
}

// remember keeps a page for a later conditional call. Only pages of the usual
// size have an address that comes again.
func (c *call) remember(res *source.Result, l linked) {
	if l.etag == "" || c.p.Bridge || c.p.Tag != "" || c.size() != pageSize || c.sweeps() {
		return
	}
	res.Stored = append(res.Stored, domain.Page{
		AccountID: c.Run.AccountID, Key: storedKey(c.Job.Type, c.Job.Resource, c.Job.PageKey),
		ETag: l.etag, Next: l.next, Items: res.Items,
	})
}

// sameList lets the remembered page of a listing stand for a 304.
func sameList(_ *Source, c *call) source.Result {
	res := source.Result{Verdict: source.Done}
	l := linked{}
	if c.Stored != nil && !c.p.Bridge {
		l.next, l.etag = c.Stored.Next, c.Stored.ETag
	}
	c.goOn(&res, l, span{})
	return res
}

// etag is what a conditional call names, empty if there is nothing to refer to.
// The last page of a listing does not tell whether another follows by now, if
// it was full.
func (c *call) etag() string {
	switch {
	case c.p.Bridge:
		return c.p.PrevTag
	case c.Stored == nil || c.sweeps() || c.size() != pageSize || c.Stored.Next == "" && c.Stored.Items >= pageSize && c.Job.Type != UserEvents:
		return ""
	}
	return c.Stored.ETag
}
