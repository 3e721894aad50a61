package github

import (
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

var (
	repoReviews = nested{item: readReview, connection: "reviews",
		fields: wideID + ` state body author{login} authorAssociation createdAt submittedAt updatedAt url commit{oid}`,
		route:  route{typ: RepoReviews, sweep: SweepReviews, kind: KindReview, bucket: BucketGraphQL}}

	reviewElement = element{kind: KindReview, identity: "databaseId", own: ownReview, dated: true,
		fields: func(f *document.Fields, name string, v gjson.Result) {
			if name == "state" {
				f.State = strings.ToLower(text(v))
			}
		}}
)

func reviewKind() document.Declaration {
	return document.Declaration{Kind: KindReview, Source: Name, Plural: "reviews", CountedAs: document.RoleReview, Doc: "reviews of pull requests; none of servers without GraphQL",
		Columns: reviewColumns(), Read: fromPayload(ownReview)}
}

func readReview(c *call, body []byte, i int, number int64) (doc document.Document, end int, wrong string) {
	doc, end, wrong = reviewElement.read(c, body, i)
	doc.Number = number
	return doc, end, wrong
}

func ownReview(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "body":
		setText(f, "body", v)
	case "authorAssociation":
		setText(f, "author_association", v)
	case "submittedAt":
		setInstant(f, "submitted_at", v)
	case "commit":
		setText(f, "sha", v.Get("oid"))
	case "url":
		setURL(f, name, v)
	}
}

func reviewColumns() []document.Column {
	return table(document.TypeInteger, repositoryIDColumn, repositoryColumn, aboutColumn("pull request"),
		document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true,
			Doc: "approved, changes_requested, commented, dismissed or pending"},
		bodyColumn, authorColumn, roleColumn, repeated(ownText("sha", "the commit that was reviewed")),
		ownColumn("submitted_at", document.TypeInstant, "when it was submitted; null while it is pending"),
		createdAtColumn, updatedAtColumn, urlColumn)
}
