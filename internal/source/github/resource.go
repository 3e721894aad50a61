package github

import (
	"slices"
	"strings"
	"sync"

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
	// standard says that it is collected unless others are chosen.
	standard bool
	// told is what discovery asks about a list; nil for one that is asked for in any
	// case.
	told *question
	// changed tells, where discovery knows, whether there may be something new, and
	// about how many there are; nil for what is asked for in any case.
	changed func(d *discovery, r *repository) (due bool, items int64)
}

// name is what people call it.
func (r *resource) name() string { return r.kind.Plural }

// resources are all that there are, in the order in which they are asked for. Nobody
// changes the list.
var resources = sync.OnceValue(func() []resource {
	return []resource{
		{kind: commentKind(), standard: true, since: &repoComments, changed: func(d *discovery, r *repository) (bool, int64) {
			t := &r.threads
			return t.issues+t.pulls > 0 && d.changed(latest(t.newestIssue, t.newestPull), d.cursorOf(RepoComments, BucketCore, *r)), t.issues + t.pulls
		}},
		{kind: reviewKind(), standard: true, typ: RepoReviews, sweep: SweepReviews, changed: func(d *discovery, r *repository) (bool, int64) {
			t := &r.threads
			return t.pulls > 0 && d.changed(t.newestPull, d.cursorOf(RepoReviews, BucketGraphQL, *r)), t.pulls
		}},
		{kind: reviewCommentKind(), standard: true, since: &repoReviewComments, changed: func(d *discovery, r *repository) (bool, int64) {
			t := &r.threads
			return t.pulls > 0 && d.changed(t.newestPull, d.cursorOf(RepoReviewComments, BucketCore, *r)), t.pulls
		}},
		{kind: releaseKind(), standard: true, whole: &repoReleases, told: &question{member: "releases",
			fields: `releases(first:100,orderBy:{field:CREATED_AT,direction:DESC}){totalCount nodes{updatedAt}}`}},
		{kind: labelKind(), standard: true, whole: &repoLabels, told: &question{member: "labels",
			fields: `labels(first:100){totalCount nodes{updatedAt}}`}},
		{kind: milestoneKind(), standard: true, whole: &repoMilestones, told: &question{member: "milestones", newestFirst: true,
			fields: `milestones(first:1,orderBy:{field:UPDATED_AT,direction:DESC}){totalCount nodes{updatedAt}}`}},
	}
})

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

// StandardResources are those that are collected unless others are chosen.
func StandardResources() []string {
	var names []string
	for _, r := range resources() {
		if r.standard {
			names = append(names, r.name())
		}
	}
	return names
}

// What stands for several of them in a setting.
const (
	allResources      = "all"
	standardResources = "standard"
	noResources       = "none"
)

// resourcesOf reads a list of resources as settings have it; unknown is one that does
// not exist, "" if there is none.
func resourcesOf(text string) (names []string, unknown string) {
	for _, name := range patterns(text) {
		switch {
		case name == noResources:
		case name == allResources:
			names = ResourceNames()
		case name == standardResources:
			names = append(names, slices.DeleteFunc(StandardResources(), func(s string) bool { return slices.Contains(names, s) })...)
		case !slices.Contains(ResourceNames(), name):
			return nil, name
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names, ""
}

func resourceHelp() string {
	return "what to collect of repositories beside commits, issues and pulls: " + strings.Join(ResourceNames(), ", ") +
		"; all, none, or standard for " + strings.Join(StandardResources(), ", ")
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
		d.list(one, r)
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
