package github

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// The types of jobs, each exactly one call.
const (
	UserProfile          = "USER_PROFILE"
	UserEvents           = "USER_EVENTS"
	DiscoverReposPushed  = "DISCOVER_REPOS_PUSHED"
	DiscoverReposUpdated = "DISCOVER_REPOS_UPDATED"
	DiscoverContributed  = "DISCOVER_REPOS_CONTRIBUTED"
	DiscoverRepo         = "DISCOVER_REPO"
	DiscoverTarget       = "DISCOVER_TARGET"
	OrgMembers           = "ORG_MEMBERS"
	OrgTeams             = "ORG_TEAMS"
	RepoComments         = "REPO_COMMENTS"
	RepoReviewComments   = "REPO_REVIEW_COMMENTS"
	RepoReleases         = "REPO_RELEASES"
	RepoLabels           = "REPO_LABELS"
	RepoMilestones       = "REPO_MILESTONES"
	RepoReviews          = "REPO_REVIEWS"
	RepoBranches         = "REPO_BRANCHES"
	RepoTags             = "REPO_TAGS"
	RepoContributors     = "REPO_CONTRIBUTORS"
	RepoRuns             = "REPO_WORKFLOW_RUNS"
	RunJobs              = "WORKFLOW_RUN_JOBS"
	RepoDeployments      = "REPO_DEPLOYMENTS"
	RepoIssueEvents      = "REPO_ISSUE_EVENTS"
	RepoDiscussions      = "REPO_DISCUSSIONS"
	RepoPullCommits      = "REPO_PULL_COMMITS"
	RepoPullFiles        = "REPO_PULL_FILES"
	RepoDependabot       = "REPO_DEPENDABOT_ALERTS"
	RepoScanning         = "REPO_CODE_SCANNING_ALERTS"
	RepoStarHistory      = "REPO_STAR_HISTORY"
	RepoViews            = "REPO_TRAFFIC_VIEWS"
	RepoClones           = "REPO_TRAFFIC_CLONES"
	RepoPaths            = "REPO_TRAFFIC_PATHS"
	RepoReferrers        = "REPO_TRAFFIC_REFERRERS"
	SweepReviews         = "SWEEP_REVIEWS"
	SweepRuns            = "SWEEP_WORKFLOW_RUNS"
	SweepIssueEvents     = "SWEEP_ISSUE_EVENTS"
	SweepDiscussions     = "SWEEP_DISCUSSIONS"
	SweepPullCommits     = "SWEEP_PULL_COMMITS"
	SweepPullFiles       = "SWEEP_PULL_FILES"
	SweepStarHistory     = "SWEEP_STAR_HISTORY"
	SweepComments        = "SWEEP_COMMENTS"
	SweepReviewComments  = "SWEEP_REVIEW_COMMENTS"
	CheckRepo            = "CHECK_REPO"
	CommitStats          = "COMMIT_STATS"
	RepoCommits          = "REPO_COMMITS"
	CommitDetail         = "COMMIT_DETAIL"
	RepoIssues           = "REPO_ISSUES"
	RepoPulls            = "REPO_PULLS"
	SweepCommits         = "SWEEP_COMMITS"
	SweepIssues          = "SWEEP_ISSUES"
	SweepPulls           = "SWEEP_PULLS"
	// CopyRepo makes no call: it copies what another account with the same credential has
	// of a repository.
	CopyRepo = "COPY_REPO"
	// StoreEvent makes no call: it stores what a webhook told as a whole.
	StoreEvent = "STORE_EVENT"
)

// The buckets of GitHub's ration that the jobs draw on.
const (
	BucketCore    = "core"
	BucketGraphQL = "graphql"
)

// pageSize is what both APIs give at most in one page.
const pageSize = 100

// params is what a job carries beside its name. Only the first page of a
// resource lacks the fields that say how far the walk is.
type params struct {
	Repo *repoRef `json:"repo,omitempty"`
	// Repos are the repositories of a job that asks for several at once.
	Repos []repoRef `json:"repos,omitempty"`
	// Most is how many pull requests the largest of them has, zero if that is not
	// known.
	Most int `json:"most,omitempty"`
	// URL is the REST target of a later page, or of a moved resource.
	URL string `json:"url,omitempty"`
	// After is the GraphQL cursor of a later page.
	After string `json:"after,omitempty"`
	// First is the size of the page, zero for the usual one; so many pages keep
	// it before a larger one is tried.
	First  int `json:"first,omitempty"`
	Steady int `json:"steady,omitempty"`
	// Tag tells a second walk of the same resource in a run from the first.
	Tag string `json:"tag,omitempty"`
	// Page counts from 1; zero means the first. Announced is how many pages
	// the first one promised.
	Page      int `json:"page,omitempty"`
	Announced int `json:"announced,omitempty"`
	// At is the instant the walk stands for, taken with its first page: where
	// its cursor moves in the end.
	At int64 `json:"at,omitempty"`
	// Since bounds a walk that asks for changes only.
	Since int64 `json:"since,omitempty"`
	// Start is when the walk began, by GitHub's clock.
	Start int64 `json:"start,omitempty"`
	// Owner is the account's node id, where a query must name it.
	Owner string `json:"owner,omitempty"`
	// Changes makes an issues walk hand on the pull requests it meets. IDs are
	// the node ids met so far and not fetched yet; Then is the page of the walk
	// that goes on after the batch, and Of that walk's type where it is not the
	// issues walk. Lacks says that the walk passed over some of them.
	Changes bool     `json:"changes,omitempty"`
	IDs     []string `json:"ids,omitempty"`
	Then    *params  `json:"then,omitempty"`
	Of      string   `json:"of,omitempty"`
	Lacks   bool     `json:"lacks,omitempty"`
	// Again marks a batch that asks once more for what an answer left out.
	Again bool `json:"again,omitempty"`
	// Full makes a commit walk ignore the cursor, and a listing ask without
	// conditions. Head and Total are what its
	// first page said about the whole history;
	// a sweep of commits lists what Head stands for.
	Full  bool   `json:"full,omitempty"`
	Head  string `json:"head,omitempty"`
	Total int    `json:"total,omitempty"`
	// Prev is the numbered page before this one and PrevTag its ETag; Edge is
	// the last number on it, if known. Bridge marks a job that reads it again.
	Prev    string `json:"prev,omitempty"`
	PrevTag string `json:"prev_tag,omitempty"`
	Edge    int64  `json:"edge,omitempty"`
	Bridge  bool   `json:"bridge,omitempty"`
	// Unmet are the repositories that a walk over all of them should still meet.
	Unmet []int64 `json:"unmet,omitempty"`
	// Alone marks a page that is no part of a walk: it has no successor.
	Alone bool `json:"alone,omitempty"`
	// Part restricts the discovery of one repository to what was left out.
	Part string `json:"part,omitempty"`
	// Unlisted marks a look at a repository that a listing did not have.
	Unlisted bool `json:"unlisted,omitempty"`
	// Slice is the instant at which a page of a stream begins.
	Slice int64 `json:"slice,omitempty"`
	// Plain marks a walk that asks in the words of older servers: about no lists, and for
	// short ids.
	Plain bool `json:"plain,omitempty"`
	// Partial says that what a walk did not meet may be there: it was sent to another
	// address, or met something of which GitHub does not tell all.
	Partial bool `json:"partial,omitempty"`
	// Met is how many elements of a feed were met.
	Met int `json:"met,omitempty"`
	// Told is how many discovery said that a list has, see told.
	Told int64 `json:"told,omitempty"`
	// Org is the id of the organisation whose listing it is.
	Org int64 `json:"org,omitempty"`
	// Viewer is the id of the user who should be on the listing, as long as that was not
	// met: who is not on it need not see all that are.
	Viewer int64 `json:"viewer,omitempty"`
	// Heard marks a job that a webhook led to, Event is what that told, and HeardOf
	// when it was, where it matters.
	Heard   bool       `json:"heard,omitempty"`
	Event   *hookEvent `json:"event,omitempty"`
	HeardOf int64      `json:"heard_of,omitempty"`
	// Shared is what another account may have.
	Shared *shared `json:"shared,omitempty"`
	// Moved marks a job that already follows a redirect.
	Moved bool `json:"moved,omitempty"`
}

// repoRef is what jobs know about their repository: its address and what its
// documents inherit from it.
type repoRef struct {
	ID       int64  `json:"id"`
	Node     string `json:"node,omitempty"`
	Name     string `json:"name,omitempty"`
	Language string `json:"lang,omitempty"`
	Fork     bool   `json:"fork,omitempty"`
	Private  bool   `json:"private,omitempty"`
	External bool   `json:"external,omitempty"`
	// NoIssues says that the repository has no issues listing.
	NoIssues bool `json:"no_issues,omitempty"`
	// Adopted are the cursors, in microseconds, that another account with the same
	// credential had when what it has was copied: they hold for the rest of the run, which
	// began without them.
	Adopted map[string]int64 `json:"adopted,omitempty"`
}

func (r *repoRef) resource() string { return "repo:" + strconv.FormatInt(r.ID, 10) }

func userResource(login string) string { return "user:" + login }

func parseParams(raw []byte) (params, error) {
	var p params
	if len(raw) == 0 {
		return p, nil
	}
	err := json.Unmarshal(raw, &p)
	return p, err
}

func (p params) page() int { return max(p.Page, 1) }

// key names a page of the walk, apart from the pages of other walks.
func (p params) key(page string) string {
	if p.Full {
		page = strings.TrimSuffix(fullWalk+":"+page, ":")
	}
	if p.Tag != "" {
		page = strings.TrimSuffix(p.Tag+":"+page, ":")
	}
	return page
}

// spec makes the job of a type for a resource. It is a child unless it goes on
// with finding repositories; only a plan begins that.
func (p params) spec(typ, resource, pageKey, bucket string) domain.JobSpec {
	class := domain.ClassChild
	switch typ {
	case DiscoverReposPushed, UserProfile, DiscoverReposUpdated, DiscoverContributed, DiscoverRepo, DiscoverTarget:
		class = domain.ClassWalk
	}
	// Nothing in params can fail to encode.
	raw, _ := json.Marshal(p)
	if string(raw) == "{}" {
		raw = nil
	}
	return domain.JobSpec{
		Type: typ, Resource: resource, PageKey: pageKey, Bucket: bucket, Class: class, Params: raw, Expected: p.left(),
	}
}

// left is how many pages of a walk are to come, this one included.
func (p params) left() int {
	if p.Page > 1 && p.Page <= p.Announced {
		return p.Announced - p.Page + 1
	}
	return 1
}

// successor is the job of the page after this one.
func (c *call) successor(p params, pageKey string) domain.JobSpec {
	p.Page = c.p.page() + 1
	return p.spec(c.Job.Type, c.Job.Resource, pageKey, c.Job.Bucket)
}

// Public implements source.Lendable: what belongs to public repositories.
func (s *Source) Public(job domain.JobSpec) bool {
	p, err := parseParams(job.Params)
	if err != nil || job.Type == CheckRepo || job.Type == DiscoverRepo || (p.Repo == nil && len(p.Repos) == 0) {
		return false
	}
	return (p.Repo == nil || !p.Repo.Private) && !slices.ContainsFunc(p.Repos, func(r repoRef) bool { return r.Private })
}

// CursorKey names the cursor of a resource under the default options.
func CursorKey(typ, resource string) string { return typ + " " + resource }

// question tells apart the cursors of answers that are not alike: what was
// collected for a narrower question says nothing about a wider one. The default
// options have no word for it.
func (o *Options) question(typ, bucket string) string {
	switch typ {
	case CommitStats, RepoCommits, SweepCommits:
		if o.OnlyOwnCommits {
			return " own"
		}
	case DiscoverReposPushed, DiscoverReposUpdated:
		if o.Collaborator && bucket == BucketGraphQL {
			return " shared"
		}
	case RepoPulls, SweepPulls:
		// REST's listing does not tell additions and deletions.
		if bucket == BucketCore {
			return " rest"
		}
		return besideOf(o.Resources)
	}
	return ""
}

// cursorKey names the cursor of a resource under these options.
func (o *Options) cursorKey(typ, bucket, resource string) string {
	return CursorKey(typ, resource) + o.question(typ, bucket)
}

// StoredKey names the remembered page that a job's call can refer to; empty if
// its calls never do.
func (s *Source) StoredKey(job domain.JobSpec) string {
	op, ok := operationFor(job)
	if !ok || job.Type == DiscoverReposUpdated || (op.on304 == nil && (job.Type != CommitStats || untold(job.PageKey) != "")) {
		return ""
	}
	if job.Type == CommitStats {
		return s.opt.proofKey(job.Resource)
	}
	return storedKey(job.Type, job.Resource, job.PageKey)
}

// proofKey names where a history's proof is remembered.
func (o *Options) proofKey(resource string) string {
	return storedKey(CommitStats, resource, "") + o.question(CommitStats, BucketGraphQL)
}

func storedKey(typ, resource, pageKey string) string {
	return typ + " " + resource + " " + untold(pageKey)
}

// cursor moves the cursor of one of the resource's walks to where this one
// stands.
func (c *call) cursor(typ string) domain.Cursor { return c.cursorOf(typ, c.Job.Bucket) }

func (c *call) cursorOf(typ, bucket string) domain.Cursor {
	key := c.opt.cursorKey(typ, bucket, c.Job.Resource)
	return domain.Cursor{AccountID: c.Run.AccountID, Resource: key, At: countedAt(unix(c.p.At), c.p.Told)}
}

func unix(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
