package github

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// toldElements are what events tell as a whole, by the member of the payload that holds
// it and the resource that it belongs to.
var toldElements = map[string]struct {
	resource string
	element  *element
}{
	"workflow_run": {runs, &runElement}, "workflow_job": {"workflow_jobs", &runJobElement}, "deployment": {"deployments", &deploymentElement},
	"release": {"releases", &releaseElement}, "milestone": {"milestones", &milestoneElement},
}

// part stores what an event tells of a resource. What it tells without a time, and what
// is said to be gone, is looked at in the list, which otherwise is "" where there is none.
func (n *notice) part(member, list string) []domain.JobSpec {
	about := toldElements[member]
	// The runs are collected with their jobs.
	if wanted := n.wants(about.resource) || about.resource == runs && n.wants("workflow_jobs"); !wanted {
		return nil
	}
	told := n.event.Get(member)
	if n.action != "deleted" && !toldAt(told).IsZero() && len(told.Raw) <= mostTold {
		return n.job(params{Event: &hookEvent{Part: raw(told), Of: member}}, StoreEvent, BucketCore)
	}
	if list == "" {
		return nil // the next run meets it
	}
	return n.job(params{}, list, BucketCore)
}

// toldAt is up to when something is told: when it changed last. What has no time of
// changes has one for each that there can be.
func toldAt(v gjson.Result) (at time.Time) {
	if at = when(v.Get("updated_at")); !at.IsZero() || v.Get("run_id").Int() == 0 {
		return at
	}
	for _, member := range []string{"created_at", "started_at", "completed_at"} {
		at = latest(at, when(v.Get(member)))
	}
	return at
}

// part reads what an event told of a resource. It is as new as the event says, not as
// the job that stores it.
func (t *hookEvent) part(c *call, body []byte, i int) (document.Document, int, string) {
	about, ok := toldElements[t.Of]
	if !ok {
		return document.Document{}, -1, "an event tells of " + t.Of
	}
	doc, end, wrong := about.element.read(c, body, i)
	if wrong == "" {
		doc.Version = toldAt(view(body[i:end]))
	}
	return doc, end, wrong
}

// ref is about a branch or a tag that was made or deleted.
func (n *notice) ref() []domain.JobSpec {
	if n.event.Get("ref_type").String() == "tag" {
		return n.list("tags", RepoTags)
	}
	return n.list("branches", RepoBranches)
}

// discussion asks for those that changed: an event does not tell all that is kept.
func (n *notice) discussion() []domain.JobSpec {
	switch {
	case !n.wants("discussions") || n.opt.NoGraphQL:
		return nil
	case n.action == "deleted" || n.action == "transferred":
		if n.event.Get("discussion.number").Int() > fewThings || n.opt.SweepEvery < 0 {
			return nil
		}
		return n.job(params{}, SweepDiscussions, BucketGraphQL)
	}
	return n.job(params{}, RepoDiscussions, BucketGraphQL)
}

// contents asks for what the pull requests that changed consist of.
func (n *notice) contents() (jobs []domain.JobSpec) {
	if n.opt.NoGraphQL || n.action != "opened" && n.action != "synchronize" {
		return nil
	}
	if n.wants("pull_commits") {
		jobs = append(jobs, n.job(params{}, RepoPullCommits, BucketGraphQL)...)
	}
	if n.wants("pull_files") {
		jobs = append(jobs, n.job(params{}, RepoPullFiles, BucketGraphQL)...)
	}
	return jobs
}

// owners are the accounts that an event is about: who has the repository, the
// repository itself, and under which owner and name it was until now.
func (n *notice) owners() (logins []string) {
	owner, name, _ := strings.Cut(n.repo.Name, "/")
	add := func(login string) {
		if login != "" && !strings.HasPrefix(login, "/") && !strings.HasSuffix(login, "/") && !slices.ContainsFunc(logins, func(other string) bool { return strings.EqualFold(other, login) }) {
			logins = append(logins, login)
		}
	}
	add(n.event.Get("repository.owner.login").String())
	add(n.repo.Name)
	from := n.event.Get("changes")
	for _, path := range []string{"owner.from.user.login", "owner.from.organization.login"} {
		if former := from.Get(path).String(); former != "" {
			add(former)
			add(former + "/" + name)
		}
	}
	if former := from.Get("repository.name.from").String(); former != "" {
		add(owner + "/" + former)
	}
	return logins
}
