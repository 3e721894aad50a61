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
)

// What the rows of declared kinds have been like since they were first exported,
// written down a second time: the tags of a row's fields are its columns in every
// format; a pointer may be null.

// Repository is a row of the kind repositories.
type Repository struct {
	ID           int64      `json:"id" parquet:"id"`
	Account      string     `json:"account" parquet:"account,dict"`
	Source       string     `json:"source" parquet:"source,dict"`
	RepositoryID int64      `json:"repository_id" parquet:"repository_id"`
	FullName     string     `json:"full_name" parquet:"full_name"`
	State        string     `json:"state" parquet:"state,dict"`
	Fork         bool       `json:"fork" parquet:"fork"`
	Private      bool       `json:"private" parquet:"private"`
	External     bool       `json:"external" parquet:"external"`
	Stars        int64      `json:"stars" parquet:"stars"`
	Language     *string    `json:"language" parquet:"language,optional,dict"`
	CreatedAt    *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt    *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	Deleted      bool       `json:"deleted" parquet:"deleted"`
	GoneSince    *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy      *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated    bool       `json:"truncated" parquet:"truncated"`
}

// Commit is a row of the kind commits.
type Commit struct {
	ID           string  `json:"id" parquet:"id"`
	Account      string  `json:"account" parquet:"account,dict"`
	Source       string  `json:"source" parquet:"source,dict"`
	RepositoryID int64   `json:"repository_id" parquet:"repository_id"`
	Repository   *string `json:"repository" parquet:"repository,optional,dict"`
	SHA          string  `json:"sha" parquet:"sha"`
	Author       *string `json:"author" parquet:"author,optional,dict"`
	// Additions and Deletions are null until they are measured.
	Additions   *int64     `json:"additions" parquet:"additions,optional"`
	Deletions   *int64     `json:"deletions" parquet:"deletions,optional"`
	CommittedAt *time.Time `json:"committed_at" parquet:"committed_at,optional,timestamp(microsecond)"`
	Deleted     bool       `json:"deleted" parquet:"deleted"`
	GoneSince   *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy     *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated   bool       `json:"truncated" parquet:"truncated"`
}

// Issue is a row of the kind issues.
type Issue struct {
	ID           int64      `json:"id" parquet:"id"`
	Account      string     `json:"account" parquet:"account,dict"`
	Source       string     `json:"source" parquet:"source,dict"`
	RepositoryID int64      `json:"repository_id" parquet:"repository_id"`
	Repository   *string    `json:"repository" parquet:"repository,optional,dict"`
	Number       int64      `json:"number" parquet:"number"`
	State        string     `json:"state" parquet:"state,dict"`
	Title        string     `json:"title" parquet:"title"`
	Author       *string    `json:"author" parquet:"author,optional,dict"`
	CreatedAt    *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt    *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	ClosedAt     *time.Time `json:"closed_at" parquet:"closed_at,optional,timestamp(microsecond)"`
	ClosedBy     *string    `json:"closed_by" parquet:"closed_by,optional,dict"`
	Deleted      bool       `json:"deleted" parquet:"deleted"`
	GoneSince    *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy      *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated    bool       `json:"truncated" parquet:"truncated"`
}

// Pull is a row of the kind pulls.
type Pull struct {
	ID           int64      `json:"id" parquet:"id"`
	Account      string     `json:"account" parquet:"account,dict"`
	Source       string     `json:"source" parquet:"source,dict"`
	RepositoryID int64      `json:"repository_id" parquet:"repository_id"`
	Repository   *string    `json:"repository" parquet:"repository,optional,dict"`
	Number       int64      `json:"number" parquet:"number"`
	State        string     `json:"state" parquet:"state,dict"`
	Title        string     `json:"title" parquet:"title"`
	Author       *string    `json:"author" parquet:"author,optional,dict"`
	Additions    *int64     `json:"additions" parquet:"additions,optional"`
	Deletions    *int64     `json:"deletions" parquet:"deletions,optional"`
	CreatedAt    *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	UpdatedAt    *time.Time `json:"updated_at" parquet:"updated_at,optional,timestamp(microsecond)"`
	ClosedAt     *time.Time `json:"closed_at" parquet:"closed_at,optional,timestamp(microsecond)"`
	MergedAt     *time.Time `json:"merged_at" parquet:"merged_at,optional,timestamp(microsecond)"`
	Deleted      bool       `json:"deleted" parquet:"deleted"`
	GoneSince    *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy      *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated    bool       `json:"truncated" parquet:"truncated"`
}

// Event is a row of the kind events. Its repository's name is null unless that
// repository is collected too.
type Event struct {
	ID           string     `json:"id" parquet:"id"`
	Account      string     `json:"account" parquet:"account,dict"`
	Source       string     `json:"source" parquet:"source,dict"`
	RepositoryID *int64     `json:"repository_id" parquet:"repository_id,optional"`
	Repository   *string    `json:"repository" parquet:"repository,optional,dict"`
	Type         string     `json:"type" parquet:"type,dict"`
	Actor        *string    `json:"actor" parquet:"actor,optional,dict"`
	CreatedAt    *time.Time `json:"created_at" parquet:"created_at,optional,timestamp(microsecond)"`
	Deleted      bool       `json:"deleted" parquet:"deleted"`
	GoneSince    *time.Time `json:"gone_since" parquet:"gone_since,optional,timestamp(microsecond)"`
	GoneWhy      *string    `json:"gone_why" parquet:"gone_why,optional,dict"`
	Truncated    bool       `json:"truncated" parquet:"truncated"`
}
