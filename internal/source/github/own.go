package github

import (
	"cmp"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What follows reads the values of columns of their own (document.FromOwn) from
// payloads, member by member, as REST and as GraphQL shows them. It is called while
// an answer is read, and for what is stored already: both give the same.

// ownReader sets the values that one member of a payload holds. It sets none that
// the kind does not declare, whatever members GitHub adds.
type ownReader func(f *document.Fields, name string, v gjson.Result)

// fromPayload reads a whole payload.
func fromPayload(read ownReader) func(raw []byte, f *document.Fields) {
	return func(raw []byte, f *document.Fields) {
		members(raw, skipSpace(raw, 0), func(name string, v gjson.Result) { read(f, name, v) })
	}
}

// setText sets a text; what is null or no text leaves the column null.
func setText(f *document.Fields, column string, v gjson.Result) {
	if v.Type == gjson.String {
		f.Set(column, document.Text(text(v)))
	}
}

func setInteger(f *document.Fields, column string, v gjson.Result) {
	if v.Type == gjson.Number {
		f.Set(column, document.Integer(v.Int()))
	}
}

func setBoolean(f *document.Fields, column string, v gjson.Result) {
	if v.IsBool() {
		f.Set(column, document.Boolean(v.Bool()))
	}
}

func setInstant(f *document.Fields, column string, v gjson.Result) {
	f.Set(column, document.Instant(when(v)))
}

// setList sets the texts of a list: its elements, or what they hold under a key.
func setList(f *document.Fields, column string, list gjson.Result, key string) {
	if !list.IsArray() {
		return
	}
	var texts []string
	list.ForEach(func(_, v gjson.Result) bool {
		if v.IsObject() {
			v = v.Get(key)
		}
		if v.Type == gjson.String {
			texts = append(texts, v.Str)
		}
		return true
	})
	f.Set(column, document.List(texts...))
}

// setURL sets the address for people. REST calls it html_url, beside that of its
// own API; GraphQL has no other.
func setURL(f *document.Fields, name string, v gjson.Result) {
	if _, there := f.Own["url"]; name == "html_url" || !there {
		setText(f, "url", v)
	}
}

// filesOfAPage is how many files GitHub shows of a commit at once: as many may be
// some of more.
const filesOfAPage = 300

func ownCommit(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "message":
		setText(f, "message", v)
	case "authoredDate":
		setInstant(f, "authored_at", v)
	case "changedFilesIfAvailable":
		setInteger(f, "changed_files", v)
	case "files":
		if n := v.Get("#"); v.IsArray() && n.Int() < filesOfAPage {
			f.Set("changed_files", document.Integer(n.Int()))
		}
	case "parents":
		if v.IsArray() {
			v = v.Get("#")
		} else {
			v = v.Get("totalCount")
		}
		setInteger(f, "parents", v)
	case "author":
		ownSignature(f, "author", v)
	case "committer":
		ownSignature(f, "committer", v)
		if user := v.Get("user"); user.Exists() {
			v = user
		}
		setText(f, "committer", v.Get("login"))
	case "commit":
		setText(f, "message", v.Get("message"))
		setInstant(f, "authored_at", v.Get("author.date"))
		ownSignature(f, "author", v.Get("author"))
		ownSignature(f, "committer", v.Get("committer"))
		setBoolean(f, "verified", v.Get("verification.verified"))
	case "url", "html_url":
		setURL(f, name, v)
	}
}

// ownSignature reads what a commit says of who made it. A user, whom REST shows
// beside that, has a login, and says what the profile does.
func ownSignature(f *document.Fields, who string, v gjson.Result) {
	if !v.IsObject() || v.Get("login").Exists() {
		return
	}
	setText(f, who+"_name", v.Get("name"))
	setText(f, who+"_email", v.Get("email"))
}

// ownThread reads what issues and pull requests have alike.
func ownThread(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "body":
		setText(f, "body", v)
	case "labels":
		if v.IsObject() {
			v = v.Get("nodes")
		}
		setList(f, "labels", v, "name")
	case "assignees":
		setList(f, "assignees", v, "login")
	case "milestone":
		setText(f, "milestone", v.Get("title"))
	case "comments", "totalCommentsCount":
		setInteger(f, "comments", v)
	case "locked":
		setBoolean(f, "locked", v)
	case "author_association", "authorAssociation":
		setText(f, "author_association", v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func ownIssue(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "state_reason":
		setText(f, "state_reason", v)
	case "reactions":
		setInteger(f, "reactions", v.Get("total_count"))
	default:
		ownThread(f, name, v)
	}
}

func ownPull(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "draft", "isDraft":
		setBoolean(f, "draft", v)
	case "merged":
		setBoolean(f, "merged", v)
	case "merged_at":
		f.Set("merged", document.Boolean(v.Type == gjson.String))
	case "changedFiles", "changed_files":
		setInteger(f, "changed_files", v)
	case "baseRefName":
		setText(f, "base", v)
	case "headRefName":
		setText(f, "head", v)
	case "baseRepository":
		setText(f, "base_repository", v.Get("nameWithOwner"))
	case "headRepository":
		setText(f, "head_repository", v.Get("nameWithOwner"))
	case "requested_reviewers":
		setList(f, "review_requests", v, "login")
	case "reviewRequests":
		setReviewRequests(f, v.Get("nodes"))
	case "reactions":
		setInteger(f, "reactions", v.Get("totalCount"))
	case "base", "head":
		setText(f, name, v.Get("ref"))
		setText(f, name+"_repository", v.Get("repo.full_name"))
	default:
		ownThread(f, name, v)
	}
}

// setReviewRequests sets whom GraphQL says that a review is asked of: users, and teams by
// their names in addresses.
func setReviewRequests(f *document.Fields, nodes gjson.Result) {
	if !nodes.IsArray() {
		return
	}
	var names []string
	nodes.ForEach(func(_, node gjson.Result) bool {
		who := node.Get("requestedReviewer")
		if name := cmp.Or(who.Get("login").String(), who.Get("slug").String()); name != "" {
			names = append(names, name)
		}
		return true
	})
	f.Set("review_requests", document.List(names...))
}

func ownEvent(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "payload":
		if v.IsObject() {
			f.Set("payload", document.Text(string([]byte(v.Raw))))
			setText(f, "action", v.Get("action"))
		}
	case "public":
		setBoolean(f, "public", v)
	}
}

func ownRepository(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "description":
		setText(f, "description", v)
	case "homepage", "homepageUrl":
		setText(f, "homepage", v)
	case "topics":
		setList(f, "topics", v, "")
	case "license":
		setText(f, "license", v.Get("spdx_id"))
	case "licenseInfo":
		setText(f, "license", v.Get("spdxId"))
	case "default_branch":
		setText(f, "default_branch", v)
	case "defaultBranchRef":
		setText(f, "default_branch", v.Get("name"))
	case "forks_count", "forkCount":
		setInteger(f, "forks", v)
	case "open_issues_count":
		setInteger(f, "open_issues", v)
	case "size", "diskUsage":
		setInteger(f, "size", v)
	case "archived", "isArchived":
		setBoolean(f, "archived", v)
	case "pushed_at", "pushedAt":
		setInstant(f, "pushed_at", v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func ownProfile(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "company", "location", "email", "bio", "blog":
		setText(f, name, v)
	case "followers", "following", "public_repos", "public_gists":
		setInteger(f, name, v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}
