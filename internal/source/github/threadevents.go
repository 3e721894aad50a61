package github

import (
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What happens to issues and pull requests, and what is talked about beside them.
var (
	repoIssueEvents = feed{item: issueEventElement.read, route: route{typ: RepoIssueEvents, sweep: SweepIssueEvents, kind: KindIssueEvent, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/issues/events", path: "/issues/events", mayHide: true}}
	repoDiscussions = connected{item: discussionElement.read, connection: "discussions",
		fields: `databaseId number title body author{login} authorAssociation category{name} isAnswered closed locked upvoteCount createdAt updatedAt url`,
		route:  route{typ: RepoDiscussions, sweep: SweepDiscussions, kind: KindDiscussion, bucket: BucketGraphQL}}

	issueEventElement = element{kind: KindIssueEvent, identity: "id", own: ownIssueEvent, fields: issueEventFields}
	discussionElement = element{kind: KindDiscussion, identity: "databaseId", own: ownDiscussion, fields: discussionFields, dated: true}
)

func issueEventKind() document.Declaration {
	return document.Declaration{Kind: KindIssueEvent, Source: Name, Plural: "issue_events",
		Doc: "what happened to issues and pull requests: labels, assignments, closes, references",
		Columns: table(document.TypeInteger, repositoryIDColumn, repositoryColumn, aboutColumn("issue or pull request"),
			document.Column{Name: "event", Type: document.TypeText, From: document.FromTitle, Repeats: true, Doc: "what happened, such as labeled or closed"},
			document.Column{Name: "actor", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Repeats: true, Doc: "the login of who did it"},
			repeated(ownText("label", "the label that was added or taken away")), repeated(ownText("assignee", "who was assigned, or no longer is")),
			repeated(ownText("milestone", "the milestone that it was put into or taken out of")),
			ownText("renamed_to", "the new title"), ownText("sha", "the commit that did it or refers to it"),
			createdAtColumn),
		Read: fromPayload(ownIssueEvent)}
}

func discussionKind() document.Declaration {
	return document.Declaration{Kind: KindDiscussion, Source: Name, Plural: "discussions", Doc: "discussions; none of servers without GraphQL",
		Columns: table(document.TypeInteger, repositoryIDColumn, repositoryColumn, numberColumn, stateColumn, titleColumn, bodyColumn, authorColumn, roleColumn,
			repeated(ownText("category", "its category")), ownBoolean("answered", "whether it has an answer; null where its category has none"),
			ownNumber("upvotes", "", "how many voted for it"), lockedColumn, createdAtColumn, updatedAtColumn, urlColumn),
		Read: fromPayload(ownDiscussion)}
}

func issueEventFields(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "event":
		f.Title = text(v)
	case "issue":
		f.Number = v.Get("number").Int()
	}
}

func ownIssueEvent(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "label":
		setText(f, "label", v.Get("name"))
	case "assignee":
		setText(f, "assignee", v.Get("login"))
	case "milestone":
		setText(f, "milestone", v.Get("title"))
	case "rename":
		setText(f, "renamed_to", v.Get("to"))
	case "commit_id":
		setText(f, "sha", v)
	}
}

func discussionFields(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "number":
		f.Number = v.Int()
	case "title":
		f.Title = text(v)
	case "closed":
		f.State = map[bool]string{true: "closed", false: "open"}[v.Bool()]
	}
}

func ownDiscussion(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "body":
		setText(f, name, v)
	case "authorAssociation":
		setText(f, "author_association", v)
	case "category":
		setText(f, "category", v.Get("name"))
	case "isAnswered":
		setBoolean(f, "answered", v)
	case "upvoteCount":
		setInteger(f, "upvotes", v)
	case "locked":
		setBoolean(f, "locked", v)
	case "url":
		setURL(f, name, v)
	}
}

// What pull requests consist of.
var (
	repoPullCommits = nested{item: readPullCommit, connection: "commits",
		fields: `commit{oid messageHeadline committedDate additions deletions url author{name email user{login}}}`,
		route:  route{typ: RepoPullCommits, sweep: SweepPullCommits, kind: KindPullCommit, bucket: BucketGraphQL}}
	repoPullFiles = nested{item: readPullFile, connection: "files", fields: `path additions deletions changeType`,
		route: route{typ: RepoPullFiles, sweep: SweepPullFiles, kind: KindPullFile, bucket: BucketGraphQL}}
)

func pullCommitKind() document.Declaration {
	return document.Declaration{Kind: KindPullCommit, Source: Name, Plural: "pull_commits", Doc: "the commits of pull requests; none of servers without GraphQL",
		Columns: table(document.TypeText, repositoryIDColumn, repositoryColumn, aboutColumn("pull request"), ownText("sha", "its hash"),
			document.Column{Name: "title", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "the first line of its message"},
			authorColumn, repeated(ownText("author_name", "the name of its author, as the commit says")),
			repeated(ownText("author_email", "the e-mail address of its author, as the commit says")),
			additionsColumn, deletionsColumn, instantColumn("committed_at", document.FromCreatedAt, "when it was committed"), urlColumn),
		Read: fromPayload(ownPullCommit)}
}

func pullFileKind() document.Declaration {
	return document.Declaration{Kind: KindPullFile, Source: Name, Plural: "pull_files", Doc: "the files that pull requests change; none of servers without GraphQL",
		Columns: table(document.TypeText, repositoryIDColumn, repositoryColumn, aboutColumn("pull request"),
			document.Column{Name: "path", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "the file"},
			document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "added, modified, deleted, renamed …"},
			additionsColumn, deletionsColumn),
		Read: func([]byte, *document.Fields) {}}
}

// readPullCommit reads a commit of a pull request, which may be one of several.
func readPullCommit(c *call, body []byte, i int, number int64) (doc document.Document, end int, wrong string) {
	sha := ""
	end = members(body, i, func(name string, v gjson.Result) {
		ownPullCommit(&doc.Fields, name, v)
		if name == "commit" {
			sha, doc.Title, doc.Author = text(v.Get("oid")), text(v.Get("messageHeadline")), login(v.Get("author.user"))
			doc.CreatedAt = when(v.Get("committedDate"))
			doc.Additions, doc.Deletions, doc.Measured = v.Get("additions").Int(), v.Get("deletions").Int(), true
		}
	})
	if end < 0 || sha == "" {
		return doc, end, "a commit of a pull request is cut off or has no hash"
	}
	return c.ofPull(doc, KindPullCommit, number, sha), end, ""
}

func readPullFile(c *call, body []byte, i int, number int64) (doc document.Document, end int, wrong string) {
	end = members(body, i, func(name string, v gjson.Result) {
		switch name {
		case "path":
			doc.Title = text(v)
		case "changeType":
			doc.State = strings.ToLower(text(v))
		case "additions":
			doc.Additions, doc.Measured = v.Int(), true
		case "deletions":
			doc.Deletions = v.Int()
		}
	})
	if end < 0 || doc.Title == "" {
		return doc, end, "a file of a pull request is cut off or has no path"
	}
	return c.ofPull(doc, KindPullFile, number, doc.Title), end, ""
}

// ofPull completes what belongs to a pull request. It has no time of its own: what is
// read later is newer.
func (c *call) ofPull(doc document.Document, kind document.Kind, number int64, name string) document.Document {
	c.inherit(&doc.Fields)
	doc.Number = number
	doc.Key, doc.Version = c.key(kind, c.within(formatID(number)+":"+name)), unix(c.p.At)
	return doc
}

func ownPullCommit(f *document.Fields, name string, v gjson.Result) {
	if name == "commit" {
		setText(f, "sha", v.Get("oid"))
		setText(f, "author_name", v.Get("author.name"))
		setText(f, "author_email", v.Get("author.email"))
		setText(f, "url", v.Get("url"))
	}
}
