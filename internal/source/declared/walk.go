package declared

import (
	"strconv"
	"strings"
	"time"

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
		if belonging(c).lost(c.stream, c.Job.Resource, last) {
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
	c.ended = c.s.serverTime(a)
	if c.p.Start == 0 {
		c.p.Start = c.ended.Unix()
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
	f := c.follow(a, all, c.members)
	if f.wrong != "" {
		return c.failed(f.wrong)
	}
	if c.p.Tag == endTag {
		return c.stillTheEnd(f, len(all))
	}
	if c.left > 0 {
		// It may be one of those that are stored: what is not met is not gone.
		c.p.Doubt = true
		res.Next = append(res.Next, c.unread(leftText(c)))
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
		c.p.Doubt, c.p.Total, f.lacks = true, 0, ""
	}
	if c.first() {
		c.p.Unmet = c.unmet()
		if f.total >= 0 {
			// One more than there are, so that none can be told from no total.
			c.p.Total = f.total + 1
			f.lacks = c.lacks(a, &f)
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
		c.apart(res, f)
		return
	case f.pos == "" && f.lacks != "":
		// What was not shown may be there: nothing is gone, and nothing is done.
		res.Next = append(res.Next, c.unread(f.lacks))
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
	next.Short = (p.counted() || p.kind == pageKeyset) && p.more == "" && !c.announcesMore(&f) && (c.members < p.size || f.total >= 0 || f.pages > 0)
	if len(all) > 0 {
		next.First = all[0].name
	}
	job := c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk)
	if f.pages > next.Page {
		job.Expected = f.pages - next.Page
	}
	res.Next = append(res.Next, job)
}

// apart is the end of a page of those that were planned at once.
func (c walk) apart(res *source.Result, f follow) {
	last := c.p.Page+1 >= c.p.Pages
	switch {
	case last && f.pos != "":
		// There are more than were announced: go on behind them.
		next := c.p
		next.Page, next.Pos, next.Short = c.p.Page+1, f.pos, true
		res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
	case c.members == 0 && c.p.Size == 0 && c.p.Page < c.p.Pages && (!last || c.p.Total > 0) && countsTheSame(c.call):
		res.Next = append(res.Next, c.unread("page "+strconv.Itoa(c.p.Page+1)+" of "+strconv.Itoa(c.p.Pages)+" has no records"))
	default:
		c.markApart(res)
	}
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
		next.Page, next.Pos, next.Apart, next.Unmet, next.Head = page, c.pageAt(page), true, nil, nil
		res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
	}
	c.markApart(res)
	c.keepHead(res)
	if c.stream.listing() {
		// Later runs walk it again: it is enough to know that it was begun.
		res.Cursors = append(res.Cursors, c.cursorAt(cursorKey(c.Job.Type, c.Job.Resource), c.p.At))
	}
}

// markApart notes that one of several pages is stored, where that must be known. Of those
// behind the announced ones the last stands for the last announced one.
func (c walk) markApart(res *source.Result) {
	if c.stream.listing() || c.p.Pages == 0 {
		return
	}
	key := cursorKey(c.Job.Type, c.Job.Resource) + " page " + strconv.Itoa(min(c.p.Page, c.p.Pages-1)) + "/" + strconv.Itoa(c.p.Pages)
	res.Cursors = append(res.Cursors, c.cursorAt(key, c.p.At))
}
