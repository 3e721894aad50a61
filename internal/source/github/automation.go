package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// What machines do with a repository.
var (
	repoRuns = feed{item: runElement.read, children: &runJobs, route: route{typ: RepoRuns, sweep: SweepRuns, kind: KindRun, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/actions/runs", path: "/actions/runs", wrap: "workflow_runs", mayHide: true}}
	repoDeployments = listing{item: deploymentElement.read, route: route{typ: RepoDeployments, kind: KindDeployment, bucket: BucketCore,
		endpoint: "GET /repositories/{id}/deployments", path: "/deployments", mayHide: true}}

	runElement        = element{kind: KindRun, identity: "id", own: ownRun, fields: runFields, dated: true}
	deploymentElement = element{kind: KindDeployment, identity: "id", own: ownDeployment, fields: titled("description")}
)

func runKind() document.Declaration {
	return document.Declaration{Kind: KindRun, Source: Name, Plural: "workflow_runs", CountedAs: document.RoleRun, Doc: "runs of workflows, as far back as GitHub keeps them",
		Columns: table(document.TypeInteger, repositoryIDColumn, repositoryColumn,
			document.Column{Name: "number", Type: document.TypeInteger, From: document.FromNumber, Doc: "its number among the runs of its workflow"},
			titleColumn,
			document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true, Doc: "queued, in_progress, completed …"},
			repeated(ownText("conclusion", "success, failure, cancelled, skipped …; null until it is completed")),
			repeated(ownText("workflow", "the name of its workflow")), repeated(ownText("workflow_path", "the file of its workflow")),
			repeated(ownText("trigger", "the event that began it")), ownNumber("attempt", "", "how often it was begun"),
			repeated(ownText("head", "the branch that it ran for")), ownText("sha", "the commit that it ran for"), authorColumn,
			createdAtColumn, updatedAtColumn, ownColumn("started_at", document.TypeInstant, "when the last attempt began"), urlColumn),
		Read: fromPayload(ownRun)}
}

func deploymentKind() document.Declaration {
	return document.Declaration{Kind: KindDeployment, Source: Name, Plural: "deployments", Doc: "what was deployed, where and by whom",
		Columns: table(document.TypeInteger, repositoryIDColumn, repositoryColumn,
			document.Column{Name: "description", Type: document.TypeText, From: document.FromTitle, Nullable: true, Searched: true, Doc: "what it says of itself"},
			repeated(ownText("environment", "where it was deployed")), repeated(ownText("task", "what was done, such as deploy")),
			repeated(ownText("target", "the branch, tag or commit that was deployed")), ownText("sha", "the commit that was deployed"), authorColumn,
			createdAtColumn, updatedAtColumn),
		Read: fromPayload(ownDeployment)}
}

func runFields(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "run_number":
		f.Number = v.Int()
	case "display_title":
		f.Title = text(v)
	case "status":
		f.State = text(v)
	}
}

func ownRun(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "name":
		setText(f, "workflow", v)
	case "path":
		setText(f, "workflow_path", v)
	case "conclusion":
		setText(f, name, v)
	case "event":
		setText(f, "trigger", v)
	case "run_attempt":
		setInteger(f, "attempt", v)
	case "head_branch":
		setText(f, "head", v)
	case "head_sha":
		setText(f, "sha", v)
	case "run_started_at":
		setInstant(f, "started_at", v)
	case "url", "html_url":
		setURL(f, name, v)
	}
}

func ownDeployment(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "environment", "task", "sha":
		setText(f, name, v)
	case "ref":
		setText(f, "target", v)
	}
}
