package declared

import (
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// lostMark notes up to when what a stream has of a parent was taken for gone: what was
// collected before is collected again if the parent answers.
const lostMark = "LOST"

// belonging is a call about what belongs to a parent, which may be gone.
type belonging struct{ *call }

// gone is an answer that what the stream belongs to is gone, and with it all that
// was collected of it. One answer is no proof: upstreams say so too of what is just being
// moved, and by mistake. It is asked for once more, and the second answer counts. What
// was found gone in an earlier run, and has not answered since, needs no second look.
func (c belonging) gone(a *answer) source.Result {
	if c.stream == nil || c.mode == modeAll || c.mode == modeCount {
		return c.missing(a)
	}
	main := cursorKey(jobType(c.stream, modeMain), c.Job.Resource)
	if !c.p.Looked && c.Cursors[lostMark+" "+main].IsZero() {
		again := c.p
		again.Looked = true
		return source.Result{Verdict: source.Done, Next: []domain.JobSpec{c.s.spec(c.Job.Type, c.Job.Resource, again, c.Job.Class)}}
	}
	res := source.Result{Verdict: source.Done, Absences: []document.Absence{leaving(c).absence(c.stream, c.Job.Resource, c.ended, c.ended.Add(time.Microsecond))}}
	if c.stream.etag {
		// If it comes back as it was, it must be read all the same.
		res.Stored = append(res.Stored, pageOf(c.call, 0, "", "", 0))
	}
	if len(c.stream.Children) > 0 {
		for _, below := range leaving(c).listed(c.Job.Resource, c.stream) {
			leaving(c).goneRecord(&res, c.stream, below, c.ended)
		}
	}
	res.Cursors = append(res.Cursors, c.cursorAt(lostMark+" "+main, c.ended.Unix()))
	return res
}

// lost says whether what was collected of a resource up to an instant was taken for gone
// since.
func (c belonging) lost(of *Stream, resource string, collected time.Time) bool {
	at := c.Cursors[lostMark+" "+cursorKey(jobType(of, modeMain), resource)]
	return !at.IsZero() && !collected.After(at)
}

// collected is up to when a stream of a resource is collected, as far as it is there;
// zero if it never was.
func (c belonging) collected(of *Stream, resource string) time.Time {
	at := c.Cursors[cursorKey(jobType(of, modeMain), resource)]
	if c.lost(of, resource, at) {
		return time.Time{}
	}
	return at
}
