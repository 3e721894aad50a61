package github

import (
	"slices"

	"sluice/internal/document"
)

// The kinds of documents. A pull request is among the pulls only, though GitHub
// lists it among the issues as well.
const (
	KindProfile    document.Kind = "profile"
	KindRepository document.Kind = "repository"
	KindCommit     document.Kind = "commit"
	KindIssue      document.Kind = "issue"
	KindPull       document.Kind = "pull"
	KindEvent      document.Kind = "event"
)

// Kinds declares what is collected and the columns of its tables.
func Kinds() document.Kinds {
	return document.Kinds{
		{Kind: KindRepository, Source: Name, Plural: "repositories", Container: true, CountedAs: document.RoleRepository,
			Doc: "repositories that the account owns, or that were collected beside them", Columns: repositoryColumns()},
		{Kind: KindCommit, Source: Name, Plural: "commits", CountedAs: document.RoleCommit,
			Doc: "commits of the default branches", Columns: commitColumns()},
		{Kind: KindIssue, Source: Name, Plural: "issues", CountedAs: document.RoleIssue,
			Doc: "issues; pull requests are not among them", Columns: issueColumns()},
		{Kind: KindPull, Source: Name, Plural: "pulls", CountedAs: document.RolePull,
			Doc: "pull requests", Columns: pullColumns()},
		{Kind: KindEvent, Source: Name, Plural: "events", Independent: true,
			Doc: "what the account did lately, as its timeline tells it", Columns: eventColumns()},
		{Kind: KindProfile, Source: Name, Plural: "profiles", Doc: "what an account says of itself"},
	}
}

// table is the columns of a kind between those that begin and end every table.
func table(id document.Type, own ...document.Column) []document.Column {
	return slices.Concat([]document.Column{
		{Name: "id", Type: id, From: document.FromName, Doc: "what names it at GitHub"},
		{Name: "account", Type: document.TypeText, From: document.FromAccount, Repeats: true, Doc: "the login that it was collected for"},
		{Name: "source", Type: document.TypeText, From: document.FromSource, Repeats: true, Doc: "where it was collected"},
	}, own, []document.Column{
		{Name: "deleted", Type: document.TypeBoolean, From: document.FromDeleted, Doc: "whether GitHub shows it no longer, by itself or with its repository"},
		{Name: "gone_since", Type: document.TypeInstant, From: document.FromGoneSince, Nullable: true, Doc: "since when it is gone, as far as that is known"},
		{Name: "gone_why", Type: document.TypeText, From: document.FromGoneWhy, Nullable: true, Repeats: true, Doc: "deleted, transferred, forbidden, blocked or rewritten"},
		{Name: "truncated", Type: document.TypeBoolean, From: document.FromTruncated, Doc: "whether its payload was too large to be kept whole"},
	})
}

// Columns that several kinds have.
var (
	repositoryIDColumn = document.Column{Name: "repository_id", Type: document.TypeInteger, From: document.FromContainer, Doc: "the id of its repository"}
	repositoryColumn   = document.Column{Name: "repository", Type: document.TypeText, From: document.FromContainerTitle, Nullable: true, Repeats: true,
		Doc: "the full name of its repository, if that is collected"}
	numberColumn    = document.Column{Name: "number", Type: document.TypeInteger, From: document.FromNumber, Doc: "its number in the repository"}
	stateColumn     = document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "open or closed"}
	titleColumn     = document.Column{Name: "title", Type: document.TypeText, From: document.FromTitle, Doc: "its title"}
	authorColumn    = document.Column{Name: "author", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Repeats: true, Doc: "the login of who made it"}
	additionsColumn = document.Column{Name: "additions", Type: document.TypeInteger, From: document.FromAdditions, Nullable: true, Unit: "lines", Doc: "lines added; null until they are measured"}
	deletionsColumn = document.Column{Name: "deletions", Type: document.TypeInteger, From: document.FromDeletions, Nullable: true, Unit: "lines", Doc: "lines deleted; null until they are measured"}
	createdAtColumn = instantColumn("created_at", document.FromCreatedAt, "when it was created")
	updatedAtColumn = instantColumn("updated_at", document.FromUpdatedAt, "when it was changed last")
	closedAtColumn  = instantColumn("closed_at", document.FromClosedAt, "when it was closed")
)

func instantColumn(name string, from document.Origin, doc string) document.Column {
	return document.Column{Name: name, Type: document.TypeInstant, From: from, Nullable: true, Doc: doc}
}

func repositoryColumns() []document.Column {
	return table(document.TypeInteger,
		repositoryIDColumn,
		document.Column{Name: "full_name", Type: document.TypeText, From: document.FromTitle, Doc: "owner/name"},
		document.Column{Name: "state", Type: document.TypeText, From: document.FromVisibleState, Repeats: true, Doc: "active, archived, empty or blocked"},
		document.Column{Name: "fork", Type: document.TypeBoolean, From: document.FromFork, Doc: "whether it is a fork"},
		document.Column{Name: "private", Type: document.TypeBoolean, From: document.FromPrivate, Doc: "whether it is private"},
		document.Column{Name: "external", Type: document.TypeBoolean, From: document.FromExternal, Doc: "whether somebody else owns it"},
		document.Column{Name: "stars", Type: document.TypeInteger, From: document.FromStars, Doc: "how many starred it"},
		document.Column{Name: "language", Type: document.TypeText, From: document.FromLanguage, Nullable: true, Repeats: true, Doc: "its main language"},
		createdAtColumn, updatedAtColumn)
}

func commitColumns() []document.Column {
	return table(document.TypeText,
		repositoryIDColumn, repositoryColumn,
		document.Column{Name: "sha", Type: document.TypeText, From: document.FromNameEnd, Doc: "its hash"},
		authorColumn, additionsColumn, deletionsColumn,
		instantColumn("committed_at", document.FromCreatedAt, "when it was committed"))
}

func issueColumns() []document.Column {
	return table(document.TypeInteger,
		repositoryIDColumn, repositoryColumn, numberColumn, stateColumn, titleColumn, authorColumn, createdAtColumn, updatedAtColumn, closedAtColumn,
		document.Column{Name: "closed_by", Type: document.TypeText, From: document.FromClosedBy, Nullable: true, Repeats: true, Doc: "the login of who closed it, if GitHub tells"})
}

func pullColumns() []document.Column {
	return table(document.TypeInteger,
		repositoryIDColumn, repositoryColumn, numberColumn, stateColumn, titleColumn, authorColumn, additionsColumn, deletionsColumn, createdAtColumn, updatedAtColumn, closedAtColumn,
		instantColumn("merged_at", document.FromMergedAt, "when it was merged"))
}

func eventColumns() []document.Column {
	mayBeNone := repositoryIDColumn
	mayBeNone.Nullable, mayBeNone.Doc = true, "the id of the repository that it is about, if it is about one"
	return table(document.TypeText,
		mayBeNone, repositoryColumn,
		document.Column{Name: "type", Type: document.TypeText, From: document.FromTitle, Repeats: true, Doc: "what happened, such as PushEvent"},
		document.Column{Name: "actor", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Repeats: true, Doc: "the login of who did it"},
		createdAtColumn)
}
