package declared

import (
	"slices"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// children plans what is asked for each record of a page: the walks of the streams
// that are of this one.
func (c walk) children(res *source.Result, all []record) {
	if len(c.stream.Children) == 0 {
		return
	}
	met := map[string]bool{}
	for i := range all {
		path := recordPath(c.containerOf(all[i].value), c.stream.Name, all[i].name)
		met[path] = true
		listed, gone := c.Cursors[listedMark+" "+path], c.Cursors[goneMark+" "+path]
		if listed.IsZero() || gone.After(listed) {
			res.Cursors = append(res.Cursors, c.cursorAt(listedMark+" "+path, max(c.p.Start, gone.Unix()+1)))
		}
		parents := c.fields(all[i])
		for _, child := range c.stream.Children {
			c.child(res, child, path, params{Base: c.p.Base, Parents: parents, Full: gone.After(listed)})
		}
	}
	c.p.Unmet = slices.DeleteFunc(slices.Clone(c.p.Unmet), func(path string) bool { return met[path] })
}

// child plans the walks of one stream for one record. A walk that follows what
// changed in all parents makes those of single ones superfluous, once they were
// collected first.
// What belongs to a record that was gone is read as a whole: pages that are as they
// were would leave it flagged.
func (c walk) child(res *source.Result, child *Stream, path string, p params) {
	if child.perParent() || belonging(c).collected(child, path).IsZero() {
		res.Next = append(res.Next, c.beginning(child, path, p))
	}
	if c.sweepDue(child, path) {
		res.Next = append(res.Next, c.s.spec(jobType(child, modeSweep), path, p, domain.ClassChild))
	}
}

// sweepDue says whether it is time to look for what is gone. A complete first
// collection is a look too.
func (c walk) sweepDue(s *Stream, resource string) bool {
	if s.sweep == nil {
		return false
	}
	last := c.Cursors[cursorKey(jobType(s, modeSweep), resource)]
	if main := jobType(s, modeMain); last.IsZero() {
		if last = c.Cursors[cursorKey(main, resource)]; last.IsZero() {
			last = c.apartDone(main, resource)
		}
	}
	return !last.IsZero() && !c.Run.Anchor.Before(last.Add(s.sweepEvery))
}

// besides plans, with the first page of a walk, what goes beside it: walks over the
// records of all parents at once, and the stream's own sweep.
func (c walk) besides(res *source.Result) {
	if c.mode != modeMain || c.p.Tag != "" {
		return
	}
	if c.stream.Parent == nil && c.sweepDue(c.stream, c.Job.Resource) {
		res.Next = append(res.Next, c.s.spec(jobType(c.stream, modeSweep), c.Job.Resource, params{Base: c.p.Base}, domain.ClassWalk))
	}
	for _, child := range c.stream.Children {
		if child.perParent() {
			continue
		}
		all := walk{&call{Call: c.Call, s: c.s, operation: operation{child, modeAll}}}
		all.Job.Type = jobType(child, modeAll)
		if since := all.since(); since != 0 {
			res.Next = append(res.Next, c.s.spec(all.Job.Type, rootResource, params{Base: c.p.Base, Since: since}, domain.ClassWalk))
		}
	}
}
