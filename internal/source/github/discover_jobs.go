package github

import (
	"time"

	"sluice/internal/domain"
)

// cursorOf is how far one resource of a repository has been collected. Each
// has its own cursor, so that what failed in one run comes back in the next.
func (d *discovery) cursorOf(typ, bucket string, r repository) time.Time {
	return d.c.Cursors[d.c.opt.cursorKey(typ, bucket, r.resource())]
}

// changed reports whether something may be newer than what was collected.
func (d *discovery) changed(newest, cursor time.Time) bool {
	return cursor.IsZero() || !newest.Before(d.from(cursor))
}

// from is the instant from which a change may have been missed by who collected up to a
// cursor. Another account that went on from it knows as much as that.
func (d *discovery) from(cursor time.Time) time.Time {
	if d.adopted {
		return cursor
	}
	return d.s.from(cursor)
}

// add adds the first page of a resource that holds about so many items; for a
// walk over changes nobody can say.
func (d *discovery) add(p params, typ string, ref repoRef, bucket string, items int64) {
	p.Repo, p.Tag = &ref, d.tag
	spec := p.spec(typ, ref.resource(), p.key(""), bucket)
	if d.c.Cursors[d.c.opt.cursorKey(typ, bucket, ref.resource())].IsZero() {
		spec.Expected = max(int((items+pageSize-1)/pageSize), 1)
	}
	d.res.Next = append(d.res.Next, spec)
}

// skip moves the cursor of a resource that has nothing to collect.
func (d *discovery) skip(typ, bucket string, ref repoRef) {
	d.res.Cursors = append(d.res.Cursors, domain.Cursor{
		AccountID: d.c.Run.AccountID, Resource: d.c.opt.cursorKey(typ, bucket, ref.resource()), At: unix(d.c.p.At),
	})
}

// commits adds the walk over commits. Of one that has some and does not say when it was
// pushed to it is not known whether there are others.
func (d *discovery) commits(r repository) {
	if r.empty || !r.pushed.IsZero() && !d.changed(r.pushed, d.cursorOf(CommitStats, BucketGraphQL, r)) {
		return
	}
	p := params{}
	if d.s.opt.OnlyOwnCommits {
		p.Owner = d.owner
	}
	d.add(p, CommitStats, r.repoRef, BucketGraphQL, r.commits)
}

// issuesAndPulls decides how a repository's issues and pull requests are
// collected. Pull requests that were never collected as a whole get a walk of
// their own; later the issues walk learns which of them changed.
func (d *discovery) issuesAndPulls(r repository) {
	has := r.threads
	issuesAt, pullsAt := d.cursorOf(RepoIssues, BucketCore, r), d.cursorOf(RepoPulls, BucketGraphQL, r)
	issues := !r.NoIssues && has.issues > 0 && d.changed(has.newestIssue, issuesAt)
	pulls := has.pulls > 0 && d.changed(has.newestPull, pullsAt)
	if pulls && (pullsAt.IsZero() || r.NoIssues) {
		if pullsAt.IsZero() && has.pulls <= pageSize && d.tag == "" && d.s.pullPoints == 0 {
			d.small = append(d.small, packed{r.repoRef, has.pulls})
		} else {
			d.add(params{}, RepoPulls, r.repoRef, BucketGraphQL, has.pulls)
		}
		pulls = false
	} else if !pulls && (pullsAt.IsZero() || issues) {
		// Nothing is newer than what was collected: the cursor keeps up with
		// that of the issues, with which it will bound a later listing.
		d.skip(RepoPulls, BucketGraphQL, r.repoRef)
	}
	switch {
	case pulls:
		d.add(params{Changes: true, Since: d.listingSince(issuesAt, pullsAt)}, RepoIssues, r.repoRef, BucketCore, 0)
	case issues:
		d.add(params{}, RepoIssues, r.repoRef, BucketCore, has.issues+has.pulls)
	case issuesAt.IsZero() && !r.NoIssues:
		d.skip(RepoIssues, BucketCore, r.repoRef)
	}
}

// listingSince bounds an issues walk that stands for both resources by the
// older of their cursors. Zero leaves it to the walk's own.
func (d *discovery) listingSince(issues, pulls time.Time) int64 {
	if issues.IsZero() || issues.Before(pulls) {
		return 0
	}
	return seconds(pulls)
}
