package github

import (
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
}

func (s *Source) linksOf(c *call, a *answer) linked {
	header := a.header.Get("Link")
	var l linked
	if next := linkRel(header, "next"); next != "" {
		l.next, _ = s.targetOf(next)
	}
	if c.p.page() > 1 {
		return l
	}
	l.pages = pageNumber(linkRel(header, "last"))
	if l.next == "" {
		l.pages = 1
	}
	return l
}

// goOn adds to a result the page that follows, or, after the last one, the
// cursor of the resource.
func (c *call) goOn(res *source.Result, l linked) {
	res.Pages = l.pages
	if l.next == "" {
		res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
		return
	}
	res.Next = append(res.Next, c.successor(c.followed(l), strconv.Itoa(c.p.page()+1)))
}

// followed is what the job of the next page carries.
func (c *call) followed(l linked) params {
	p := c.p
	p.URL, p.Moved = l.next, false
	if l.pages > 0 {
		p.Announced = l.pages
	}
	return p
}

// remember keeps a page for a later conditional call.
func (c *call) remember(res *source.Result, a *answer, l linked) {
	etag := a.header.Get("Etag")
	if etag == "" {
		return
	}
	res.Stored = append(res.Stored, domain.Page{
		AccountID: c.Run.AccountID, Key: storedKey(c.Job.Type, c.Job.Resource, c.Job.PageKey),
		ETag: etag, Next: l.next, Items: res.Items,
	})
}

// sameList lets the remembered page of a listing stand for a 304.
func sameList(_ *Source, c *call) source.Result {
	res := source.Result{Verdict: source.Done}
	c.goOn(&res, linked{next: c.Stored.Next})
	return res
}

// etag is what a conditional call names, empty if there is nothing to refer to.
func (c *call) etag() string {
	if c.Stored == nil {
		return ""
	}
	return c.Stored.ETag
}
