package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// The lists of a repository that are read as a whole.
var (
	repoReleases = listing{item: releaseElement.read, route: route{typ: RepoReleases, kind: KindRelease, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/releases", path: "/releases"}}
	repoLabels = listing{item: labelElement.read, route: route{typ: RepoLabels, kind: KindLabel, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/labels", path: "/labels"}}
	repoMilestones = listing{item: milestoneElement.read, route: route{typ: RepoMilestones, kind: KindMilestone, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/milestones", path: "/milestones", query: "state=all&"}}

	releaseElement   = element{kind: KindRelease, identity: "id", own: ownRelease, fields: releaseFields}
	labelElement     = element{kind: KindLabel, identity: "id", own: ownLabel, fields: titled("name")}
	milestoneElement = element{kind: KindMilestone, identity: "id", own: ownMilestone, fields: milestoneFields}
)

// titled reads a title from a member.
func titled(member string) func(f *document.Fields, name string, v gjson.Result) {
	return func(f *document.Fields, name string, v gjson.Result) {
		if name == member {
			f.Title = text(v)
		}
	}
}

func releaseKind() document.Declaration {
	return document.Declaration{Kind: KindRelease, Source: Name, Plural: "releases", CountedAs: document.RoleRelease, Doc: "releases, with what can be downloaded of them",
		Columns: releaseColumns(), Read: fromPayload(ownRelease)}
}

func labelKind() document.Declaration {
	return document.Declaration{Kind: KindLabel, Source: Name, Plural: "labels", Doc: "the labels that repositories have",
		Columns: labelColumns(), Read: fromPayload(ownLabel)}
}

func milestoneKind() document.Declaration {
	return document.Declaration{Kind: KindMilestone, Source: Name, Plural: "milestones", Doc: "milestones, open and closed",
		Columns: milestoneColumns(), Read: fromPayload(ownMilestone)}
}

func releaseFields(f *document.Fields, name string, v gjson.Result) {
	switch {
	case name == "name":
		f.Title = text(v)
	case name == "draft" && v.Bool():
		f.State = "draft"
	case name == "prerelease" && f.State == "":
		f.State = map[bool]string{true: "prerelease", false: "released"}[v.Bool()]
	}
}

func milestoneFields(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "number":
		f.Number = v.Int()
	case "title":
		f.Title = text(v)
	case "state":
		f.State = text(v)
	}
}

func ownRelease(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "tag_name":
		setText(f, "tag", v)
	case "target_commitish":
		setText(f, "target", v)
	case "body":
		setText(f, "body", v)
	case "published_at":
		setInstant(f, "published_at", v)
	case "assets":
		setList(f, "assets", v, "name")
		downloads := int64(0)
		v.ForEach(func(_, asset gjson.Result) bool {
			downloads += asset.Get("download_count").Int()
			return true
		})
		f.Set("downloads", document.Integer(downloads))
	case "reactions":
		setInteger(f, "reactions", v.Get("total_count"))
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func ownLabel(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "color", "description":
		setText(f, name, v)
	case "default":
		setBoolean(f, "standard", v)
	case "url":
		setURL(f, name, v)
	}
}

func ownMilestone(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "description":
		setText(f, name, v)
	case "open_issues", "closed_issues":
		setInteger(f, name, v)
	case "due_on":
		setInstant(f, "due_on", v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func releaseColumns() []document.Column {
	return table(document.TypeInteger, repositoryIDColumn, repositoryColumn,
		ownText("tag", "the tag that it was made of"), repeated(ownText("target", "the branch or commit that the tag was to be made at")),
		document.Column{Name: "name", Type: document.TypeText, From: document.FromTitle, Nullable: true, Searched: true, Doc: "its title"},
		document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "released, prerelease or draft"},
		bodyColumn, authorColumn,
		ownList("assets", "the names of the files that can be downloaded"),
		ownNumber("downloads", "", "how often these were downloaded, taken together"),
		ownNumber("reactions", "", "how many reactions it has; null if nobody reacted"),
		createdAtColumn, ownColumn("published_at", document.TypeInstant, "when it was published; null for a draft"), urlColumn)
}

func labelColumns() []document.Column {
	return table(document.TypeInteger, repositoryIDColumn, repositoryColumn,
		document.Column{Name: "name", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "its name"},
		repeated(ownText("color", "its colour, as six hexadecimal digits")), searched(ownText("description", "what it stands for; null if nobody has said")),
		ownBoolean("standard", "whether GitHub gives it to every repository"), urlColumn)
}

func milestoneColumns() []document.Column {
	return table(document.TypeInteger, repositoryIDColumn, repositoryColumn, numberColumn, stateColumn, titleColumn,
		searched(ownText("description", "what is to be reached; null if nobody has said")), authorColumn,
		ownNumber("open_issues", "", "how many of its issues are open"), ownNumber("closed_issues", "", "how many of its issues are closed"),
		ownColumn("due_on", document.TypeInstant, "until when; null if nobody has said"),
		createdAtColumn, updatedAtColumn, closedAtColumn, urlColumn)
}
