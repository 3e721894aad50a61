package github

import (
	"slices"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// Nothing tells that an issue or a pull request was deleted: it is merely
// listed no more. A sweep walks over all that are there, 100 a call, and stores
// them again: what was missed comes in, and what was not seen is gone. So are
// commits where there is no GraphQL to tell whether the old part of a history is
// what it was.

// addSweeps adds the sweeps of a repository that are due, that of its pull
// requests by the given bucket. The first collection of a repository stands for
// one.
func (d *discovery) addSweeps(r repository, pulls string) {
	if d.s.opt.SweepEvery < 0 {
		return
	}
	if !r.NoIssues {
		d.sweep(SweepIssues, BucketCore, r)
	}
	d.sweep(SweepPulls, pulls, r)
	if pulls == BucketCore && d.changed(r.pushed, d.cursorOf(SweepCommits, BucketCore, r)) {
		d.sweep(SweepCommits, BucketCore, r)
	}
}

func (d *discovery) sweep(typ, bucket string, r repository) {
	last := d.cursorOf(typ, bucket, r)
	if last.IsZero() {
		d.skip(typ, bucket, r.repoRef)
		return
	}
	if d.fetched.Sub(last) < d.s.opt.SweepEvery {
		return
	}
	ref := r.repoRef
	p := params{Repo: &ref, Tag: d.tag}
	spec := p.spec(typ, ref.resource(), p.key(""), bucket)
	spec.Priority = domain.PriorityLow
	d.res.Next = append(d.res.Next, spec)
}

func (c *call) sweeps() bool {
	return c.Job.Type == SweepIssues || c.Job.Type == SweepPulls || c.Job.Type == SweepCommits
}

// sweepEnd says, at the end of a sweep, what it did not see.
func (c *call) sweepEnd(res *source.Result) {
	if !c.sweeps() || !c.metAll() {
		return
	}
	kind := KindIssue
	switch c.Job.Type {
	case SweepPulls:
		kind = KindPull
	case SweepCommits:
		c.rewritten(res)
		return
	}
	res.Absences = append(res.Absences, c.notSeen(kind, document.GoneDeleted))
	if slices.Contains(c.opt.Resources, "issue_events") {
		// What happened to an issue is told for as long as that is there.
		res.Absences = append(res.Absences, c.goneWith(KindIssueEvent, KindIssue, KindPull))
	}
}

// goneWith lets what belongs to things of other kinds go and come back with those.
func (c *call) goneWith(kind document.Kind, others ...document.Kind) document.Absence {
	return document.Absence{Account: c.Run.AccountID, Repository: c.p.Repo.ID, Kind: kind, Why: document.GoneDeleted, Since: unix(c.p.Start), With: others}
}

// metAll reports whether a walk over everything met all that is there, as far as it can
// know: only then does what it did not meet mean anything.
func (c *call) metAll() bool { return c.p.Start != 0 && !c.p.Partial && c.p.Viewer == 0 }

// notSeen is the absence of what a walk over everything of a kind has not met.
// Everything it met was stored and seen later than it began.
func (c *call) notSeen(kind document.Kind, why document.Reason) document.Absence {
	start := unix(c.p.Start)
	return document.Absence{
		Account: c.Run.AccountID, Repository: c.p.Repo.ID, Kind: kind, Why: why, Since: start, NotSeenSince: start,
	}
}
