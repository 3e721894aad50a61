package github

import (
	"encoding/json"
	"slices"
	"strconv"
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
	CommitStats          = "COMMIT_STATS"
	RepoCommits          = "REPO_COMMITS"
	CommitDetail         = "COMMIT_DETAIL"
	RepoIssues           = "REPO_ISSUES"
	RepoPulls            = "REPO_PULLS"
	SweepIssues          = "SWEEP_ISSUES"
	SweepPulls           = "SWEEP_PULLS"
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
	// URL is the REST target of a later page, or of a moved resource.
	URL string `json:"url,omitempty"`
	// After is the GraphQL cursor of a later page.
	After string `json:"after,omitempty"`
	// Page counts from 1; zero means the first. Announced is how many pages
	// the first one promised.
	Page      int `json:"page,omitempty"`
	Announced int `json:"announced,omitempty"`
	// At is the instant the walk stands for, taken with its first page: where
	// its cursor moves in the end.
	At int64 `json:"at,omitempty"`
	// Since bounds a walk that asks for changes only.
	Since int64 `json:"since,omitempty"`
	// Owner is the account's node id, where a query must name it.
	Owner string `json:"owner,omitempty"`
	// Changes makes an issues walk hand on the pull requests it meets. IDs are
	// the node ids met so far and not fetched yet; Then is the page of the
	// issues walk that goes on after the batch.
	Changes bool     `json:"changes,omitempty"`
	IDs     []string `json:"ids,omitempty"`
	Then    *params  `json:"then,omitempty"`
	// Again marks a batch that asks once more for what an answer left out.
	Again bool `json:"again,omitempty"`
	// Full makes a commit walk ignore the cursor. Head and Total are what its
	// first page said about the whole history.
	Full  bool   `json:"full,omitempty"`
	Head  string `json:"head,omitempty"`
	Total int    `json:"total,omitempty"`
	// Last is the highest number that a sweep has passed.
	Last int64 `json:"last,omitempty"`
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

// spec makes the job of a type for a resource. It is a child unless it goes on
// with finding repositories; only a plan begins that.
func (p params) spec(typ, resource, pageKey, bucket string) domain.JobSpec {
	class := domain.ClassChild
	switch typ {
	case DiscoverReposPushed, UserProfile, DiscoverReposUpdated, DiscoverContributed:
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
	if err != nil || (p.Repo == nil && len(p.Repos) == 0) {
		return false
	}
	return (p.Repo == nil || !p.Repo.Private) && !slices.ContainsFunc(p.Repos, func(r repoRef) bool { return r.Private })
}

// CursorKey names the cursor of a resource.
func CursorKey(typ, resource string) string { return typ + " " + resource }

// StoredKey names the remembered page that a job's call can refer to; empty if
// its calls never do.
func (s *Source) StoredKey(job domain.JobSpec) string {
	op, ok := operationFor(job)
	if !ok || (op.on304 == nil && (job.Type != CommitStats || job.PageKey != "")) {
		return ""
	}
	return storedKey(job.Type, job.Resource, job.PageKey)
}

func storedKey(typ, resource, pageKey string) string {
	return typ + " " + resource + " " + pageKey
}

func (c *call) cursor(typ string) domain.Cursor {
	return domain.Cursor{AccountID: c.Run.AccountID, Resource: CursorKey(typ, c.Job.Resource), At: unix(c.p.At)}
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
