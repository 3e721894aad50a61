package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What GitHub warns of, where it is switched on and the token may see it.
var (
	repoDependabot = listing{item: dependabotElement.read, route: route{typ: RepoDependabot, kind: KindDependabot, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/dependabot/alerts", path: "/dependabot/alerts", mayHide: true}}
	repoScanning = listing{item: scanningElement.read, route: route{typ: RepoScanning, kind: KindScanning, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/code-scanning/alerts", path: "/code-scanning/alerts", mayHide: true}}

	dependabotElement = element{kind: KindDependabot, identity: "number", own: ownDependabot, fields: alertFields("security_advisory", "summary")}
	scanningElement   = element{kind: KindScanning, identity: "number", own: ownScanning, fields: alertFields("rule", "description")}
)

func dependabotKind() document.Declaration {
	return document.Declaration{Kind: KindDependabot, Source: Name, Plural: "dependabot_alerts", Doc: "known vulnerabilities of what a repository depends on, where the token may see them",
		Columns: alertColumns(repeated(ownText("severity", "low, medium, high or critical")), repeated(ownText("ecosystem", "where the package comes from")),
			repeated(ownText("package", "the package that is vulnerable")), repeated(ownText("manifest", "the file that names it")),
			ownText("ghsa_id", "the id of the advisory"), ownText("cve_id", "the id of the vulnerability; null if it has none")),
		Read: fromPayload(ownDependabot)}
}

func scanningKind() document.Declaration {
	return document.Declaration{Kind: KindScanning, Source: Name, Plural: "code_scanning_alerts", Doc: "what analyses of the code warn of, where the token may see it",
		Columns: alertColumns(repeated(ownText("severity", "none, note, warning or error")), repeated(ownText("rule", "the rule that was broken")),
			repeated(ownText("tool", "the tool that found it")), repeated(ownText("path", "the file that it was found in last"))),
		Read: fromPayload(ownScanning)}
}

func alertColumns(own ...document.Column) []document.Column {
	columns := []document.Column{repositoryIDColumn, repositoryColumn, numberColumn,
		{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "open, fixed, dismissed or auto_dismissed"}, titleColumn}
	return table(document.TypeText, append(append(columns, own...), createdAtColumn, updatedAtColumn, urlColumn)...)
}

// alertFields reads what alerts have alike; what they are about stands in a member of
// one of their members.
func alertFields(member, title string) func(f *document.Fields, name string, v gjson.Result) {
	return func(f *document.Fields, name string, v gjson.Result) {
		switch name {
		case "number":
			f.Number = v.Int()
		case "state":
			f.State = text(v)
		case member:
			f.Title = text(v.Get(title))
		}
	}
}

func ownDependabot(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "dependency":
		setText(f, "ecosystem", v.Get("package.ecosystem"))
		setText(f, "package", v.Get("package.name"))
		setText(f, "manifest", v.Get("manifest_path"))
	case "security_advisory":
		setText(f, "severity", v.Get("severity"))
		setText(f, "ghsa_id", v.Get("ghsa_id"))
		setText(f, "cve_id", v.Get("cve_id"))
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func ownScanning(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "rule":
		setText(f, "severity", v.Get("severity"))
		setText(f, "rule", v.Get("id"))
	case "tool":
		setText(f, "tool", v.Get("name"))
	case "most_recent_instance":
		setText(f, "path", v.Get("location.path"))
	case "url", "html_url":
		setURL(f, name, v)
	}
}
