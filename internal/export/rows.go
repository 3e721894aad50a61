package export

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// The tags of a row's fields are its columns in every format; a pointer may be
// null. Values that repeat a lot are kept once in Parquet (dict).

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
	Truncated    bool       `json:"truncated" parquet:"truncated"`
}

func repositoryRow(d *document.Document, at *place) (Repository, error) {
	id, err := number(d)
	return Repository{
		ID: id, Account: at.account.Login, Source: at.account.Source, RepositoryID: d.Repository,
		FullName: text(d.Title), State: text(d.State), Fork: d.Fork, Private: d.Private, External: d.External,
		Stars: d.Stars, Language: name(d.Language), CreatedAt: instant(d.CreatedAt), UpdatedAt: instant(d.UpdatedAt),
		Deleted: d.Deleted, Truncated: d.Truncated,
	}, err
}

func commitRow(d *document.Document, at *place) (Commit, error) {
	_, sha, ok := strings.Cut(d.Name, ":")
	if !ok {
		return Commit{}, oddName(d)
	}
	additions, deletions := lines(d)
	return Commit{
		ID: d.Name, Account: at.account.Login, Source: at.account.Source, RepositoryID: d.Repository, Repository: at.repository(d),
		SHA: sha, Author: name(d.Author), Additions: additions, Deletions: deletions, CommittedAt: instant(d.CreatedAt),
		Deleted: at.deleted(d), Truncated: d.Truncated,
	}, nil
}

func issueRow(d *document.Document, at *place) (Issue, error) {
	id, err := number(d)
	return Issue{
		ID: id, Account: at.account.Login, Source: at.account.Source, RepositoryID: d.Repository, Repository: at.repository(d),
		Number: d.Number, State: text(d.State), Title: text(d.Title), Author: name(d.Author),
		CreatedAt: instant(d.CreatedAt), UpdatedAt: instant(d.UpdatedAt), ClosedAt: instant(d.ClosedAt), ClosedBy: name(d.ClosedBy),
		Deleted: at.deleted(d), Truncated: d.Truncated,
	}, err
}

func pullRow(d *document.Document, at *place) (Pull, error) {
	id, err := number(d)
	additions, deletions := lines(d)
	return Pull{
		ID: id, Account: at.account.Login, Source: at.account.Source, RepositoryID: d.Repository, Repository: at.repository(d),
		Number: d.Number, State: text(d.State), Title: text(d.Title), Author: name(d.Author), Additions: additions, Deletions: deletions,
		CreatedAt: instant(d.CreatedAt), UpdatedAt: instant(d.UpdatedAt), ClosedAt: instant(d.ClosedAt), MergedAt: instant(d.MergedAt),
		Deleted: at.deleted(d), Truncated: d.Truncated,
	}, err
}

func eventRow(d *document.Document, at *place) (Event, error) {
	row := Event{
		ID: d.Name, Account: at.account.Login, Source: at.account.Source, Repository: at.repository(d),
		Type: text(d.Title), Actor: name(d.Author), CreatedAt: instant(d.CreatedAt),
		Deleted: at.deleted(d), Truncated: d.Truncated,
	}
	if repository := d.Repository; repository != 0 {
		row.RepositoryID = &repository
	}
	return row, nil
}

// repository is the full name of a document's repository, if it is collected.
func (p *place) repository(d *document.Document) *string { return name(p.homes[d.Repository].name) }

// deleted reports whether the document or its repository is gone upstream.
func (p *place) deleted(d *document.Document) bool {
	return d.Deleted || p.homes[d.Repository].deleted
}

// number is the database id that names a document.
func number(d *document.Document) (int64, error) {
	id, err := strconv.ParseInt(d.Name, 10, 64)
	if err != nil {
		return 0, oddName(d)
	}
	return id, nil
}

func oddName(d *document.Document) error {
	return domain.Errorf(domain.CodeCorrupt, "the stored %s %q of account %d has a name that cannot be", d.Kind, d.Name, d.Account)
}

// lines are the line counts, if they were measured. They are copies: a row
// outlives the document, which belongs to the store.
func lines(d *document.Document) (additions, deletions *int64) {
	if !d.Measured {
		return nil, nil
	}
	counts := [2]int64{d.Additions, d.Deletions}
	return &counts[0], &counts[1]
}

// text keeps what is not UTF-8 out of formats that promise it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func name(s string) *string {
	if s == "" {
		return nil
	}
	s = text(s)
	return &s
}

// instant is a time as exact as every format has it.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}
