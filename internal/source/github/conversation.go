package github

import (
	"path"
	"strconv"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What people say about issues and pull requests, and about lines of the latter.
var (
	repoComments = stream{typ: RepoComments, sweep: SweepComments, kind: KindComment,
		endpoint: "GET /repositories/{id}/issues/comments", path: "/issues/comments", item: readComment}
	repoReviewComments = stream{typ: RepoReviewComments, sweep: SweepReviewComments, kind: KindReviewComment,
		endpoint: "GET /repositories/{id}/pulls/comments", path: "/pulls/comments", item: readReviewComment}
)

func commentKind() document.Declaration {
	return document.Declaration{Kind: KindComment, Source: Name, Plural: "comments",
		Doc: "comments on issues and pull requests", Columns: commentColumns(), Read: fromPayload(ownComment)}
}

func reviewCommentKind() document.Declaration {
	return document.Declaration{Kind: KindReviewComment, Source: Name, Plural: "review_comments",
		Doc: "comments on lines of pull requests", Columns: reviewCommentColumns(), Read: fromPayload(ownReviewComment)}
}

func readComment(c *call, body []byte, i int) (document.Document, int, string) {
	return c.remark(body, i, KindComment, "issue_url", ownComment)
}

func readReviewComment(c *call, body []byte, i int) (document.Document, int, string) {
	return c.remark(body, i, KindReviewComment, "pull_request_url", ownReviewComment)
}

// remark reads a comment; about is the member with the address of what it is about.
func (c *call) remark(body []byte, i int, kind document.Kind, about string, own ownReader) (doc document.Document, end int, wrong string) {
	id := int64(0)
	end = members(body, i, func(name string, v gjson.Result) {
		own(&doc.Fields, name, v)
		switch name {
		case "id":
			id = v.Int()
		case about:
			doc.Number = lastNumber(text(v))
		case "user":
			doc.Author = login(v)
		case "created_at":
			doc.CreatedAt = when(v)
		case "updated_at":
			doc.UpdatedAt = when(v)
		}
	})
	if end < 0 || id == 0 || doc.UpdatedAt.IsZero() {
		return doc, end, "a comment is cut off or has no id or no time"
	}
	c.inherit(&doc.Fields)
	doc.Key, doc.Version = c.key(kind, formatID(id)), doc.UpdatedAt
	return doc, end, ""
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
