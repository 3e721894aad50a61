package declared

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// A walk reads a stream page by page. Its first page settles what it asks since and
// the instant that it stands for. Only a walk whose pages follow one another knows
// that it came to its end: there the cursor moves, and what was not met is gone. If
// the first page tells how many there are, a first collection plans all pages at once;
// later ones go page by page, which is where absences are found.

// walk is a call that reads a page of one.
type walk struct{ *call }

// since is the instant that the walk asks for changes since, zero if it reads
// everything: in seconds.
func (c walk) since() int64 {
	if c.mode == modeSweep || c.stream.listing() {
		return 0
	}
	last := c.Cursors[cursorKey(c.Job.Type, c.Job.Resource)]
	if c.mode == modeAll && last.IsZero() {
		last = c.earliestFirst()
	}
	if c.mode == modeMain {
		if last.IsZero() {
			last = c.apartDone(c.Job.Type, c.Job.Resource)
		}
		if (belonging{c.call}).lost(c.stream, c.Job.Resource, last) {
			return 0
		}
	}
	if c.stream.window > 0 {
		last = slicing{c}.reached(last)
	}
	if last.IsZero() {
		return 0
	}
	return last.Unix()
}

// earliestFirst is the earliest instant up to which any parent's first collection is
// complete: where a walk over all of them begins.
func (c walk) earliestFirst() (earliest time.Time) {
	prefix := cursorKey(jobType(c.stream, modeMain), c.stream.Parent.Name+":")
	for key, at := range c.Cursors {
		if strings.HasPrefix(key, prefix) && (earliest.IsZero() || at.Before(earliest)) {
			earliest = at
		}
	}
	return earliest
}

// apartDone is the instant of a first collection whose pages were all planned at
// once, if every one of them was stored. Each leaves a mark that says of how many it
// is one.
func (c walk) apartDone(typ, resource string) time.Time {
	prefix := cursorKey(typ, resource) + " page "
	met := map[string]int{}
	earliest := map[string]time.Time{}
	for key, at := range c.Cursors {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		_, of, _ := strings.Cut(rest, "/")
		met[of]++
		if e := earliest[of]; e.IsZero() || at.Before(e) {
			earliest[of] = at
		}
	}
	for of, n := range met {
		if strconv.Itoa(n) == of {
			return earliest[of]
		}
	}
	return time.Time{}
}

// answered settles, with a walk's first page, the instant that it stands for: the
// run's, or the upstream's clock where ours is ahead of it.
func (c walk) answered(a *answer) {
	if c.p.Start == 0 {
		c.p.Start = c.s.serverTime(a).Unix()
	}
	if c.p.At != 0 {
		return
	}
	at := c.Run.Anchor
	if !a.date.IsZero() && a.date.Before(at) {
		at = a.date
	}
	c.p.At = at.Unix()
}

func (c walk) readPage(a *answer) source.Result {
	c.p.Looked = false
	if !a.json.Exists() {
		return c.malformed(a, "")
	}
	all, wrong := c.records(a)
	if wrong != "" {
		return c.malformed(a, "%s", wrong)
	}
	return c.walked(a, all)
}

// walked is a page that was read.
func (c walk) walked(a *answer, all []record) source.Result {
	res := source.Result{Verdict: source.Done, Items: len(all)}
	f := c.follow(a, all, c.shown(a, all))
	if f.wrong != "" {
		return c.failed(f.wrong)
	}
	if c.left > 0 {
		// It may be one of those that are stored: what is not met is not gone.
		c.p.Doubt = true
		res.Next = append(res.Next, c.unread())
	}
	res.Pages = f.pages
	for i := range all {
		res.Documents = append(res.Documents, all[i].doc)
	}
	if !c.first() && c.stream.etag && !c.p.Full && !c.p.Apart && c.listingWalk() {
		// Pages before this one were as they were, and show no records: the walk begins
		// anew, and reads them all.
		res.Next = append(res.Next, c.anew("whole"))
		return res
	}
	if f.total >= 0 && c.p.Total > 0 && f.total != c.p.Total-1 {
		if strings.Count(c.p.Tag, shiftedTag) < mostShifts {
			c.children(&res, all)
			res.Next = append(res.Next, c.anew(shiftedTag))
			return res
		}
		// What changes all the time is read as well as it can be.
		c.p.Doubt, c.p.Total = true, 0
	}
	if c.first() {
		c.p.Unmet = c.unmet()
		if f.total >= 0 {
			// One more than there are, so that none can be told from no total.
			c.p.Total = f.total + 1
		}
		c.besides(&res)
		if c.p.Begin {
			slicing{c}.slices(&res)
		}
	}
	c.children(&res, all)
	c.remember(a, &res, f, len(all))
	if f.shifts && f.total < 0 {
		c.p.Doubt = true
	}
	c.goOn(&res, f, all)
	return res
}

// shown is how many records the page had, those included that were not kept.
func (c walk) shown(a *answer, all []record) int {
	if c.stream.where == nil {
		return len(all) + c.left
	}
	n := 0
	every(a.json, strings.TrimSuffix(strings.TrimSuffix(c.request.records, "*"), "."), func(v gjson.Result) { eachOf(v, func(gjson.Result) { n++ }) })
	return n
}

// listingWalk says whether the walk reads the whole stream.
func (c walk) listingWalk() bool {
	return c.mode == modeSweep || c.mode == modeMain && c.p.Since == 0 && !c.stream.followed()
}

// shiftedTag marks a walk that begins anew because something came or went while it
// was read: what stands between pages may have been missed. mostShifts is how often
// that is done in a run.
const (
	shiftedTag = "shifted"
	mostShifts = 3
)

// anew begins the walk once more, and reads every page.
func (c walk) anew(tag string) domain.JobSpec {
	p := params{Base: c.p.Base, Parents: c.p.Parents, Since: c.p.Since, From: c.p.From, Until: c.p.Until, Tag: strings.TrimPrefix(c.p.Tag+"."+tag, "."), Full: true}
	return c.s.spec(c.Job.Type, c.Job.Resource, p, domain.ClassWalk)
}

// goOn plans the pages that follow, or says what the end of the walk proves.
func (c walk) goOn(res *source.Result, f follow, all []record) {
	p := &c.request.page
	switch {
	case c.p.Apart:
		c.markApart(res)
		// A total that was too small: go on behind it.
		if c.p.Page+1 == c.p.Pages && f.pos != "" {
			next := c.p
			next.Page, next.Pos, next.Pages = c.p.Page+1, f.pos, c.p.Pages+1
			res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
		}
		return
	case f.pos == "":
		c.complete(res)
		return
	case c.first() && f.pages > 1 && f.pages <= mostAtOnce && p.counted() && c.p.Tag == "" && c.p.Until == 0 && !c.begun():
		c.allAtOnce(res, f)
		return
	}
	next := c.p
	next.Page, next.Pos, next.Full, next.Begin = c.p.Page+1, f.pos, c.stream.etag, false
	next.Short = (p.counted() || p.kind == pageKeyset) && f.total < 0 && f.pages == 0 && p.more == "" && res.Items < p.size
	if len(all) > 0 {
		next.First = all[0].name
	}
	job := c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk)
	if f.pages > next.Page {
		job.Expected = f.pages - next.Page
	}
	res.Next = append(res.Next, job)
}

// mostAtOnce is how many pages one answer may plan.
const mostAtOnce = 10_000

// begun says whether an earlier run has walked the stream.
func (c walk) begun() bool {
	return !c.Cursors[cursorKey(c.Job.Type, c.Job.Resource)].IsZero() || c.mode == modeSweep
}

// allAtOnce plans every page that the first one announced.
func (c walk) allAtOnce(res *source.Result, f follow) {
	c.p.Pages = f.pages
	for page := 1; page < f.pages; page++ {
		next := c.p
		next.Page, next.Pos, next.Apart, next.Unmet = page, c.pageAt(page), true, nil
		res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
	}
	c.markApart(res)
	if c.stream.listing() {
		// Later runs walk it again: it is enough to know that it was begun.
		res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(c.Job.Type, c.Job.Resource), c.p.At))
	}
}

// markApart notes that one of several pages is stored, where that must be known.
func (c walk) markApart(res *source.Result) {
	if c.stream.listing() || c.p.Pages == 0 {
		return
	}
	key := cursorKey(c.Job.Type, c.Job.Resource) + " page " + strconv.Itoa(c.p.Page) + "/" + strconv.Itoa(c.p.Pages)
	res.Cursors = append(res.Cursors, c.cursorAt(key, c.p.At))
}

func (c walk) cursorAt(key string, at int64) domain.Cursor {
	return domain.Cursor{AccountID: c.Run.AccountID, Resource: c.mark + key, At: unix(at)}
}

// complete is the end of a walk whose pages followed one another.
func (c walk) complete(res *source.Result) {
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
	res.Absences = append(res.Absences, c.absence(c.stream, c.Job.Resource, start))
	for _, path := range c.p.Unmet {
		c.goneRecord(res, c.stream, path, start)
	}
}

func (c walk) absence(of *Stream, resource string, since time.Time) document.Absence {
	return document.Absence{
		Account: c.Run.AccountID, Repository: c.s.container(resource), Kind: c.s.file.Kind(of), Why: document.GoneDeleted, Since: since, NotSeenSince: since,
	}
}

// goneRecord lets everything that belongs to a record go with it.
func (c walk) goneRecord(res *source.Result, of *Stream, path string, since time.Time) {
	res.Cursors = append(res.Cursors, c.cursorAt(goneMark+" "+path, since.Unix()))
	for _, child := range of.Children {
		res.Absences = append(res.Absences, c.absence(child, path, since))
		if len(child.Children) == 0 {
			continue
		}
		for _, below := range c.listed(path, child) {
			c.goneRecord(res, child, below, since)
		}
	}
}

// listed are the records of a stream, below a resource, that walks have had and
// that were not found gone since.
func (c walk) listed(resource string, of *Stream) []string {
	prefix := listedMark + " " + recordPath(resource, of.Name, "")
	var all []string
	for key, at := range c.Cursors {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || strings.Contains(name, "/") {
			continue
		}
		path := strings.TrimPrefix(key, listedMark+" ")
		if !c.Cursors[goneMark+" "+path].After(at) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// unmet are the records that the walk should meet, where others belong to them.
func (c walk) unmet() []string {
	if len(c.stream.Children) == 0 || !c.listingWalk() {
		return nil
	}
	return c.listed(c.Job.Resource, c.stream)
}

// unchanged lets a page that is as it was stand for itself.
func (c walk) unchanged() source.Result {
	// Whether it is free is not known: most upstreams count it.
	res := source.Result{Verdict: source.Done}
	c.p.Looked = false
	if c.Stored == nil || c.tag == "" {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "%s says that a page did not change which it was not asked about", c.s.file.Title)}
	}
	res.Items = c.Stored.Items
	if c.Stored.Next == "" {
		res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(c.Job.Type, c.Job.Resource), c.p.At))
		return res
	}
	next := c.p
	next.Page, next.Pos, next.Total = c.p.Page+1, c.Stored.Next, 0
	res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
	return res
}

// remember keeps a page's tag, so that a later run can ask whether it changed. A walk
// that began anew keeps none.
func (c walk) remember(a *answer, res *source.Result, f follow, items int) {
	tag := a.header.Get("Etag")
	if tag == "" || len(tag) > 500 || c.left > 0 || !c.stream.etag || c.mode != modeMain || c.p.Tag != "" {
		return
	}
	res.Stored = append(res.Stored, domain.Page{
		AccountID: c.Run.AccountID, Key: storedKey(c.Job.Type, c.Job.Resource, c.p.Page), ETag: c.mark + tag, Next: f.pos, Items: items,
	})
}
