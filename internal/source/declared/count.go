package declared

import (
	"net/http"
	"strconv"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// A count is a call that tells how many records there are, for the forecast alone: a
// walk reads to its end whatever it says, and is made though it fails.

// mostCounted is how many records are believed, and countTries how often a count is
// tried.
const (
	mostCounted = 1 << 40
	countTries  = 3
)

// counts says whether a walk begins with asking how many there are.
func (s *Stream) counts() bool { return s.count != nil }

// beginning is the first job of a stream's walk: the walk itself, or the count before it,
// of what was never collected.
func (c walk) beginning(child *Stream, path string, p params) domain.JobSpec {
	mode := modeMain
	if child.counts() && c.Cursors[cursorKey(jobType(child, mode), path)].IsZero() {
		mode = modeCount
	}
	return c.s.spec(jobType(child, mode), path, p, domain.ClassChild)
}

// counting is a call that tells how many there are.
type counting struct{ *call }

// known says whether the stream was collected before: later runs are told by earlier
// ones how much there is.
func (c counting) known() bool {
	return !c.Cursors[cursorKey(jobType(c.stream, modeMain), c.Job.Resource)].IsZero()
}

// counted is the answer to a count: the walk follows in any case.
func (c counting) counted(a *answer) source.Result {
	next := c.s.spec(jobType(c.stream, modeMain), c.Job.Resource, params{Base: c.p.Base, Parents: c.p.Parents, Full: c.p.Full}, domain.ClassWalk)
	res := source.Result{Verdict: source.Done, Next: []domain.JobSpec{next}}
	if a == nil || a.status != http.StatusOK {
		return res
	}
	text := textAt(a.json, c.stream.countAt.body)
	if c.stream.countAt.header != "" {
		text = a.header.Get(c.stream.countAt.header)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > mostCounted {
		return res
	}
	size := max(c.stream.whole().page.size, 1)
	if c.stream.whole().page.kind == pageNone {
		size = max(n, 1)
	}
	res.Next[0].Expected = min((n+size-1)/size, mostAtOnce*100)
	return res
}

// countFailed lets the walk go on without a count that cannot be had.
func (c counting) countFailed(res source.Result) source.Result {
	if c.mode != modeCount {
		return res
	}
	if res.Verdict == source.Fail || res.Verdict == source.FailRun || res.Verdict == source.Retry && c.Job.Failures+1 >= countTries {
		quota, free := res.Quota, res.Free
		res = c.counted(nil)
		res.Quota, res.Free = quota, free
	}
	return res
}
