package github

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// feed declares something that GitHub lists in REST newest first, without a way to ask
// from an instant on: the runs of workflows.
//
// A later run reads until it meets a page on which everything is older than the
// cursor; its first page is asked for by its ETag, which is free while there is nothing
// new. What is added meanwhile moves the others back, where they are met again. What
// changed farther back, and what was deleted, is found by a sweep, which reads
// everything.
type feed struct {
	route
	item reader
	// perPage is the size of its pages, zero for the usual one.
	perPage int
	// children is what each of its elements has, nil if that is nothing.
	children *children
}

// feeds tells whether the job is one of a feed.
func (c *call) feeds() bool {
	w, ok := walkFor(c.Job.Type)
	if !ok {
		return false
	}
	_, ok = w.(*feed)
	return ok
}

func (f *feed) operation() operation {
	return operation{endpoint: f.endpoint, request: f.request, read: f.read, on304: f.same, list: f.wrap == ""}
}

func (f *feed) request(_ *Source, c *call) request {
	target := c.p.URL
	if target == "" {
		target = c.p.Repo.path() + f.path + "?" + f.query + "per_page=" + strconv.Itoa(cmp.Or(f.perPage, pageSize))
	}
	if f.perPage == 0 {
		target = c.resize(target)
	}
	r := request{target: target}
	if c.p.page() == 1 && c.Job.Type == f.typ && c.Stored != nil && c.Job.Failures == 0 && !f.owesChildren(c) {
		r.etag = c.Stored.ETag
	}
	return r
}

// same ends a walk over a list whose newest page is as it was when a walk ended.
func (f *feed) same(_ *Source, c *call) source.Result {
	return source.Result{Verdict: source.Done, Pages: 1, Cursors: f.moved(c, c.Job.Type, false)}
}

func (f *feed) read(s *Source, c *call, a *answer) source.Result {
	res, total, newest, wrong := f.elements(s, c, a, f.item)
	if wrong != "" {
		return malformed(wrong)
	}
	l := s.linksOf(c, a)
	since, sweeps := f.since(c), c.Job.Type == f.sweep
	if sweeps || since.IsZero() {
		res.Pages = l.pages
	}
	if c.p.page() == 1 {
		c.p.PrevTag, c.p.Total = l.etag, int(total)
	}
	p := *c.followed(l, span{})
	// The cursor may move before the walk ends.
	p.Prev, p.PrevTag, p.Met, p.Since = "", c.p.PrevTag, c.p.Met+res.Items, seconds(since)
	if sweeps {
		p.Since = 0
	}
	if p.Total != int(total) {
		p.Total = changing
	}
	if !sweeps && !since.IsZero() && newest.Before(s.from(since)) && allDated(res.Documents) {
		p.URL = "" // the rest is known
	}
	if f.children != nil && f.children.wanted(c.opt) && f.children.first(s, c, f, &p, &res) {
		return res
	}
	f.goOn(c, c.Job.Type, &p, &res)
	return res
}

// changing stands for the length of a list that differs between its pages.
const changing = untoldTotal

// allDated reports whether each of the documents has a time: one without may be new.
func allDated(docs []document.Document) bool {
	return !slices.ContainsFunc(docs, func(d document.Document) bool { return d.CreatedAt.IsZero() && d.UpdatedAt.IsZero() })
}

// since is how far a walk reads back: to its cursor, or to that of its elements'
// children if those were left behind.
func (f *feed) since(c *call) time.Time {
	since := c.walkSince()
	if f.owesChildren(c) && f.children.since(c).Before(since) {
		return f.children.since(c)
	}
	return since
}

// owesChildren tells whether an earlier walk left children behind.
func (f *feed) owesChildren(c *call) bool {
	return f.children != nil && f.children.wanted(c.opt) && f.children.since(c).Before(c.Since.Truncate(time.Second))
}

// goOn leads to the next page of the walk, or ends it.
func (f *feed) goOn(c *call, typ string, p *params, res *source.Result) {
	if p.URL != "" {
		res.Next = append(res.Next, p.spec(typ, c.Job.Resource, p.number(), BucketCore))
		return
	}
	f.end(c, typ, p, res)
}

// end says what the end of a walk proves. Pages shift when something before them is
// deleted, and what was to be first on the next page is then not met: only a list of
// which as many were met as there are tells that others are gone.
func (f *feed) end(c *call, typ string, p *params, res *source.Result) {
	res.Cursors = append(res.Cursors, f.moved(c, typ, p.Lacks)...)
	if typ == f.sweep {
		if f.wrap != "" && p.Met == p.Total && p.Start != 0 && !p.Partial {
			res.Absences = append(res.Absences, c.notSeen(f.kind, document.GoneDeleted))
			if f.children != nil && f.children.wanted(c.opt) {
				with := c.goneWith(f.children.kind, f.kind)
				with.Named = true
				res.Absences = append(res.Absences, with)
			}
		}
		return
	}
	if p.PrevTag != "" && p.Tag == "" {
		res.Stored = append(res.Stored, domain.Page{
			AccountID: c.Run.AccountID, Key: storedKey(f.typ, c.Job.Resource, ""), ETag: p.PrevTag, Items: p.Met,
		})
	}
}

// moved are the cursors that the end of a walk moves. One that lacks children leaves the
// children's cursor where it is, and a sweep its own: the next one asks for them again.
func (f *feed) moved(c *call, typ string, lacks bool) []domain.Cursor {
	switch {
	case f.children == nil || !f.children.wanted(c.opt):
		return []domain.Cursor{c.cursor(typ)}
	case typ == f.sweep && lacks:
		return nil
	case typ == f.sweep || lacks:
		return []domain.Cursor{c.cursor(typ)}
	}
	return []domain.Cursor{c.cursor(typ), c.cursor(f.children.typ)}
}
