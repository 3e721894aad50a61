package github

import (
	"cmp"
	"strconv"

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
	if c.p.page() == 1 && c.Job.Type == f.typ && c.Stored != nil && c.Job.Failures == 0 {
		r.etag = c.Stored.ETag
	}
	return r
}

// same ends a walk over a list whose newest page is as it was when a walk ended.
func (f *feed) same(_ *Source, c *call) source.Result {
	return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(f.typ)}}
}

func (f *feed) read(s *Source, c *call, a *answer) source.Result {
	res, total, newest, wrong := f.elements(s, c, a, f.item)
	if wrong != "" {
		return malformed(wrong)
	}
	l := s.linksOf(c, a)
	since, sweeps := c.walkSince(), c.Job.Type == f.sweep
	if sweeps || since.IsZero() {
		res.Pages = l.pages
	}
	if c.p.page() == 1 {
		c.p.PrevTag, c.p.Total = l.etag, int(total)
	}
	if f.children != nil && f.children.wanted(c.opt) {
		// A sweep meets everything, and asks for what changed since the last collection.
		f.children.of(c, f.path, &res, s.from(c.Cursors[c.opt.cursorKey(f.typ, f.bucket, c.Job.Resource)]))
	}
	met := c.p.Met + res.Items
	if l.next != "" && (sweeps || since.IsZero() || !newest.Before(s.from(since))) {
		p := *c.followed(l, span{})
		// The cursor may move before the walk ends.
		p.Prev, p.PrevTag, p.Met, p.Since = "", c.p.PrevTag, met, seconds(since)
		if sweeps {
			p.Since = 0
		}
		res.Next = append(res.Next, p.spec(c.Job.Type, c.Job.Resource, p.number(), BucketCore))
		return res
	}
	f.end(c, &res, met, int(total))
	return res
}

// end says what the end of a walk proves. Pages shift when something before them is
// deleted, and what was to be first on the next page is then not met: only a list of
// which as many were met as there are tells that others are gone.
func (f *feed) end(c *call, res *source.Result, met, total int) {
	res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
	if c.Job.Type == f.sweep {
		if f.wrap != "" && met == total && c.p.Total == total && c.p.Start != 0 {
			res.Absences = append(res.Absences, c.notSeen(f.kind, document.GoneDeleted))
		}
		return
	}
	if c.p.PrevTag != "" && c.p.Tag == "" {
		res.Stored = append(res.Stored, domain.Page{
			AccountID: c.Run.AccountID, Key: storedKey(f.typ, c.Job.Resource, ""), ETag: c.p.PrevTag, Items: met,
		})
	}
}
