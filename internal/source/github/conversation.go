package github

import (
	"path"
	"strconv"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What people say about issues and pull requests, and about lines of the latter.
var (
	repoComments = stream{item: commentElement.read, route: route{typ: RepoComments, sweep: SweepComments, kind: KindComment, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/issues/comments", path: "/issues/comments"}}
	repoReviewComments = stream{item: reviewCommentElement.read, route: route{typ: RepoReviewComments, sweep: SweepReviewComments,
		kind: KindReviewComment, bucket: BucketCore, endpoint: "GET /repositories/{id}/pulls/comments", path: "/pulls/comments"}}

	commentElement       = element{kind: KindComment, identity: "id", own: ownComment, fields: aboutThread, dated: true}
	reviewCommentElement = element{kind: KindReviewComment, identity: "id", own: ownReviewComment, fields: aboutThread, dated: true}
)

func commentKind() document.Declaration {
	return document.Declaration{Kind: KindComment, Source: Name, Plural: "comments", CountedAs: document.RoleComment,
		Doc: "comments on issues and pull requests", Columns: commentColumns(), Read: fromPayload(ownComment)}
}

func reviewCommentKind() document.Declaration {
	return document.Declaration{Kind: KindReviewComment, Source: Name, Plural: "review_comments", CountedAs: document.RoleComment,
		Doc: "comments on lines of pull requests", Columns: reviewCommentColumns(), Read: fromPayload(ownReviewComment)}
}

// aboutThread reads what a comment is about.
func aboutThread(f *document.Fields, name string, v gjson.Result) {
	if name == "issue_url" || name == "pull_request_url" {
		f.Number = lastNumber(text(v))
	}
}

// lastNumber is the number at the end of an address, zero if there is none.
func lastNumber(address string) int64 {
	n, err := strconv.ParseInt(path.Base(address), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func ownComment(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "body", "author_association":
		setText(f, name, v)
	case "reactions":
		setInteger(f, "reactions", v.Get("total_count"))
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func ownReviewComment(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "path", "diff_hunk":
		setText(f, name, v)
	case "commit_id":
		setText(f, "sha", v)
	case "pull_request_review_id":
		setInteger(f, "review_id", v)
	case "in_reply_to_id":
		setInteger(f, "reply_to", v)
	case "line":
		setInteger(f, "line", v)
	default:
		ownComment(f, name, v)
	}
}

func aboutColumn(what string) document.Column {
	return document.Column{Name: "number", Type: document.TypeInteger, From: document.FromNumber, Doc: "the number of the " + what + " that it is about"}
}

func remarkColumns(what string, own ...document.Column) []document.Column {
	columns := []document.Column{repositoryIDColumn, repositoryColumn, aboutColumn(what), bodyColumn, authorColumn, roleColumn,
		ownNumber("reactions", "", "how many reactions it has")}
	return table(document.TypeInteger, append(append(columns, own...), createdAtColumn, updatedAtColumn, urlColumn)...)
}

func commentColumns() []document.Column { return remarkColumns("issue or pull request") }

func reviewCommentColumns() []document.Column {
	return remarkColumns("pull request",
		ownNumber("review_id", "", "the id of the review that it is part of; null if it stands alone"),
		ownNumber("reply_to", "", "the id of the comment that it answers; null if it answers none"),
		repeated(ownText("path", "the file that it is about")),
		ownNumber("line", "", "the line of the file; null if that is not there any more"),
		repeated(ownText("sha", "the commit that it is about")),
		ownText("diff_hunk", "the lines around it"))
}
