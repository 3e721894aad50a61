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
	at := c.s.serverTime(a)
	var forgotten []domain.Page
	if c.stream.etag {
		// If it comes back as it was, it must be read all the same.
		forgotten = append(forgotten, domain.Page{AccountID: c.Run.AccountID, Key: storedKey(c.Job.Type, c.Job.Resource, 0)})
	}
	return source.Result{
		Verdict: source.Done, Stored: forgotten,
		Cursors: []domain.Cursor{{AccountID: c.Run.AccountID, Resource: c.mark + lostMark + " " + main, At: unix(at.Unix())}},
		Absences: []document.Absence{{
			Account: c.Run.AccountID, Repository: c.s.container(c.Job.Resource), Kind: c.s.file.Kind(c.stream), Why: document.GoneDeleted, Since: at, NotSeenSince: at,
		}},
	}
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
