package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What a repository has of its history beside commits: where its branches and tags
// stand, and who made them.
var (
	repoBranches = listing{item: branchElement.read, route: route{typ: RepoBranches, kind: KindBranch, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/branches", path: "/branches", mayHide: true}}
	repoTags = listing{item: tagElement.read, route: route{typ: RepoTags, kind: KindTag, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/tags", path: "/tags", mayHide: true}}
	repoContributors = listing{item: contributorElement.read, route: route{typ: RepoContributors, kind: KindContributor, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/contributors", path: "/contributors", mayHide: true}}

	branchElement      = element{kind: KindBranch, identity: "name", own: ownBranch, fields: titled("name")}
	tagElement         = element{kind: KindTag, identity: "name", own: ownTag, fields: titled("name")}
	contributorElement = element{kind: KindContributor, identity: "login", own: ownContributor, fields: titled("login")}
)

func branchKind() document.Declaration {
	return document.Declaration{Kind: KindBranch, Source: Name, Plural: "branches", Doc: "branches, and where they stand",
		Columns: refColumns(ownBoolean("protected", "whether it is protected")), Read: fromPayload(ownBranch)}
}

func tagKind() document.Declaration {
	return document.Declaration{Kind: KindTag, Source: Name, Plural: "tags", Doc: "tags, and where they stand",
		Columns: refColumns(), Read: fromPayload(ownTag)}
}

func contributorKind() document.Declaration {
	return document.Declaration{Kind: KindContributor, Source: Name, Plural: "contributors",
		Doc: "users who made commits of the default branch; GitHub does not tell them of very large repositories",
		Columns: table(document.TypeText, repositoryIDColumn, repositoryColumn,
			document.Column{Name: "login", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "their login"},
			repeated(ownText("type", "User or Bot")), ownNumber("contributions", "", "how many commits they made"), urlColumn),
		Read: fromPayload(ownContributor)}
}

func refColumns(own ...document.Column) []document.Column {
	columns := []document.Column{repositoryIDColumn, repositoryColumn,
		{Name: "name", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "its name"},
		ownText("sha", "the commit that it stands at")}
	return table(document.TypeText, append(columns, own...)...)
}

func ownBranch(f *document.Fields, name string, v gjson.Result) {
	if name == "protected" {
		setBoolean(f, "protected", v)
	}
	ownTag(f, name, v)
}

func ownTag(f *document.Fields, name string, v gjson.Result) {
	if name == "commit" {
		setText(f, "sha", v.Get("sha"))
	}
}

func ownContributor(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "type":
		setText(f, name, v)
	case "contributions":
		setInteger(f, name, v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}
