package github

import (
	"slices"
	"sort"
)

// A commit's serial is its identity within its repository: those of the base
// world come first, then the others in the order in which they were pushed. As
// long as nobody rewrites history the default branch is all serials in order.

// pushedCommit is a commit that reached the repository after the base world
// ended. A merge can bring commits that are older than their arrival.
type pushedCommit struct{ committed, arrived int64 }

// serials counts the commits that ever were on the default branch.
func (r *repo) serials() int { return r.baseCommits + len(r.overlay.pushed) }

// commitCount is how many commits the default branch has.
func (r *repo) commitCount() int {
	if r.overlay.rewritten {
		return len(r.overlay.line)
	}
	return r.serials()
}

// head is the serial of the default branch's newest commit.
func (r *repo) head() int {
	if r.overlay.rewritten {
		return r.overlay.line[len(r.overlay.line)-1]
	}
	return r.serials() - 1
}

// commitTime is when a commit was committed.
func (r *repo) commitTime(serial int) int64 {
	if serial < r.baseCommits {
		return r.baseCommitTime(serial)
	}
	return r.overlay.pushed[serial-r.baseCommits].committed
}

// commitArrival is when a commit reached the default branch.
func (r *repo) commitArrival(serial int) int64 {
	if serial < r.baseCommits {
		return r.baseCommitTime(serial)
	}
	return r.overlay.pushed[serial-r.baseCommits].arrived
}

// hasCommitAt tells whether a commit was on the default branch at an instant.
func (r *repo) hasCommitAt(serial int, at int64) bool {
	if r.commitArrival(serial) > at {
		return false
	}
	_, gone := r.overlay.dropped[serial].at(at)
	return !gone
}

// older orders commits as listings do: by date, those of one second by serial.
func (r *repo) older(a, b int) bool {
	if ta, tb := r.commitTime(a), r.commitTime(b); ta != tb {
		return ta < tb
	}
	return a < b
}

// place is where a commit stands on a rewritten branch, or would stand.
func (r *repo) place(serial int) int {
	line := r.overlay.line
	return sort.Search(len(line), func(i int) bool { return !r.older(line[i], serial) })
}

// parent is the commit below a commit.
func (r *repo) parent(serial int) (int, bool) {
	if !r.overlay.rewritten {
		return serial - 1, serial > 0
	}
	at := r.place(serial)
	if at == 0 {
		return 0, false
	}
	return r.overlay.line[at-1], true
}

func (c *commit) parents() int64 {
	if _, ok := c.repo.parent(c.serial); ok {
		return 1
	}
	return 0
}

// rewrite makes the default branch an explicit list, oldest first.
func (r *repo) rewrite(o *repoOverlay) {
	if o.rewritten {
		return
	}
	o.rewritten = true
	o.line = make([]int, r.serials())
	for i := range o.line {
		o.line[i] = i
	}
}

// put brings a commit onto the default branch at the place its date gives it.
func (r *repo) put(o *repoOverlay, c pushedCommit) {
	o.pushed = append(o.pushed, c)
	if !o.rewritten {
		return
	}
	serial := r.serials() - 1
	o.line = slices.Insert(o.line, r.place(serial), serial)
}

// drop takes the newest n commits off the default branch.
func (r *repo) drop(o *repoOverlay, n int, now int64) {
	r.rewrite(o)
	if o.dropped == nil {
		o.dropped = map[int]absences{}
	}
	keep := max(len(o.line)-n, 0)
	for _, serial := range o.line[keep:] {
		o.dropped[serial] = o.dropped[serial].begin(GoneRewritten, now)
	}
	o.line = o.line[:keep]
}

// ancestors are the commits that one of a rewritten branch stands for, itself among
// them, oldest first. One that a force push took off the branch has those that it had:
// what went with it, and nothing that came later.
func (r *repo) ancestors(serial int) []int {
	o := r.overlay
	list := slices.Clone(o.line[:r.place(serial)])
	if lost := o.dropped[serial]; len(lost) > 0 {
		at := lost[0].from
		list = slices.DeleteFunc(list, func(i int) bool { return r.commitArrival(i) > at })
		for i, gone := range o.dropped {
			if r.older(i, serial) && gone[0].from >= at && r.commitArrival(i) <= at {
				list = append(list, i)
			}
		}
		sort.Slice(list, func(a, b int) bool { return r.older(list[a], list[b]) })
	}
	return append(list, serial)
}

// rewrittenRange lists a rewritten branch, or what one of its commits stands for.
func (w *world) rewrittenRange(r *repo, f commitFilter) commitRange {
	out := commitRange{mask: w.authorMask(r, f), listed: true, repo: r}
	take := func(serial int) {
		at := r.commitTime(serial)
		if f.since != 0 && at < f.since || f.until != 0 && at > f.until || out.mask>>(serial%authorPeriod)&1 == 0 {
			return
		}
		out.list = append(out.list, serial)
	}
	line := r.overlay.line
	if f.start > 0 {
		line = r.ancestors(f.start - 1)
	}
	for _, serial := range line {
		take(serial)
	}
	out.count = len(out.list)
	return out
}
