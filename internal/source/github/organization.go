package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// The listings of an organisation. Outsiders see who is a member in public, to which
// GitHub redirects them, and no teams.
var (
	orgMembers = listing{item: readMember, route: route{typ: OrgMembers, kind: KindMember, bucket: BucketCore,
		endpoint: "GET /orgs/{org}/members", path: "/members", mayHide: true}}
	orgTeams = listing{item: readTeam, route: route{typ: OrgTeams, kind: KindTeam, bucket: BucketCore,
		endpoint: "GET /orgs/{org}/teams", path: "/teams", mayHide: true}}
)

// organizationJobs are the jobs that an organisation has beside its repositories; viewer is
// the user whose token it is, zero if that is nobody or not known.
func organizationJobs(run domain.Run, org, viewer int64) []domain.JobSpec {
	user := userResource(run.Login)
	return []domain.JobSpec{
		params{Org: org, Viewer: viewer}.spec(OrgMembers, user, "", BucketCore), params{Org: org}.spec(OrgTeams, user, "", BucketCore),
	}
}

func readMember(c *call, body []byte, i int) (doc document.Document, end int, wrong string) {
	id := int64(0)
	end = members(body, i, func(name string, v gjson.Result) {
		ownMember(&doc.Fields, name, v)
		switch name {
		case "id":
			id = v.Int()
		case "login":
			doc.Author = text(v)
		case "type":
			doc.State = text(v)
		}
	})
	if end < 0 || id == 0 {
		return doc, end, "a member is cut off or has no id"
	}
	return c.ofOrganization(doc, KindMember, id), end, ""
}

func readTeam(c *call, body []byte, i int) (doc document.Document, end int, wrong string) {
	id := int64(0)
	end = members(body, i, func(name string, v gjson.Result) {
		ownTeam(&doc.Fields, name, v)
		switch name {
		case "id":
			id = v.Int()
		case "name":
			doc.Title = text(v)
		case "privacy":
			doc.State = text(v)
		}
	})
	if end < 0 || id == 0 {
		return doc, end, "a team is cut off or has no id"
	}
	return c.ofOrganization(doc, KindTeam, id), end, ""
}

// ofOrganization completes a document of an organisation. It has no time of its own:
// what is read later is newer.
func (c *call) ofOrganization(doc document.Document, kind document.Kind, id int64) document.Document {
	doc.Key, doc.Repository, doc.Version = c.key(kind, formatID(id)), c.container(), unix(c.p.At)
	return doc
}

func ownMember(f *document.Fields, name string, v gjson.Result) {
	if name == "html_url" || name == "url" {
		setURL(f, name, v)
	}
}

func ownTeam(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "slug", "description", "permission":
		setText(f, name, v)
	case "parent":
		setText(f, "parent", v.Get("slug"))
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func memberColumns() []document.Column {
	return table(document.TypeInteger,
		document.Column{Name: "login", Type: document.TypeText, From: document.FromAuthor, Nullable: true, Doc: "the member's login"},
		document.Column{Name: "type", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "User or Bot"},
		urlColumn)
}

func teamColumns() []document.Column {
	return table(document.TypeInteger,
		document.Column{Name: "name", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "its name"},
		ownText("slug", "its name in addresses"),
		searched(ownText("description", "what it says of itself; null if it says nothing")),
		document.Column{Name: "privacy", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "closed, which all members see, or secret"},
		repeated(ownText("permission", "what it may do with its repositories unless one says otherwise")),
		repeated(ownText("parent", "the slug of the team that it is part of; null if there is none")),
		urlColumn)
}
