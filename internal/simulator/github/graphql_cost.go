package github

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

const (
	maxPageSize   = 100
	maxQueryDepth = 60
)

var connectionFields = []string{
	"repositories", "repositoriesContributedTo", "history", "issues", "pullRequests", "commits", "comments",
	"labels", "languages", "stargazers", "followers", "following", "watchers", "forks", "parents", "reviews",
	"releases", "milestones", "discussions", "files", "reviewRequests", "reactions",
}

// measure adds up what a query may cost before it runs: each connection takes
// one request for every node its parents may return, and yields as many nodes
// as it asks for. It also refuses page sizes GitHub refuses.
func (ex *execution) measure(set ast.SelectionSet, parents, depth int) {
	if depth > maxQueryDepth {
		ex.report(queryError{message: fmt.Sprintf("Query has depth of more than %d", maxQueryDepth)})
		return
	}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			if ex.included(s.Directives) {
				ex.measureField(s, parents, depth)
			}
		case *ast.InlineFragment:
			ex.measure(s.SelectionSet, parents, depth+1)
		case *ast.FragmentSpread:
			if fragment := ex.doc.Fragments.ForName(s.Name); fragment != nil {
				ex.measure(fragment.SelectionSet, parents, depth+1)
			}
		}
		if len(ex.errors) > 0 || ex.nodes > maxNodes {
			return
		}
	}
}

func (ex *execution) measureField(f *ast.Field, parents, depth int) {
	if f.Name == "nodes" && depth == 0 {
		ids, _ := ex.argument(f, "ids").([]any)
		ex.measure(f.SelectionSet, max(len(ids), 1)*parents, depth+1)
		return
	}
	if !slices.Contains(connectionFields, f.Name) || len(f.SelectionSet) == 0 {
		ex.measure(f.SelectionSet, parents, depth+1)
		return
	}
	ex.requests += parents
	size, given := ex.pageSize(f)
	if !given {
		if selectsItems(f.SelectionSet) {
			ex.report(queryError{
				kind: "MISSING_PAGINATION_BOUNDARIES", path: []any{f.Name}, position: f.Position,
				message: fmt.Sprintf("You must provide a `first` or `last` value to properly paginate the `%s` connection.", f.Name),
			})
		}
		return
	}
	if size < 1 || size > maxPageSize {
		ex.report(queryError{
			kind: "EXCESSIVE_PAGINATION", path: []any{f.Name}, position: f.Position,
			message: fmt.Sprintf("Requesting %d records on the `%s` connection exceeds the `first` limit of %d records.", size, f.Name, maxPageSize),
		})
		return
	}
	ex.nodes += parents * size
	ex.measure(f.SelectionSet, parents*size, depth+1)
}

// pageSize reads first, or else last.
func (ex *execution) pageSize(f *ast.Field) (size int, given bool) {
	for _, name := range []string{"first", "last"} {
		if n, ok := asInt(ex.argument(f, name)); ok {
			return n, true
		}
	}
	return 0, false
}

// selectsItems is false for connections asked only for their totalCount, which
// need no page size.
func selectsItems(set ast.SelectionSet) bool {
	for _, s := range set {
		if f, ok := s.(*ast.Field); !ok || f.Name != "totalCount" && f.Name != "__typename" {
			return true
		}
	}
	return false
}

// cost is the price in points: a hundredth of the requests, at least one.
func (ex *execution) cost() int { return max(1, (ex.requests+50)/100) }
