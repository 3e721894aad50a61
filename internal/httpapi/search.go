package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// Searcher finds documents by their words; *wordindex.Searcher is one.
type Searcher interface {
	Search(ctx context.Context, r wordindex.Request) (wordindex.Answer, error)
}

// searchRoutes find documents by their words.
type searchRoutes struct {
	*common
	accountFinder
	// Searcher is nil where no index is kept.
	Searcher Searcher
}

func (s *searchRoutes) registerSearch(api huma.API) {
	register(s, api, operation{id: "search", method: http.MethodGet, path: "/api/v1/search", tag: "export",
		summary: "Search documents by their words, newest first", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.search)
}

type searchInput struct {
	Query   string   `query:"q" required:"true" minLength:"1" maxLength:"1024" doc:"Words that must all be there, \"phrases\", -excluded, prefix*"`
	Kinds   []string `query:"kind" maxItems:"20" doc:"Only of these kinds, separated by commas: names of tables, such as issues"`
	Account string   `query:"account" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source  string   `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Deleted string   `query:"deleted" enum:"true,false" doc:"Only what the upstream shows no longer, or only what it shows; both if it is left out"`
	Limit   int      `query:"limit" minimum:"1" maximum:"200" default:"20"`
	Cursor  string   `query:"cursor" maxLength:"64" doc:"next_cursor of the page before"`
}

func (s *searchRoutes) search(ctx context.Context, in *searchInput) (*body[wire.SearchAnswer], error) {
	if s.Searcher == nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "this service keeps no index of words; start it with --search=true (docs/search.md)")
	}
	r := wordindex.Request{Query: in.Query, Limit: in.Limit}
	var err error
	if r.Before, err = position(in.Cursor, 0); err != nil {
		return nil, err
	}
	if r.Kinds, err = s.searchedKinds(in.Kinds); err != nil {
		return nil, err
	}
	if in.Deleted != "" {
		gone := in.Deleted == "true"
		r.Deleted = &gone
	}
	if in.Account != "" {
		account, err := s.account(ctx, in.Account, in.Source)
		if err != nil {
			return nil, err
		}
		r.Account = account.ID
	}
	ctx, cancel := s.untilStopping(ctx)
	defer cancel()
	answer, err := s.Searcher.Search(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, &answer)
}

// searchedKinds finds kinds by the names of their tables.
func (s *searchRoutes) searchedKinds(names []string) (kinds []document.Kind, err error) {
	searched := func(d *document.Declaration) bool {
		return slices.ContainsFunc(d.Columns, func(c document.Column) bool { return c.Searched })
	}
	for _, name := range names {
		d := s.kinds.Table(name)
		if d == nil || !searched(d) {
			var known []string
			for i := range s.kinds {
				if searched(&s.kinds[i]) {
					known = append(known, s.kinds[i].Plural)
				}
			}
			return nil, domain.Errorf(domain.CodeInvalid, "kind: %s cannot be searched; it is one of %s", shownName(name), strings.Join(known, ", "))
		}
		kinds = append(kinds, d.Kind)
	}
	return kinds, nil
}

func (s *searchRoutes) answer(ctx context.Context, a *wordindex.Answer) (*body[wire.SearchAnswer], error) {
	out := wire.SearchAnswer{Behind: wire.SearchBehind{Changes: a.Behind.Changes, Building: a.Behind.Building}}
	out.Items, out.NextCursor = []wire.SearchHit{}, cursorAt(a.Next)
	accounts := map[int64]domain.Account{}
	for i := range a.Results {
		r := &a.Results[i]
		account, known := accounts[r.Document.Account]
		if !known {
			var err error
			if account, err = s.accounts.Account(ctx, r.Document.Account); err != nil && domain.CodeOf(err) != domain.CodeNotFound {
				return nil, err
			}
			accounts[r.Document.Account] = account
		}
		hit, err := s.hit(r, account)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, hit)
	}
	return &body[wire.SearchAnswer]{out}, nil
}

// hit is a result as it is shown.
func (s *searchRoutes) hit(r *wordindex.Result, account domain.Account) (hit wire.SearchHit, err error) {
	d := &r.Document
	hit = wire.SearchHit{
		ID: d.Name, Account: account.Login, Source: account.Source, UpdatedAt: wordindex.Instant(d), Deleted: d.Deleted,
		Snippet: wire.SearchSnippet{Column: r.Column, Text: r.Snippet.Text, Marks: [][2]int{}},
	}
	for _, m := range r.Snippet.Marks {
		hit.Snippet.Marks = append(hit.Snippet.Marks, [2]int{m.Start, m.End})
	}
	declared := s.kinds.Of(d.Kind)
	hit.Kind = declared.Plural
	for i := range declared.Columns {
		c := &declared.Columns[i]
		var into *string
		switch {
		case c.From == document.FromTitle:
			into = &hit.Title
		case c.Name == "url" && c.Type == document.TypeText:
			into = &hit.URL
		default:
			continue
		}
		v, err := c.Value(d, &document.Place{Account: account})
		if err != nil {
			return hit, err
		}
		*into = v.Text
	}
	return hit, nil
}
