package github

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/document"
)

// resource is something that is collected of repositories beside their commits,
// issues and pull requests, if it is asked for. Whatever there is to know of one stands
// in its declaration: what it is called, the kind of its documents, how it is listed
// and when there is something to ask for.
type resource struct {
	kind  document.Declaration
	walks []walk
	// standard says that it is collected unless others are chosen.
	standard bool
	// told is what discovery asks about it, beside what it asks about issues and pull
	// requests; nil if that is nothing.
	told *question
	// about says with what it changes; nil for what is asked for in any case, or where
	// discovery asks about it.
	about func(t *threads) (newest time.Time, items int64)
	// columns and beside name one that has no documents of its own but is shown in
	// columns of pull requests, and what is asked of these.
	columns, beside string
}

// name is what people call it.
func (r *resource) name() string { return cmp.Or(r.columns, r.kind.Plural) }

func aboutThreads(t *threads) (newest time.Time, items int64) {
	return latest(t.newestIssue, t.newestPull), t.issues + t.pulls
}

func aboutPulls(t *threads) (newest time.Time, items int64) { return t.newestPull, t.pulls }

// resources are all that there are, in the order in which they are asked for. Nobody
// changes the list.
var resources = sync.OnceValue(func() []resource {
	one := func(w walk) []walk { return []walk{w} }
	return []resource{
		{kind: commentKind(), standard: true, walks: one(&repoComments), about: aboutThreads},
		{kind: reviewKind(), standard: true, walks: one(&repoReviews), about: aboutPulls},
		{kind: reviewCommentKind(), standard: true, walks: one(&repoReviewComments), about: aboutPulls},
		{kind: releaseKind(), standard: true, walks: one(&repoReleases), told: &question{member: "releases",
			fields: `releases(first:100,orderBy:{field:CREATED_AT,direction:DESC}){totalCount nodes{updatedAt}}`}},
		{kind: labelKind(), standard: true, walks: one(&repoLabels), told: &question{member: "labels", timeless: true,
			fields: `labels(first:100){totalCount nodes{updatedAt}}`}},
		{kind: milestoneKind(), standard: true, walks: one(&repoMilestones), told: &question{member: "milestones", newestFirst: true,
			fields: `milestones(first:1,orderBy:{field:UPDATED_AT,direction:DESC}){totalCount nodes{updatedAt}}`}},
		{kind: branchKind(), walks: one(&repoBranches)},
		{kind: tagKind(), walks: one(&repoTags)},
		{kind: contributorKind(), walks: one(&repoContributors)},
		{kind: runKind(), walks: one(&repoRuns)},
		{kind: runJobKind(), walks: one(&runJobs)},
		{kind: deploymentKind(), walks: one(&repoDeployments)},
		{kind: discussionKind(), walks: one(&repoDiscussions), told: &question{member: "discussions", newestFirst: true,
			fields: `discussions(first:1,orderBy:{field:UPDATED_AT,direction:DESC}){totalCount nodes{updatedAt}}`}},
		{kind: issueEventKind(), walks: one(&repoIssueEvents), about: aboutThreads},
		{columns: "review_requests", beside: ` reviewRequests(first:100){nodes{requestedReviewer{...on User{login} ...on Team{slug}}}}`},
		{columns: "reactions", beside: ` reactions{totalCount}`},
		{kind: pullCommitKind(), walks: one(&repoPullCommits), about: aboutPulls},
		{kind: pullFileKind(), walks: one(&repoPullFiles), about: aboutPulls},
		{kind: starWeekKind(), walks: one(&repoStarHistory)},
		{kind: trafficKind(), walks: []walk{&repoViews, &repoClones, &repoPaths, &repoReferrers}},
		{kind: dependabotKind(), walks: one(&repoDependabot)},
		{kind: scanningKind(), walks: one(&repoScanning)},
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
	for _, d := range kindsOfResources() {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}

// StandardKinds are the kinds of the documents of StandardResources.
func StandardKinds() []document.Kind {
	var kinds []document.Kind
	for _, r := range resources() {
		if r.standard {
			kinds = append(kinds, r.kind.Kind)
		}
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
		for _, w := range one.walks {
			d.walk(&one, w, r)
		}
	}
}

// walk adds the walks of a resource that are due.
func (d *discovery) walk(one *resource, w walk, r repository) {
	at := w.declared()
	if at.child || at.bucket == BucketGraphQL && d.c.Job.Bucket != BucketGraphQL {
		return // another walk leads to it, or REST does not list it
	}
	switch due, told, items := d.due(one, at, &r); {
	case at.mayHide && d.refusedLately(d.cursorOf(at.typ, at.bucket, r)):
		return
	case due && d.holdBack(w, &r):
	case due:
		d.add(params{Told: told}, at.typ, r.repoRef, at.bucket, items)
	case d.cursorOf(at.typ, at.bucket, r).IsZero():
		d.skip(at.typ, at.bucket, r.repoRef)
	}
	if at.sweep != "" && d.s.opt.SweepEvery >= 0 {
		d.sweep(at.sweep, at.bucket, r)
	}
}

// due tells whether there may be something new, how many there are if discovery has
// told, and about how many are to be asked for. REST does not tell in advance.
func (d *discovery) due(one *resource, at *route, r *repository) (due bool, told, items int64) {
	switch {
	case one.told != nil:
		return d.listDue(one, at, r)
	case one.about == nil || d.c.Job.Bucket != BucketGraphQL:
		return true, 0, 1
	}
	newest, items := one.about(&r.threads)
	cursor := d.cursorOf(at.typ, at.bucket, *r)
	return items > 0 && (toldRefused(cursor) || d.changed(newest, cursor)), 0, items
}

// kindsOfResources declares their kinds.
func kindsOfResources() document.Kinds {
	var kinds document.Kinds
	for _, r := range resources() {
		if r.columns == "" {
			kinds = append(kinds, r.kind)
		}
	}
	return kinds
}

// besideOf tells apart the pull requests of which the named resources are asked, in an
// order that does not depend on theirs.
func besideOf(names []string) (question string) {
	for _, r := range resources() {
		if r.beside != "" && slices.Contains(names, r.name()) {
			question += " " + r.name()
		}
	}
	return question
}

// beside is what is asked of pull requests for the named resources, and at how many
// points for 100 of them.
func beside(names []string) (fields string, points int) {
	for _, r := range resources() {
		if r.beside != "" && slices.Contains(names, r.name()) {
			fields += r.beside
			points++
		}
	}
	return fields, points
}
