package github

import (
	"testing"
	"time"

	"sluice/internal/document"

	sim "sluice/internal/simulator/github"
)

// TestOwnValuesAreCollected: every column has values, by GraphQL, by REST or by
// both, and those that were collected are what the stored payload gives.
func TestOwnValuesAreCollected(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 5, Accounts: 4, Organizations: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(6), Commits: sim.Exactly(20), Issues: sim.Exactly(40), Pulls: sim.Exactly(12)}})
	kinds := Kinds()
	met := map[string]bool{}
	for _, opt := range []Options{{Resources: ResourceNames()}, {NoGraphQL: true, Resources: ResourceNames()}} {
		for _, login := range w.Logins() {
			d := w.driver(t, opt, login)
			d.run(time.Now())
			d.noFailures()
			for _, doc := range d.docs {
				kind := kinds.Of(doc.Kind)
				if err := kinds.CheckDocuments([]document.Document{doc}); err != nil {
					t.Fatal(err)
				}
				var again document.Fields
				kind.Read(doc.Raw, &again)
				if len(again.Own) != len(doc.Own) {
					t.Fatalf("%s %s: collected %v, and the payload has %v", doc.Kind, doc.Name, doc.Own, again.Own)
				}
				for name, v := range doc.Own {
					met[string(doc.Kind)+"."+name] = true
					if again.Own[name] != v {
						t.Errorf("%s %s: %s is %+v, and %+v in the payload", doc.Kind, doc.Name, name, v, again.Own[name])
					}
				}
			}
		}
	}
	// The simulator has nobody who says so.
	never := map[string]bool{"commit.committer": true, "profile.email": true, "profile.bio": true, "profile.blog": true, "team.parent": true}
	for _, kind := range kinds {
		for _, c := range kind.Columns {
			if name := string(kind.Kind) + "." + c.Name; c.From == document.FromOwn && met[name] == never[name] {
				t.Errorf("%s was met: %t", name, met[name])
			}
		}
	}
}

// TestOwnValuesOfPayloads reads payloads as GitHub shows them, in REST and in
// GraphQL, and odd ones.
func TestOwnValuesOfPayloads(t *testing.T) {
	text, number, yes := document.Text, document.Integer, document.Boolean
	at := document.Instant(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, c := range []struct {
		kind document.Kind
		raw  string
		want document.Values
	}{
		{KindCommit, `{"oid":"a","message":"fix \u0000 it\n\nlong","authoredDate":"2026-01-02T03:04:05Z","changedFilesIfAvailable":3,"url":"https://x",
			"author":{"name":"Ann","email":"a@x","user":null},"committer":{"name":"GitHub","email":"n@x","user":{"login":"web-flow"}},"parents":{"totalCount":2}}`,
			document.Values{"message": text("fix \uFFFD it\n\nlong"), "authored_at": at, "changed_files": number(3), "url": text("https://x"), "author_name": text("Ann"),
				"author_email": text("a@x"), "committer": text("web-flow"), "committer_name": text("GitHub"), "committer_email": text("n@x"), "parents": number(2)}},
		{KindCommit, `{"sha":"a","url":"https://api","html_url":"https://x","commit":{"message":"m","author":{"name":"Ann","email":"a@x","date":"2026-01-02T03:04:05Z"},
			"committer":{"name":"Bob","email":"b@x"},"verification":{"verified":true}},"author":{"login":"ann","name":"other"},"committer":{"login":"bob"},"parents":[{},{}],"files":[{}]}`,
			document.Values{"message": text("m"), "authored_at": at, "changed_files": number(1), "url": text("https://x"), "author_name": text("Ann"), "author_email": text("a@x"),
				"committer": text("bob"), "committer_name": text("Bob"), "committer_email": text("b@x"), "parents": number(2), "verified": yes(true)}},
		{KindIssue, `{"body":"","labels":[{"name":"bug"},"plain",{"name":null}],"assignees":[],"milestone":null,"comments":0,"locked":true,"draft":false,"new_member":1}`,
			document.Values{"labels": document.List("bug", "plain"), "assignees": document.List(), "comments": number(0), "locked": yes(true)}},
		{KindPull, `{"labels":{"nodes":[{"name":"a\"b"}]},"milestone":{"title":"v1"},"totalCommentsCount":4,"isDraft":true,"merged":false,"baseRefName":"main",
			"headRefName":"topic","baseRepository":{"nameWithOwner":"o/n"},"headRepository":null,"changedFiles":2,"authorAssociation":"OWNER"}`,
			document.Values{"labels": document.List(`a"b`), "milestone": text("v1"), "comments": number(4), "draft": yes(true), "merged": yes(false), "base": text("main"),
				"head": text("topic"), "base_repository": text("o/n"), "changed_files": number(2), "author_association": text("OWNER")}},
		{KindPull, `{"merged_at":"2026-01-02T03:04:05Z","base":{"ref":"main","repo":{"full_name":"o/n"}},"head":{"ref":"topic","repo":null},"draft":false}`,
			document.Values{"merged": yes(true), "base": text("main"), "base_repository": text("o/n"), "head": text("topic"), "draft": yes(false)}},
		{KindEvent, `{"payload":{"action":"opened","n":[1]},"public":false}`,
			document.Values{"payload": text(`{"action":"opened","n":[1]}`), "action": text("opened"), "public": yes(false)}},
		{KindRepository, `{"html_url":"https://x","url":"https://api","topics":["a","b"],"license":{"spdx_id":"MIT"},"size":7,"homepage":""}`,
			document.Values{"url": text("https://x"), "topics": document.List("a", "b"), "license": text("MIT"), "size": number(7)}},
		{KindProfile, `{"followers":3,"bio":null,"company":"@x","plan":{}}`, document.Values{"followers": number(3), "company": text("@x")}},
		{KindIssue, `{"labels":7,"body":{},"comments":"many","locked":null,"milestone":[]}`, nil},
		{KindIssue, `{}`, nil}, {KindIssue, `[1]`, nil}, {KindIssue, ``, nil}, {KindIssue, `{"body":"cut`, nil},
	} {
		var f document.Fields
		Kinds().Of(c.kind).Read([]byte(c.raw), &f)
		if len(f.Own) != len(c.want) {
			t.Errorf("%s %s: got %+v, want %+v", c.kind, c.raw, f.Own, c.want)
		}
		for name, want := range c.want {
			if f.Own[name] != want {
				t.Errorf("%s %s: %s is %+v, want %+v", c.kind, c.raw, name, f.Own[name], want)
			}
		}
	}
}
