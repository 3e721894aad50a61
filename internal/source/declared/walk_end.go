package declared

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// cursorAt is a cursor of the address of now.
func (c *call) cursorAt(key string, at int64) domain.Cursor {
	return domain.Cursor{AccountID: c.Run.AccountID, Resource: c.mark + key, At: unix(at)}
}

// complete is the end of a walk whose pages followed one another.
func (c walk) complete(res *source.Result) {
	c.keepHead(res)
	if c.p.Until != 0 {
		slicing{c}.sliced(res)
		return
	}
	res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(c.Job.Type, c.Job.Resource), c.p.At))
	if !c.listingWalk() || c.p.Doubt || c.stream.latest {
		return
	}
	if c.stream.sweep != nil && c.mode == modeMain {
		res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(jobType(c.stream, modeSweep), c.Job.Resource), c.p.At))
	}
	start := unix(c.p.Start)
	res.Absences = append(res.Absences, leaving(c).absence(c.stream, c.Job.Resource, start, start))
	for _, path := range c.p.Unmet {
		leaving(c).goneRecord(res, c.stream, path, c.ended)
	}
}

// leaving is a call that finds that something is gone.
type leaving struct{ *call }

// absence is of what belongs to a resource and was not seen since an instant.
func (c leaving) absence(of *Stream, resource string, since, unseen time.Time) document.Absence {
	return document.Absence{
		Account: c.Run.AccountID, Repository: c.s.container(resource), Kind: c.s.file.Kind(of), Why: document.GoneDeleted, Since: since, NotSeenSince: unseen,
	}
}

// goneRecord lets everything that belongs to a record go with it, also what was shown
// while it was found out. What was still under way then may come later, so that the next
// walk says it once more.
func (c leaving) goneRecord(res *source.Result, of *Stream, path string, at time.Time) {
	if gone := c.Cursors[goneMark+" "+path]; gone.IsZero() || c.Cursors[listedMark+" "+path].After(gone) {
		res.Cursors = append(res.Cursors, c.cursorAt(goneMark+" "+path, at.Unix()))
	}
	for _, child := range of.Children {
		res.Absences = append(res.Absences, c.absence(child, path, at, at.Add(time.Microsecond)))
		if len(child.Children) == 0 {
			continue
		}
		for _, below := range c.listed(path, child) {
			c.goneRecord(res, child, below, at)
		}
	}
}

// listed are the records of a stream, below a resource, that walks have had and that were
// not found gone since, or by the last walk alone.
func (c leaving) listed(resource string, of *Stream) []string {
	prefix := listedMark + " " + recordPath(resource, of.Name, "")
	last := c.lastWalk()
	var all []string
	for key, at := range c.Cursors {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || strings.Contains(name, "/") {
			continue
		}
		path := strings.TrimPrefix(key, listedMark+" ")
		if gone := c.Cursors[goneMark+" "+path]; !gone.After(at) || !gone.Before(last) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// lastWalk is the instant that the last complete walk of the job's kind stands for.
func (c leaving) lastWalk() time.Time {
	if at := c.Cursors[cursorKey(c.Job.Type, c.Job.Resource)]; !at.IsZero() {
		return at
	}
	return c.Run.Anchor
}

// unmet are the records that the walk should meet, where others belong to them.
func (c walk) unmet() []string {
	if len(c.stream.Children) == 0 || !c.listingWalk() {
		return nil
	}
	return leaving(c).listed(c.Job.Resource, c.stream)
}

// unchanged lets a page that is as it was stand for itself.
func (c walk) unchanged() source.Result {
	c.p.Looked = false
	// Whether it is free is not known: most upstreams count it.
	res := source.Result{Verdict: source.Done}
	if c.Stored == nil || c.tag == "" {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "%s says that a page did not change which it was not asked about", c.s.file.Title)}
	}
	res.Items = c.Stored.Items
	if c.Stored.Next == "" {
		if c.request.page.endsByHeader() {
			last := c.p
			last.Tag = endTag
			res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, last, domain.ClassWalk))
			return res
		}
		res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(c.Job.Type, c.Job.Resource), c.p.At))
		return res
	}
	next := c.p
	next.Page, next.Pos, next.Total = c.p.Page+1, c.Stored.Next, 0
	res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
	return res
}

// endTag marks the last page of a walk in which nothing changed, asked for once more
// without a tag.
const endTag = "end"

// stillTheEnd is the answer to whether there is a page behind the last one now.
func (c walk) stillTheEnd(f follow, items int) source.Result {
	res := source.Result{Verdict: source.Done, Items: items}
	if f.pos == "" {
		res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(c.Job.Type, c.Job.Resource), c.p.At))
		return res
	}
	c.p.Tag = ""
	res.Next = append(res.Next, c.anew("whole"))
	return res
}

// remember keeps a page's tag, so that a later run can ask whether it changed. The first
// page's is kept when the walk has come to its end: one that did not is made again as a
// whole, as pages that did not change show nothing that is gone.
func (c walk) remember(a *answer, res *source.Result, f follow, items int) {
	if !c.stream.etag || c.mode != modeMain {
		return
	}
	tag := a.header.Get("Etag")
	if len(tag) > 500 || c.left > 0 || c.first() && f.pos == "" && c.request.page.endsByHeader() {
		tag = ""
	}
	if c.first() && tag != "" {
		c.p.Head, tag = &head{tag, f.pos, items}, ""
		if f.pos == "" && f.lacks == "" {
			return
		}
	}
	if tag != "" {
		tag = c.mark + tag
	} else if f.pos == "" && c.Stored == nil && c.p.Tag == "" {
		return
	}
	res.Stored = append(res.Stored, pageOf(c.call, c.p.Page, tag, f.pos, items))
}

// keepHead remembers the first page of a walk that has come to its end.
func (c walk) keepHead(res *source.Result) {
	if h := c.p.Head; h != nil {
		res.Stored = append(slices.DeleteFunc(res.Stored, func(p domain.Page) bool { return p.Key == storedKey(c.Job.Type, c.Job.Resource, 0) }),
			pageOf(c.call, 0, c.mark+h.Tag, h.Next, h.Items))
	}
}

// pageOf is a page as it is remembered; one without a tag is forgotten.
func pageOf(c *call, page int, tag, next string, items int) domain.Page {
	return domain.Page{AccountID: c.Run.AccountID, Key: storedKey(c.Job.Type, c.Job.Resource, page), ETag: tag, Next: next, Items: items}
}
