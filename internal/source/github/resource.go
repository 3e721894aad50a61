package github

import (
	"slices"
	"strings"

	"sluice/internal/document"
)

// resource is something that is collected of repositories beside their commits,
// issues and pull requests, if it is asked for. Whatever there is to know of one stands
// in its declaration: what it is called, the kind of its documents, how it is listed
// and when there is something to ask for.
type resource struct {
	kind document.Declaration
	// whole or since is how REST lists it; see listing and stream.
	whole *listing
	since *stream
	// typ and sweep are the jobs of one that GraphQL alone lists.
	typ, sweep string
	// changed tells, where discovery knows, whether there may be something new, and
	// about how many there are; nil for what is asked for in any case.
	changed func(d *discovery, r *repository) (due bool, items int64)
}

// name is what people call it.
func (r *resource) name() string { return r.kind.Plural }

// resources are all that there are, in the order in which they are asked for.
func resources() []resource {
	return []resource{
		{kind: commentKind(), since: &repoComments, changed: func(d *discovery, r *repository) (bool, int64) {
			t := &r.threads
			return t.issues+t.pulls > 0 && d.changed(latest(t.newestIssue, t.newestPull), d.cursorOf(RepoComments, BucketCore, *r)), t.issues + t.pulls
		}},
		{kind: reviewKind(), typ: RepoReviews, sweep: SweepReviews, changed: func(d *discovery, r *repository) (bool, int64) {
			t := &r.threads
			return t.pulls > 0 && d.changed(t.newestPull, d.cursorOf(RepoReviews, BucketGraphQL, *r)), t.pulls
		}},
		{kind: reviewCommentKind(), since: &repoReviewComments, changed: func(d *discovery, r *repository) (bool, int64) {
			t := &r.threads
			return t.pulls > 0 && d.changed(t.newestPull, d.cursorOf(RepoReviewComments, BucketCore, *r)), t.pulls
		}},
		{kind: releaseKind(), whole: &repoReleases},
		{kind: labelKind(), whole: &repoLabels},
		{kind: milestoneKind(), whole: &repoMilestones},
	}
}

// ResourceNames are what can be collected beside what always is.
func ResourceNames() []string {
	var names []string
	for _, r := range resources() {
		names = append(names, r.name())
	}
	return names
}

// ResourceKinds are the kinds of their documents.
func ResourceKinds() []document.Kind {
	var kinds []document.Kind
	for _, r := range resources() {
		kinds = append(kinds, r.kind.Kind)
	}
	return kinds
}

// allResources stands for all of them.
const allResources = "all"

// resourcesOf reads a list of resources as settings have it; unknown is one that does
// not exist, "" if there is none.
func resourcesOf(text string) (names []string, unknown string) {
	for _, name := range patterns(text) {
		switch {
		case name == allResources:
			names = ResourceNames()
		case !slices.Contains(ResourceNames(), name):
			return nil, name
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names, ""
}

func resourceHelp() string {
	return "what to collect of repositories beside commits, issues and pulls: " + strings.Join(ResourceNames(), ", ") + ", or all"
}

// resources adds what was asked for beside commits, issues and pull requests.
func (d *discovery) resources(r repository) {
	for _, one := range resources() {
		if !slices.Contains(d.s.opt.Resources, one.name()) {
			continue
		}
		d.resource(&one, r)
	}
}

func (d *discovery) resource(one *resource, r repository) {
	rest := d.c.Job.Bucket != BucketGraphQL
	typ, sweep, bucket := one.typ, one.sweep, BucketGraphQL
	switch {
	case one.whole != nil:
		d.add(params{}, one.whole.typ, r.repoRef, BucketCore, 1)
		return
	case one.since != nil:
		typ, sweep, bucket = one.since.typ, one.since.sweep, BucketCore
	case rest:
		return
	}
	due, items := true, int64(1)
	// REST does not tell in advance what changed.
	if !rest {
		due, items = one.changed(d, &r)
	}
	if due {
		d.add(params{}, typ, r.repoRef, bucket, items)
	} else if d.cursorOf(typ, bucket, r).IsZero() {
		d.skip(typ, bucket, r.repoRef)
	}
	if d.s.opt.SweepEvery >= 0 {
		d.sweep(sweep, bucket, r)
	}
}

// kindsOfResources declares their kinds.
func kindsOfResources() document.Kinds {
	var kinds document.Kinds
	for _, r := range resources() {
		kinds = append(kinds, r.kind)
	}
	return kinds
}
