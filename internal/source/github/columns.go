package github

import "sluice/internal/document"

// Columns that several kinds have.
var (
	repositoryIDColumn = document.Column{Name: "repository_id", Type: document.TypeInteger, From: document.FromContainer, Doc: "the id of its repository"}
	repositoryColumn   = document.Column{Name: "repository", Type: document.TypeText, From: document.FromContainerTitle, Nullable: true, Repeats: true,
		Doc: "the full name of its repository, if that is collected"}
	numberColumn = document.Column{Name: "number", Type: document.TypeInteger, From: document.FromNumber, Doc: "its number in the repository"}
	stateColumn  = document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "open or closed"}
	titleColumn  = document.Column{Name: "title", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "its title"}
	authorColumn = document.Column{Name: "author", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Repeats: true,
		Doc: "the login of who made it; null if GitHub knows no user for it"}
	additionsColumn = document.Column{Name: "additions", Type: document.TypeInteger, From: document.FromAdditions, Nullable: true, Unit: "lines", Doc: "lines added; null until they are measured"}
	deletionsColumn = document.Column{Name: "deletions", Type: document.TypeInteger, From: document.FromDeletions, Nullable: true, Unit: "lines", Doc: "lines deleted; null until they are measured"}
	createdAtColumn = instantColumn("created_at", document.FromCreatedAt, "when it was created")
	updatedAtColumn = instantColumn("updated_at", document.FromUpdatedAt, "when it was changed last")
	closedAtColumn  = instantColumn("closed_at", document.FromClosedAt, "when it was closed; null while it is open")
	urlColumn       = ownText("url", "its address for people")
	bodyColumn      = searched(ownText("body", "its text, in Markdown; null if it has none"))
	lockedColumn    = ownBoolean("locked", "whether only collaborators may comment")
	roleColumn      = repeated(ownText("author_association", "what its author is to the repository: OWNER, MEMBER, CONTRIBUTOR, NONE …"))
	milestoneColumn = repeated(ownText("milestone", "the title of its milestone; null if it has none"))
)

func instantColumn(name string, from document.Origin, doc string) document.Column {
	return document.Column{Name: name, Type: document.TypeInstant, From: from, Nullable: true, Doc: doc}
}

// ownColumn is a column of a value that the kind's payload has (own.go).
func ownColumn(name string, t document.Type, doc string) document.Column {
	return document.Column{Name: name, Type: t, From: document.FromOwn, Nullable: true, Doc: doc}
}

func ownText(name, doc string) document.Column { return ownColumn(name, document.TypeText, doc) }

func ownBoolean(name, doc string) document.Column { return ownColumn(name, document.TypeBoolean, doc) }

func ownList(name, doc string) document.Column { return ownColumn(name, document.TypeList, doc) }

func ownNumber(name, unit, doc string) document.Column {
	c := ownColumn(name, document.TypeInteger, doc)
	c.Unit = unit
	return c
}

func repeated(c document.Column) document.Column {
	c.Repeats = true
	return c
}

func searched(c document.Column) document.Column {
	c.Searched = true
	return c
}

func repositoryColumns() []document.Column {
	return table(document.TypeInteger,
		repositoryIDColumn,
		document.Column{Name: "full_name", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "owner/name"},
		document.Column{Name: "owner", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Repeats: true, Doc: "the login of its owner"},
		searched(ownText("description", "what it says of itself; null if it says nothing")),
		document.Column{Name: "state", Type: document.TypeText, From: document.FromVisibleState, Repeats: true, Doc: "active, archived, empty or blocked"},
		document.Column{Name: "fork", Type: document.TypeBoolean, From: document.FromFork, Doc: "whether it is a fork"},
		document.Column{Name: "private", Type: document.TypeBoolean, From: document.FromPrivate, Doc: "whether it is private"},
		document.Column{Name: "external", Type: document.TypeBoolean, From: document.FromExternal, Doc: "whether somebody else owns it"},
		ownBoolean("archived", "whether it is archived, whatever else it is"),
		document.Column{Name: "stars", Type: document.TypeInteger, From: document.FromStars, Doc: "how many starred it"},
		ownNumber("forks", "", "how many forks it has"),
		ownNumber("open_issues", "", "how many issues and pull requests are open; null where GraphQL told of it: count the tables instead"),
		ownNumber("size", "kilobytes", "how large it is at GitHub"),
		document.Column{Name: "language", Type: document.TypeText, From: document.FromLanguage, Nullable: true, Repeats: true, Doc: "its main language"},
		ownList("topics", "its topics; null where GraphQL told of it: asked for, they would cost further points"),
		repeated(ownText("license", "its licence by its SPDX id, NOASSERTION if GitHub does not know it; null if there is none")),
		repeated(ownText("default_branch", "the branch whose commits are collected; null if it is empty")),
		ownText("homepage", "its home page"), urlColumn,
		createdAtColumn,
		instantColumn("updated_at", document.FromUpdatedAt, "when it was changed or pushed to last"),
		ownColumn("pushed_at", document.TypeInstant, "when it was pushed to last"))
}

func commitColumns() []document.Column {
	return table(document.TypeText,
		repositoryIDColumn, repositoryColumn,
		document.Column{Name: "sha", Type: document.TypeText, From: document.FromNameEnd, Doc: "its hash"},
		searched(ownText("message", "its whole message")),
		authorColumn,
		repeated(ownText("author_name", "the name of its author, as the commit says")),
		repeated(ownText("author_email", "the e-mail address of its author, as the commit says")),
		ownColumn("authored_at", document.TypeInstant, "when it was made first: a rebase keeps it"),
		repeated(ownText("committer", "the login of who committed it; null if GitHub knows no user for it, as for what it committed itself")),
		repeated(ownText("committer_name", "the name of its committer, as the commit says")),
		repeated(ownText("committer_email", "the e-mail address of its committer, as the commit says")),
		instantColumn("committed_at", document.FromCreatedAt, "when it was committed"),
		additionsColumn, deletionsColumn,
		ownNumber("changed_files", "files", "how many files it changed; null until they are counted, and for 300 and more in REST"),
		ownNumber("parents", "", "how many parents it has: 2 and more of a merge, 0 of a first commit"),
		ownBoolean("verified", "whether GitHub has verified its signature; null where GraphQL told of it"),
		urlColumn)
}

func issueColumns() []document.Column {
	return table(document.TypeInteger,
		repositoryIDColumn, repositoryColumn, numberColumn, stateColumn,
		repeated(ownText("state_reason", "why it is closed or open again: completed, not_planned, duplicate or reopened; null if nobody has said")),
		titleColumn, bodyColumn, authorColumn, roleColumn,
		ownList("labels", "the names of its labels"), ownList("assignees", "the logins of whom it is assigned to"), milestoneColumn,
		ownNumber("comments", "", "how many comments it has"), ownNumber("reactions", "", "how many reactions it has"), lockedColumn,
		createdAtColumn, updatedAtColumn, closedAtColumn,
		document.Column{Name: "closed_by", Type: document.TypeText, From: document.FromClosedBy, Nullable: true, Repeats: true, Doc: "the login of who closed it, if GitHub tells"},
		urlColumn)
}

func pullColumns() []document.Column {
	return table(document.TypeInteger,
		repositoryIDColumn, repositoryColumn, numberColumn, stateColumn,
		ownBoolean("draft", "whether it is a draft"), ownBoolean("merged", "whether it is merged"),
		titleColumn, bodyColumn, authorColumn, roleColumn,
		ownList("labels", "the names of its labels; null where those of several repositories were asked for at once and these would have cost further points"),
		ownList("assignees", "the logins of whom it is assigned to; null where GraphQL told of it: asked for, they would cost further points"),
		milestoneColumn,
		ownList("review_requests", "of whom a review is asked; null where GraphQL told of it, unless --resources names review_requests"),
		ownNumber("reactions", "", "how many reactions it has; null unless --resources names reactions"),
		ownNumber("comments", "", "how many comments it has, those of reviews included; null where REST told of it"), lockedColumn,
		repeated(ownText("base", "the branch that it is to be merged into")),
		repeated(ownText("base_repository", "the full name of the repository of that branch")),
		ownText("head", "the branch that it comes from"),
		repeated(ownText("head_repository", "the full name of the repository of that branch; null if it is gone")),
		additionsColumn, deletionsColumn,
		ownNumber("changed_files", "files", "how many files it changes; null where REST told of it"),
		createdAtColumn, updatedAtColumn, closedAtColumn,
		instantColumn("merged_at", document.FromMergedAt, "when it was merged; null if it is not"),
		document.Column{Name: "merged_by", Type: document.TypeText, From: document.FromClosedBy, Nullable: true, Repeats: true,
			Doc: "the login of who merged it; null where REST told of it"},
		urlColumn)
}

func eventColumns() []document.Column {
	mayBeNone := repositoryIDColumn
	mayBeNone.Nullable, mayBeNone.Doc = true, "the id of the repository that it is about, if it is about one"
	return table(document.TypeText,
		mayBeNone, repositoryColumn,
		document.Column{Name: "type", Type: document.TypeText, From: document.FromTitle, Repeats: true, Doc: "what happened, such as PushEvent"},
		repeated(ownText("action", "what was done, such as opened; null for types without actions")),
		document.Column{Name: "actor", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Repeats: true, Doc: "the login of who did it"},
		ownBoolean("public", "whether everybody can see it"),
		ownText("payload", "what GitHub tells of it, which differs from type to type, as JSON"),
		createdAtColumn)
}

func profileColumns() []document.Column {
	return table(document.TypeInteger,
		document.Column{Name: "login", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Doc: "its login"},
		document.Column{Name: "name", Type: document.TypeText, From: document.FromTitle, Nullable: true, Searched: true, Doc: "the name that is shown"},
		document.Column{Name: "type", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "User or Organization"},
		ownText("company", "where they work, as they say"), ownText("location", "where they are, as they say"),
		ownText("email", "the e-mail address that is shown"), ownText("blog", "their home page"),
		searched(ownText("bio", "what they say of themselves")),
		ownNumber("followers", "", "how many follow them"), ownNumber("following", "", "how many they follow"),
		ownNumber("public_repos", "", "how many public repositories they own"), ownNumber("public_gists", "", "how many public gists they have"),
		urlColumn, createdAtColumn, updatedAtColumn)
}
