package export_test

import (
	"time"

	"sluice/internal/export"
)

// The kinds of documents that are exported.
const (
	kindRepositories export.Kind = "repositories"
	kindCommits      export.Kind = "commits"
	kindIssues       export.Kind = "issues"
	kindPulls        export.Kind = "pulls"
	kindEvents       export.Kind = "events"
	kindProfiles     export.Kind = "profiles"
)

// What the rows of declared kinds have been like since they were first exported,
// written down a second time: the tags of a row's fields are its columns in every
// format; a pointer may be null.

// Repository is a row of the kind repositories.
type Repository struct {
	ID            int64      `json:"id" parquet:"id"`
	Account       string     `json:"account" parquet:"account,dict"`
	Source        string     `json:"source" parquet:"source,dict"`
	RepositoryID  int64      `json:"repository_id" parquet:"repository_id"`
	FullName      string     `json:"full_name" parquet:"full_name"`
	Owner         *string    `json:"owner" parquet:"owner,optional,dict"`
	Description   *string    `json:"description" parquet:"description,optional"`
	State         string     `json:"state" parquet:"state,dict"`
	Fork          bool       `json:"fork" parquet:"fork"`
	Private       bool       `json:"private" parquet:"private"`
	External      bool       `json:"external" parquet:"external"`
	Archived      *bool      `json:"archived" parquet:"archived,optional"`
	Stars         int64      `json:"stars" parquet:"stars"`
	Forks         *int64     `json:"forks" parquet:"forks,optional"`
	OpenIssues    *int64     `json:"open_issues" parquet:"open_issues,optional"`
	Size          *int64     `json:"size" parquet:"size,optional"`
	Language      *string    `json:"language" parquet:"language,optional,dict"`
	Topics        []string   `json:"topics" parquet:"topics,list,optional"`
	License       *string    `json:"license" parquet:"license,optional,dict"`
	DefaultBranch *string    `json:"default_branch" parquet:"default_branch,optional,dict"`
	Homepage      *string    `json:"homepage" parquet:"homepage,optional"`
	URL           *string    `json:"url" parquet:"url,optional"`
	CreatedAt     *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt     *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	PushedAt      *time.Time `json:"pushed_at" parquet:"pushed_at,optional,timestamp(microsecond)"`
	Deleted       bool       `json:"deleted" parquet:"deleted"`
	GoneSince     *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy       *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated     bool       `json:"truncated" parquet:"truncated"`
}

// Commit is a row of the kind commits.
type Commit struct {
	ID             string     `json:"id" parquet:"id"`
	Account        string     `json:"account" parquet:"account,dict"`
	Source         string     `json:"source" parquet:"source,dict"`
	RepositoryID   int64      `json:"repository_id" parquet:"repository_id"`
	Repository     *string    `json:"repository" parquet:"repository,optional,dict"`
	SHA            string     `json:"sha" parquet:"sha"`
	Message        *string    `json:"message" parquet:"message,optional"`
	Author         *string    `json:"author" parquet:"author,optional,dict"`
	AuthorName     *string    `json:"author_name" parquet:"author_name,optional,dict"`
	AuthorEmail    *string    `json:"author_email" parquet:"author_email,optional,dict"`
	AuthoredAt     *time.Time `json:"authored_at" parquet:"authored_at,optional,timestamp(microsecond)"`
	Committer      *string    `json:"committer" parquet:"committer,optional,dict"`
	CommitterName  *string    `json:"committer_name" parquet:"committer_name,optional,dict"`
	CommitterEmail *string    `json:"committer_email" parquet:"committer_email,optional,dict"`
	CommittedAt    *time.Time `json:"committed_at" parquet:"committed_at,optional,timestamp(microsecond)"`
	Additions      *int64     `json:"additions" parquet:"additions,optional"`
	Deletions      *int64     `json:"deletions" parquet:"deletions,optional"`
	ChangedFiles   *int64     `json:"changed_files" parquet:"changed_files,optional"`
	Parents        *int64     `json:"parents" parquet:"parents,optional"`
	Verified       *bool      `json:"verified" parquet:"verified,optional"`
	URL            *string    `json:"url" parquet:"url,optional"`
	Deleted        bool       `json:"deleted" parquet:"deleted"`
	GoneSince      *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy        *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated      bool       `json:"truncated" parquet:"truncated"`
}

// Issue is a row of the kind issues.
type Issue struct {
	ID                int64      `json:"id" parquet:"id"`
	Account           string     `json:"account" parquet:"account,dict"`
	Source            string     `json:"source" parquet:"source,dict"`
	RepositoryID      int64      `json:"repository_id" parquet:"repository_id"`
	Repository        *string    `json:"repository" parquet:"repository,optional,dict"`
	Number            int64      `json:"number" parquet:"number"`
	State             string     `json:"state" parquet:"state,dict"`
	StateReason       *string    `json:"state_reason" parquet:"state_reason,optional,dict"`
	Title             string     `json:"title" parquet:"title"`
	Body              *string    `json:"body" parquet:"body,optional"`
	Author            *string    `json:"author" parquet:"author,optional,dict"`
	AuthorAssociation *string    `json:"author_association" parquet:"author_association,optional,dict"`
	Labels            []string   `json:"labels" parquet:"labels,list,optional"`
	Assignees         []string   `json:"assignees" parquet:"assignees,list,optional"`
	Milestone         *string    `json:"milestone" parquet:"milestone,optional,dict"`
	Comments          *int64     `json:"comments" parquet:"comments,optional"`
	Reactions         *int64     `json:"reactions" parquet:"reactions,optional"`
	Locked            *bool      `json:"locked" parquet:"locked,optional"`
	CreatedAt         *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt         *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	ClosedAt          *time.Time `json:"closed_at" parquet:"closed_at,optional,timestamp(microsecond)"`
	ClosedBy          *string    `json:"closed_by" parquet:"closed_by,optional,dict"`
	URL               *string    `json:"url" parquet:"url,optional"`
	Deleted           bool       `json:"deleted" parquet:"deleted"`
	GoneSince         *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy           *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated         bool       `json:"truncated" parquet:"truncated"`
}

// Pull is a row of the kind pulls.
type Pull struct {
	ID                int64      `json:"id" parquet:"id"`
	Account           string     `json:"account" parquet:"account,dict"`
	Source            string     `json:"source" parquet:"source,dict"`
	RepositoryID      int64      `json:"repository_id" parquet:"repository_id"`
	Repository        *string    `json:"repository" parquet:"repository,optional,dict"`
	Number            int64      `json:"number" parquet:"number"`
	State             string     `json:"state" parquet:"state,dict"`
	Draft             *bool      `json:"draft" parquet:"draft,optional"`
	Merged            *bool      `json:"merged" parquet:"merged,optional"`
	Title             string     `json:"title" parquet:"title"`
	Body              *string    `json:"body" parquet:"body,optional"`
	Author            *string    `json:"author" parquet:"author,optional,dict"`
	AuthorAssociation *string    `json:"author_association" parquet:"author_association,optional,dict"`
	Labels            []string   `json:"labels" parquet:"labels,list,optional"`
	Assignees         []string   `json:"assignees" parquet:"assignees,list,optional"`
	Milestone         *string    `json:"milestone" parquet:"milestone,optional,dict"`
	ReviewRequests    []string   `json:"review_requests" parquet:"review_requests,list,optional"`
	Reactions         *int64     `json:"reactions" parquet:"reactions,optional"`
	Comments          *int64     `json:"comments" parquet:"comments,optional"`
	Locked            *bool      `json:"locked" parquet:"locked,optional"`
	Base              *string    `json:"base" parquet:"base,optional,dict"`
	BaseRepository    *string    `json:"base_repository" parquet:"base_repository,optional,dict"`
	Head              *string    `json:"head" parquet:"head,optional"`
	HeadRepository    *string    `json:"head_repository" parquet:"head_repository,optional,dict"`
	Additions         *int64     `json:"additions" parquet:"additions,optional"`
	Deletions         *int64     `json:"deletions" parquet:"deletions,optional"`
	ChangedFiles      *int64     `json:"changed_files" parquet:"changed_files,optional"`
	CreatedAt         *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt         *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	ClosedAt          *time.Time `json:"closed_at" parquet:"closed_at,optional,timestamp(microsecond)"`
	MergedAt          *time.Time `json:"merged_at" parquet:"merged_at,optional,timestamp(microsecond)"`
	MergedBy          *string    `json:"merged_by" parquet:"merged_by,optional,dict"`
	URL               *string    `json:"url" parquet:"url,optional"`
	Deleted           bool       `json:"deleted" parquet:"deleted"`
	GoneSince         *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy           *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated         bool       `json:"truncated" parquet:"truncated"`
}

// Event is a row of the kind events.
type Event struct {
	ID           string     `json:"id" parquet:"id"`
	Account      string     `json:"account" parquet:"account,dict"`
	Source       string     `json:"source" parquet:"source,dict"`
	RepositoryID *int64     `json:"repository_id" parquet:"repository_id,optional"`
	Repository   *string    `json:"repository" parquet:"repository,optional,dict"`
	Type         string     `json:"type" parquet:"type,dict"`
	Action       *string    `json:"action" parquet:"action,optional,dict"`
	Actor        *string    `json:"actor" parquet:"actor,optional,dict"`
	Public       *bool      `json:"public" parquet:"public,optional"`
	Payload      *string    `json:"payload" parquet:"payload,optional"`
	CreatedAt    *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	Deleted      bool       `json:"deleted" parquet:"deleted"`
	GoneSince    *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy      *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated    bool       `json:"truncated" parquet:"truncated"`
}

// Profile is a row of the kind profiles.
type Profile struct {
	ID          int64      `json:"id" parquet:"id"`
	Account     string     `json:"account" parquet:"account,dict"`
	Source      string     `json:"source" parquet:"source,dict"`
	Login       *string    `json:"login" parquet:"login,optional"`
	Name        *string    `json:"name" parquet:"name,optional"`
	Type        string     `json:"type" parquet:"type,dict"`
	Company     *string    `json:"company" parquet:"company,optional"`
	Location    *string    `json:"location" parquet:"location,optional"`
	Email       *string    `json:"email" parquet:"email,optional"`
	Blog        *string    `json:"blog" parquet:"blog,optional"`
	Bio         *string    `json:"bio" parquet:"bio,optional"`
	Followers   *int64     `json:"followers" parquet:"followers,optional"`
	Following   *int64     `json:"following" parquet:"following,optional"`
	PublicRepos *int64     `json:"public_repos" parquet:"public_repos,optional"`
	PublicGists *int64     `json:"public_gists" parquet:"public_gists,optional"`
	URL         *string    `json:"url" parquet:"url,optional"`
	CreatedAt   *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt   *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	Deleted     bool       `json:"deleted" parquet:"deleted"`
	GoneSince   *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy     *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated   bool       `json:"truncated" parquet:"truncated"`
}
