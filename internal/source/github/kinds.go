package github

import (
	"slices"

	"sluice/internal/document"
)

// The kinds of documents. A pull request is among the pulls only, though GitHub
// lists it among the issues as well.
const (
	KindProfile    document.Kind = "profile"
	KindRepository document.Kind = "repository"
	KindCommit     document.Kind = "commit"
	KindIssue      document.Kind = "issue"
	KindPull       document.Kind = "pull"
	KindEvent      document.Kind = "event"
	KindMember     document.Kind = "member"
	KindTeam       document.Kind = "team"
	KindComment    document.Kind = "comment"
	KindRelease    document.Kind = "release"
	KindLabel      document.Kind = "label"
	KindMilestone  document.Kind = "milestone"

	KindReview        document.Kind = "review"
	KindReviewComment document.Kind = "review_comment"
	KindBranch        document.Kind = "branch"
	KindTag           document.Kind = "tag"
	KindContributor   document.Kind = "contributor"
	KindRun           document.Kind = "workflow_run"
	KindRunJob        document.Kind = "workflow_job"
	KindDeployment    document.Kind = "deployment"
	KindIssueEvent    document.Kind = "issue_event"
	KindDiscussion    document.Kind = "discussion"
	KindPullCommit    document.Kind = "pull_commit"
	KindPullFile      document.Kind = "pull_file"
	KindDependabot    document.Kind = "dependabot_alert"
	KindScanning      document.Kind = "code_scanning_alert"
	KindTraffic       document.Kind = "traffic"
	KindStarWeek      document.Kind = "star_week"
)

// Kinds declares what is collected and the columns of its tables.
func Kinds() document.Kinds {
	return append(document.Kinds{
		{Kind: KindRepository, Source: Name, Plural: "repositories", Container: true, CountedAs: document.RoleRepository,
			Doc: "repositories that the account owns, or that were collected beside them", Columns: repositoryColumns(),
			Labels: "topics", Read: fromPayload(ownRepository)},
		{Kind: KindCommit, Source: Name, Plural: "commits", CountedAs: document.RoleCommit,
			Doc: "commits of the default branches", Columns: commitColumns(), Read: fromPayload(ownCommit)},
		{Kind: KindIssue, Source: Name, Plural: "issues", CountedAs: document.RoleIssue,
			Doc: "issues; pull requests are not among them", Columns: issueColumns(), Labels: "labels", Read: fromPayload(ownIssue)},
		{Kind: KindPull, Source: Name, Plural: "pulls", CountedAs: document.RolePull,
			Doc: "pull requests", Columns: pullColumns(), Labels: "labels", Read: fromPayload(ownPull)},
		{Kind: KindEvent, Source: Name, Plural: "events", Independent: true,
			Doc: "what the account did lately, as its timeline tells it", Columns: eventColumns(), Read: fromPayload(ownEvent)},
		{Kind: KindProfile, Source: Name, Plural: "profiles",
			Doc: "what an account says of itself", Columns: profileColumns(), Read: fromPayload(ownProfile)},
		{Kind: KindMember, Source: Name, Plural: "members",
			Doc: "who belongs to an organisation, as far as the token may see", Columns: memberColumns(), Read: fromPayload(ownMember)},
		{Kind: KindTeam, Source: Name, Plural: "teams",
			Doc: "the teams of an organisation, as far as the token may see", Columns: teamColumns(), Read: fromPayload(ownTeam)},
	}, kindsOfResources()...)
}

// table is the columns of a kind between those that begin and end every table.
func table(id document.Type, own ...document.Column) []document.Column {
	return slices.Concat([]document.Column{
		{Name: "id", Type: id, From: document.FromName, Doc: "what names it at GitHub"},
		{Name: "account", Type: document.TypeText, From: document.FromAccount, Repeats: true, Doc: "the login that it was collected for"},
		{Name: "source", Type: document.TypeText, From: document.FromSource, Repeats: true, Doc: "where it was collected"},
	}, own, []document.Column{
		{Name: "deleted", Type: document.TypeBoolean, From: document.FromDeleted, Doc: "whether GitHub shows it no longer, by itself or with its repository"},
		{Name: "gone_since", Type: document.TypeInstant, From: document.FromGoneSince, Nullable: true, Doc: "since when it is gone, as far as that is known"},
		{Name: "gone_why", Type: document.TypeText, From: document.FromGoneWhy, Nullable: true, Repeats: true, Doc: "deleted, transferred, forbidden, blocked or rewritten"},
		{Name: "truncated", Type: document.TypeBoolean, From: document.FromTruncated, Doc: "whether its payload was too large to be kept whole"},
	})
}
