package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// The lists of a repository that are read as a whole.
var (
	repoReleases = listing{typ: RepoReleases, kind: KindRelease, endpoint: "GET /repositories/{id}/releases", path: "/releases", item: readRelease}
	repoLabels   = listing{typ: RepoLabels, kind: KindLabel, endpoint: "GET /repositories/{id}/labels", path: "/labels", item: readLabel}

	repoMilestones = listing{typ: RepoMilestones, kind: KindMilestone, endpoint: "GET /repositories/{id}/milestones", path: "/milestones",
		query: "state=all&", item: readMilestone}
)

func releaseKind() document.Declaration {
	return document.Declaration{Kind: KindRelease, Source: Name, Plural: "releases", Doc: "releases, with what can be downloaded of them",
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

// listed reads an element of a list. Such a list is read as a whole, and what is read
// later is newer: counts in it change without its updated_at.
func (c *call) listed(body []byte, i int, kind document.Kind, own ownReader, read func(f *document.Fields, name string, v gjson.Result)) (doc document.Document, end int, wrong string) {
	id := int64(0)
	end = members(body, i, func(name string, v gjson.Result) {
		own(&doc.Fields, name, v)
		switch name {
		case "id":
			id = v.Int()
		case "created_at":
			doc.CreatedAt = when(v)
		case "updated_at":
			doc.UpdatedAt = when(v)
		case "closed_at":
			doc.ClosedAt = when(v)
		}
		read(&doc.Fields, name, v)
	})
	if end < 0 || id == 0 {
		return doc, end, "an element of " + string(kind) + "s is cut off or has no id"
	}
	c.inherit(&doc.Fields)
	doc.Key, doc.Version = c.key(kind, formatID(id)), unix(c.p.At)
	return doc, end, ""
}

func readRelease(c *call, body []byte, i int) (document.Document, int, string) {
	return c.listed(body, i, KindRelease, ownRelease, func(f *document.Fields, name string, v gjson.Result) {
		switch {
		case name == "name":
			f.Title = text(v)
		case name == "author":
			f.Author = login(v)
		case name == "draft" && v.Bool():
			f.State = "draft"
		case name == "prerelease" && f.State == "":
			f.State = map[bool]string{true: "prerelease", false: "released"}[v.Bool()]
		}
	})
}

func readLabel(c *call, body []byte, i int) (document.Document, int, string) {
	return c.listed(body, i, KindLabel, ownLabel, func(f *document.Fields, name string, v gjson.Result) {
		if name == "name" {
			f.Title = text(v)
		}
	})
}

func readMilestone(c *call, body []byte, i int) (document.Document, int, string) {
	return c.listed(body, i, KindMilestone, ownMilestone, func(f *document.Fields, name string, v gjson.Result) {
		switch name {
		case "number":
			f.Number = v.Int()
		case "title":
			f.Title = text(v)
		case "state":
			f.State = text(v)
		case "creator":
			f.Author = login(v)
		}
	})
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
