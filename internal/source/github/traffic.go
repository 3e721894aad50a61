package github

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// How often a repository is looked at. GitHub tells of the last fortnight alone, so each
// day is kept under its own name: who collects every other week has them all. What is
// popular is told for the fortnight as a whole and kept under the day on which it was.
var (
	repoViews     = trafficOf(RepoViews, "/traffic/views", "views", readTrafficDay("views"))
	repoClones    = trafficOf(RepoClones, "/traffic/clones", "clones", readTrafficDay("clones"))
	repoPaths     = trafficOf(RepoPaths, "/traffic/popular/paths", "", readPopular("path"))
	repoReferrers = trafficOf(RepoReferrers, "/traffic/popular/referrers", "", readPopular("referrer"))

	repoStarHistory = feed{item: readStarWeek, perPage: 30, route: route{typ: RepoStarHistory, sweep: SweepStarHistory, kind: KindStarWeek,
		bucket: BucketCore, endpoint: "GET /repositories/{id}/stargazers/history", path: "/stargazers/history", mayHide: true}}
)

func trafficOf(typ, path, wrap string, item reader) listing {
	return listing{item: item, lasting: true, route: route{typ: typ, kind: KindTraffic, bucket: BucketCore,
		endpoint: "GET /repositories/{id}" + path, path: path, wrap: wrap, mayHide: true}}
}

func trafficKind() document.Declaration {
	return document.Declaration{Kind: KindTraffic, Source: Name, Plural: "traffic",
		Doc: "how often repositories are looked at and cloned by the day, and what is popular; the token must be allowed to push",
		Columns: table(document.TypeText, repositoryIDColumn, repositoryColumn,
			document.Column{Name: "what", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "views, clones, path or referrer"},
			document.Column{Name: "name", Type: document.TypeText, From: document.FromTitle, Nullable: true, Repeats: true, Doc: "the path or the referrer; null of views and clones"},
			instantColumn("day", document.FromCreatedAt, "the day; of what is popular, the day on which the last fortnight was looked at"),
			ownNumber("count", "", "how often"), ownNumber("uniques", "", "by how many")),
		Read: fromPayload(ownTraffic)}
}

func starWeekKind() document.Declaration {
	return document.Declaration{Kind: KindStarWeek, Source: Name, Plural: "star_history",
		Doc: "how many starred repositories, by the week, of those who still do",
		Columns: table(document.TypeText, repositoryIDColumn, repositoryColumn,
			instantColumn("week", document.FromCreatedAt, "the day on which the week begins"),
			ownNumber("total", "", "how many starred it in the week"), ownText("days", "how many on each of its days, as JSON")),
		Read: fromPayload(ownStarWeek)}
}

// readTrafficDay reads one day.
func readTrafficDay(what string) reader {
	return func(c *call, body []byte, i int) (doc document.Document, end int, wrong string) {
		end = members(body, i, func(name string, v gjson.Result) {
			ownTraffic(&doc.Fields, name, v)
			if name == "timestamp" {
				doc.CreatedAt = when(v)
			}
		})
		if end < 0 || doc.CreatedAt.IsZero() {
			return doc, end, "a day of " + what + " is cut off or has no time"
		}
		doc.State = what
		return c.ofDay(doc, KindTraffic, what), end, ""
	}
}

// readPopular reads one of what is popular.
func readPopular(what string) reader {
	return func(c *call, body []byte, i int) (doc document.Document, end int, wrong string) {
		end = members(body, i, func(name string, v gjson.Result) {
			ownTraffic(&doc.Fields, name, v)
			if name == what {
				doc.Title = text(v)
			}
		})
		if end < 0 || doc.Title == "" {
			return doc, end, "a " + what + " is cut off or has no name"
		}
		doc.State, doc.CreatedAt = what, unix(c.p.At).Truncate(24*time.Hour)
		return c.ofDay(doc, KindTraffic, what+":"+doc.Title), end, ""
	}
}

func readStarWeek(c *call, body []byte, i int) (doc document.Document, end int, wrong string) {
	end = members(body, i, func(name string, v gjson.Result) {
		ownStarWeek(&doc.Fields, name, v)
		if name == "week" {
			doc.CreatedAt = unix(v.Int())
		}
	})
	if end < 0 || doc.CreatedAt.IsZero() {
		return doc, end, "a week of stars is cut off or has no time"
	}
	return c.ofDay(doc, KindStarWeek, "stars"), end, ""
}

// ofDay completes what is told of a day.
func (c *call) ofDay(doc document.Document, kind document.Kind, what string) document.Document {
	c.inherit(&doc.Fields)
	name := strings.Join([]string{what, doc.CreatedAt.Format(time.DateOnly)}, ":")
	doc.Key, doc.Version = c.key(kind, c.within(name)), unix(c.p.At)
	return doc
}

func ownTraffic(f *document.Fields, name string, v gjson.Result) {
	if name == "count" || name == "uniques" {
		setInteger(f, name, v)
	}
}

func ownStarWeek(f *document.Fields, name string, v gjson.Result) {
	switch {
	case name == "total":
		setInteger(f, name, v)
	case name == "days" && v.IsArray():
		f.Set("days", document.Text(string([]byte(v.Raw))))
	}
}
