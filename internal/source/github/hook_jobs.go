package github

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
)

// aboutOrganization are the events about who belongs to an organisation.
var aboutOrganization = map[string]bool{"organization": true, "membership": true, "member": true, "team": true, "team_add": true}

func (n *notice) organization(login string) []domain.JobSpec {
	p := params{Org: n.event.Get("organization.id").Int(), Tag: n.tag, Heard: true}
	user := userResource(login)
	return []domain.JobSpec{p.spec(OrgMembers, user, p.key(""), BucketCore), p.spec(OrgTeams, user, p.key(""), BucketCore)}
}

// hookJobs are the jobs by event. What GitHub tells of beside these is not collected.
var hookJobs = map[string]func(*notice) []domain.JobSpec{
	"issues":                      (*notice).issue,
	"issue_comment":               (*notice).comment,
	"pull_request":                func(n *notice) []domain.JobSpec { return append(n.pull(), n.contents()...) },
	"pull_request_review":         (*notice).review,
	"pull_request_review_comment": (*notice).reviewComment,
	"pull_request_review_thread":  (*notice).pull,
	"push":                        (*notice).push,
	"release":                     func(n *notice) []domain.JobSpec { return n.part("release", RepoReleases) },
	"label":                       func(n *notice) []domain.JobSpec { return n.list("labels", RepoLabels) },
	"milestone":                   func(n *notice) []domain.JobSpec { return n.part("milestone", RepoMilestones) },
	"workflow_run":                func(n *notice) []domain.JobSpec { return n.part("workflow_run", "") },
	"workflow_job":                func(n *notice) []domain.JobSpec { return n.part("workflow_job", "") },
	"deployment":                  func(n *notice) []domain.JobSpec { return n.part("deployment", RepoDeployments) },
	"deployment_status":           func(n *notice) []domain.JobSpec { return n.part("deployment", RepoDeployments) },
	"dependabot_alert":            func(n *notice) []domain.JobSpec { return n.list("dependabot_alerts", RepoDependabot) },
	"code_scanning_alert":         func(n *notice) []domain.JobSpec { return n.list("code_scanning_alerts", RepoScanning) },
	"discussion":                  (*notice).discussion,
	"create":                      (*notice).ref,
	"delete":                      (*notice).ref,
	"repository":                  (*notice).changed,
	"public":                      (*notice).changed,
	"star": func(n *notice) []domain.JobSpec {
		return append(n.counted(), n.list("star_history", RepoStarHistory)...)
	},
	"fork": (*notice).counted,
}

// job makes a job for the event's repository. Without GraphQL all that it would be
// asked for is left to a look at the repository.
func (n *notice) job(p params, typ, bucket string) []domain.JobSpec {
	if bucket == BucketGraphQL && n.opt.NoGraphQL {
		return n.look()
	}
	ref := n.repo.repoRef
	p.Repo, p.Tag, p.Heard = &ref, n.tag, true
	return []domain.JobSpec{p.spec(typ, ref.resource(), p.key(""), bucket)}
}

// look looks at the repository by its id.
func (n *notice) look() []domain.JobSpec {
	ref := n.repo.repoRef
	p := params{Repo: &ref, Tag: n.tag, Heard: true}
	return []domain.JobSpec{p.spec(CheckRepo, userResource(n.login), p.key(ref.resource()), BucketCore)}
}

func (n *notice) wants(resource string) bool { return slices.Contains(n.opt.Resources, resource) }

// list reads a list of the repository again, if it is collected.
func (n *notice) list(resource, typ string) []domain.JobSpec {
	if !n.wants(resource) {
		return nil
	}
	return n.job(params{}, typ, BucketCore)
}

// changed is about the repository itself. One that is said to be gone, or somebody
// else's, is looked at before that is believed.
func (n *notice) changed() []domain.JobSpec {
	switch {
	case n.action == "deleted", n.action == "transferred" && !isRepository(n.login):
		return n.look()
	case n.action == "created", n.action == "publicized", n.action == "":
		return n.job(params{}, DiscoverRepo, BucketGraphQL)
	}
	// Renamed, edited, archived, transferred, privatized: what it holds is as it was. One
	// that may not be seen any more is looked at then.
	return n.counted()
}

// counted is about something of which only the number is kept.
func (n *notice) counted() []domain.JobSpec {
	return n.job(params{Part: partCommits}, DiscoverRepo, BucketGraphQL)
}

// push is about commits, of which the event tells some: the new ones are asked for,
// up to when they were pushed.
func (n *notice) push() []domain.JobSpec {
	branch := n.event.Get("repository.default_branch").String()
	var jobs []domain.JobSpec
	if strings.HasPrefix(n.event.Get("ref").String(), "refs/heads/") {
		jobs = n.list("branches", RepoBranches)
	}
	if n.event.Get("ref").String() != "refs/heads/"+branch {
		return jobs
	}
	pushed := n.event.Get("repository.pushed_at")
	at := pushed.Int()
	if pushed.Type == gjson.String {
		at = seconds(when(pushed))
	}
	return append(n.job(params{HeardOf: at}, CommitStats, BucketGraphQL), jobs...)
}

// pull asks for the one pull request: what an event tells of it is not measured.
func (n *notice) pull() []domain.JobSpec {
	return n.pullOf(n.event.Get("pull_request.node_id").String())
}

func (n *notice) pullOf(node string) []domain.JobSpec {
	if node == "" {
		return nil
	}
	return n.job(params{IDs: []string{node}, Alone: true}, RepoPulls, BucketGraphQL)
}

// review asks for the one pull request, and for the reviews of those that changed.
func (n *notice) review() []domain.JobSpec {
	jobs := n.pull()
	if n.wants("reviews") && !n.opt.NoGraphQL {
		jobs = append(jobs, n.job(params{}, RepoReviews, BucketGraphQL)...)
	}
	return jobs
}

func (n *notice) reviewComment() []domain.JobSpec {
	jobs := n.pull()
	switch {
	case !n.wants("review_comments"):
	case n.action == "deleted":
		jobs = append(jobs, n.sweep(SweepReviewComments, n.event.Get("pull_request.number").Int())...)
	default:
		jobs = append(jobs, n.store(hookEvent{ReviewComment: raw(n.event.Get("comment"))}, RepoReviewComments)...)
	}
	return jobs
}

// issue stores an issue as the event tells it. Who closed it, it does not tell: that
// takes a call.
func (n *notice) issue() []domain.JobSpec {
	issue := n.event.Get("issue")
	switch {
	case n.action == "deleted" || n.action == "transferred":
		return n.sweep(SweepIssues, issue.Get("number").Int())
	case !complete(issue):
		return n.job(params{}, RepoIssues, BucketCore)
	}
	return n.store(hookEvent{Issue: raw(issue)}, RepoIssues)
}

// complete reports whether an event tells all of an issue that is kept.
func complete(issue gjson.Result) bool {
	return issue.IsObject() && (issue.Get("state").String() == "open" || issue.Get("closed_by").IsObject())
}

// comment stores a comment, and the issue that it is about, which changed with it.
func (n *notice) comment() []domain.JobSpec {
	issue := n.event.Get("issue")
	var t hookEvent
	var jobs []domain.JobSpec
	switch {
	case issue.Get("pull_request").IsObject():
		jobs = n.pullOf(issue.Get("node_id").String())
	case !complete(issue):
		jobs = n.job(params{}, RepoIssues, BucketCore)
	default:
		t.Issue = raw(issue)
	}
	switch {
	case !n.wants("comments"):
	case n.action == "deleted":
		jobs = append(jobs, n.sweep(SweepComments, issue.Get("number").Int())...)
	default:
		t.Comment = raw(n.event.Get("comment"))
	}
	if t.empty() {
		return jobs
	}
	return append(jobs, n.store(t, RepoComments)...)
}

// fewThings bounds the repositories in which a deletion is looked for at once: a
// sweep takes a call for a hundred things. In larger ones it comes when it is due.
const fewThings = 1000

// sweep looks for what was deleted, in a repository that has about so many things.
func (n *notice) sweep(typ string, number int64) []domain.JobSpec {
	if max(number, n.event.Get("repository.open_issues_count").Int()) > fewThings || n.opt.SweepEvery < 0 {
		return nil
	}
	return n.job(params{}, typ, BucketCore)
}

// store stores what an event tells, or does the call that brings the same where that
// is too much to be kept with a job.
func (n *notice) store(t hookEvent, call string) []domain.JobSpec {
	if t.size() > mostTold {
		return n.job(params{}, call, BucketCore)
	}
	return n.job(params{Event: &t}, StoreEvent, BucketCore)
}

func raw(v gjson.Result) []byte {
	if !v.IsObject() {
		return nil
	}
	return []byte(v.Raw)
}
