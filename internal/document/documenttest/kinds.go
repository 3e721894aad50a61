package documenttest

import "sluice/internal/document"

// The kinds of a source that was made up for the suite.
const (
	KindProfile    document.Kind = "profile"
	KindRepository document.Kind = "repository"
	KindCommit     document.Kind = "commit"
	KindIssue      document.Kind = "issue"
	KindPull       document.Kind = "pull"
	KindEvent      document.Kind = "event"
)

// Kinds are what the suite stores: things that lie in containers, and events,
// which do not.
func Kinds() document.Kinds {
	const source = "suite"
	return document.Kinds{
		{Kind: KindRepository, Source: source, Plural: "repositories", Container: true},
		{Kind: KindCommit, Source: source, Plural: "commits"},
		{Kind: KindIssue, Source: source, Plural: "issues"},
		{Kind: KindPull, Source: source, Plural: "pulls"},
		{Kind: KindEvent, Source: source, Plural: "events", Independent: true},
		{Kind: KindProfile, Source: source, Plural: "profiles"},
	}
}

// kindsWithOwn are those kinds, of which issues have values of their own.
func kindsWithOwn(columns ...document.Column) document.Kinds {
	kinds := Kinds()
	for i := range kinds {
		if kinds[i].Kind == KindIssue {
			kinds[i].Columns = append(ownColumns(), columns...)
		}
	}
	return kinds
}
