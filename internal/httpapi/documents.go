package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi/wire"
)

// documentRoutes list documents and show single ones.
type documentRoutes struct {
	*common
	accountFinder
	Reader AccountReader
	// Documents, Lister and Finder read the same store; the last two are nil where
	// it cannot list.
	Documents document.Reader
	Lister    document.Lister
	Finder    document.Finder
}

func (s *documentRoutes) registerDocuments(api huma.API) {
	list := operation{id: "list-documents", method: http.MethodGet, path: "/api/v1/documents/{kind}", tag: "export",
		summary: "List documents of one kind", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}
	register(s, api, list, s.listDocuments)
	get := operation{id: "get-document", method: http.MethodGet, path: "/api/v1/documents/{kind}/{id}", tag: "export",
		summary: "Show one document", errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}
	register(s, api, get, s.getDocument)
	for _, path := range []string{list.path, get.path} {
		for _, p := range api.OpenAPI().Paths[path].Get.Parameters {
			if p.Name == "kind" {
				p.Description = "The name of the table: " + strings.Join(s.kinds.Tables(), ", ")
			}
		}
	}
}

type documentsInput struct {
	Kind         string   `path:"kind" maxLength:"100"`
	Account      string   `query:"account" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source       string   `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Repository   string   `query:"repository" maxLength:"300" doc:"Only of this repository: its id, or its full name such as octocat/hello-world"`
	Author       string   `query:"author" maxLength:"200" doc:"Only by this login, in whatever case"`
	State        string   `query:"state" maxLength:"50" doc:"Only in this state, such as open or closed"`
	Label        string   `query:"label" maxLength:"300" doc:"Only with this label, or topic of a repository"`
	CreatedFrom  string   `query:"created_from" maxLength:"50" doc:"Only what was created, or committed, at that time or later: RFC 3339, or a day in UTC"`
	CreatedUntil string   `query:"created_until" maxLength:"50" doc:"Only what was created, or committed, before that time"`
	UpdatedFrom  string   `query:"updated_from" maxLength:"50" doc:"Only what was updated at that time or later"`
	UpdatedUntil string   `query:"updated_until" maxLength:"50" doc:"Only what was updated before that time"`
	Deleted      string   `query:"deleted" enum:"true,false" doc:"Only what the upstream shows no longer, or only what it shows; both if it is left out, as in an export"`
	Sort         string   `query:"sort" default:"name" enum:"name,created,updated,-name,-created,-updated" doc:"What they are sorted by; with - the other way round"`
	Limit        int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor       string   `query:"cursor" maxLength:"2000" doc:"next_cursor of the page before"`
	Fields       []string `query:"fields" maxItems:"200" doc:"Only these columns, separated by commas; all of them if none is named"`
	Raw          bool     `query:"raw" doc:"Also the upstream's own JSON, as raw"`
}

// table finds a kind by the name of its table.
func (s *documentRoutes) table(plural string) (*document.Declaration, error) {
	if s.Lister == nil || s.Finder == nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "the store of the documents cannot list them; GET /api/v1/export has all of them")
	}
	if kind := s.kinds.Table(plural); kind != nil {
		return kind, nil
	}
	return nil, domain.Errorf(domain.CodeNotFound, "there are no documents of the kind %s; there are %s", shownName(plural), strings.Join(s.kinds.Tables(), ", "))
}

func (s *documentRoutes) places() *export.Places {
	return &export.Places{Kinds: s.kinds, Finder: s.Finder, Account: s.Reader.Account}
}

func (s *documentRoutes) listDocuments(ctx context.Context, in *documentsInput) (*body[wire.DocumentList], error) {
	kind, err := s.table(in.Kind)
	if err != nil {
		return nil, err
	}
	rows, err := export.NewRows(kind, in.Fields, in.Raw)
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, kind, in)
	if err != nil {
		return nil, err
	}
	page, err := s.Lister.List(ctx, selection)
	if err != nil {
		return nil, err
	}
	list := wire.DocumentList{}
	if list.Items, err = rows.Render(ctx, s.places(), page.Documents); err != nil {
		return nil, err
	}
	if page.Next != nil {
		list.NextCursor = documentCursor{in.Kind, in.Sort, *page.Next}.text()
	}
	return &body[wire.DocumentList]{list}, nil
}

// selection reads what is asked for.
func (s *documentRoutes) selection(ctx context.Context, kind *document.Declaration, in *documentsInput) (sel document.Selection, err error) {
	sel = document.Selection{Kind: kind.Kind, Author: in.Author, State: in.State, Label: in.Label, Limit: in.Limit, WithRaw: in.Raw}
	if in.Label != "" && kind.Labels == "" {
		return sel, domain.Errorf(domain.CodeInvalid, "label: %s have no labels; leave it out", kind.Plural)
	}
	if in.Deleted != "" {
		gone := in.Deleted == "true"
		sel.Deleted = &gone
	}
	for _, bound := range []struct {
		name, text string
		into       *time.Time
	}{
		{"created_from", in.CreatedFrom, &sel.CreatedFrom}, {"created_until", in.CreatedUntil, &sel.CreatedUntil},
		{"updated_from", in.UpdatedFrom, &sel.UpdatedFrom}, {"updated_until", in.UpdatedUntil, &sel.UpdatedUntil},
	} {
		if *bound.into, err = export.ParseInstant(bound.text); err != nil {
			return sel, domain.Errorf(domain.CodeInvalid, "%s: %w", bound.name, err)
		}
	}
	by, descending := strings.CutPrefix(in.Sort, "-")
	sel.Sort, sel.Descending = document.Sort(by), descending
	if sel.Sort == document.SortUpdated && !slices.ContainsFunc(kind.Columns, func(c document.Column) bool { return c.From == document.FromUpdatedAt }) {
		return sel, domain.Errorf(domain.CodeInvalid, "%s do not tell when they were updated: sort by name or created", kind.Plural)
	}
	if in.Cursor != "" {
		if sel.After, err = parseDocumentCursor(in.Cursor, in.Kind, in.Sort); err != nil {
			return sel, err
		}
	}
	if in.Account != "" {
		account, err := s.account(ctx, in.Account, in.Source)
		if err != nil {
			return sel, err
		}
		sel.Account = account.ID
	}
	if in.Repository != "" {
		sel.Repository, err = s.repository(ctx, in.Repository, sel.Account, in.Source)
	}
	return sel, err
}

// repository finds a repository by its id or its full name: among those of the
// account, if one is named; else among those of its owner, and then among all.
func (s *documentRoutes) repository(ctx context.Context, ref string, account int64, source string) (int64, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && id > 0 {
		return id, nil
	}
	owner, _, named := strings.Cut(ref, "/")
	if !named {
		return 0, domain.Errorf(domain.CodeInvalid, "repository is neither an id nor a full name; write octocat/hello-world, or the repository_id of a row")
	}
	where := []int64{account}
	if account == 0 {
		a, err := s.account(ctx, owner, source)
		if err == nil {
			where = []int64{a.ID, 0}
		} else if domain.CodeOf(err) != domain.CodeNotFound {
			return 0, err
		}
	}
	for _, account := range where {
		if id, err := s.titled(ctx, ref, account); err != nil || id != 0 {
			return id, err
		}
	}
	return 0, domain.Errorf(domain.CodeNotFound, "there is no repository %s; GET /api/v1/documents/%s lists those that there are", shownPath(ref)[1:], s.containers())
}

// containers is the name of a table of repositories.
func (s *documentRoutes) containers() string {
	for _, kind := range s.kinds.Containers() {
		return s.kinds.Of(kind).Plural
	}
	return "repositories"
}

// titled finds a repository by its title; 0 if there is none.
func (s *documentRoutes) titled(ctx context.Context, title string, account int64) (id int64, err error) {
	for _, kind := range s.kinds.Containers() {
		err := s.Documents.Scan(ctx, document.Query{Account: account, Kind: kind, WithoutOwn: true}, func(d *document.Document) error {
			if strings.EqualFold(d.Title, title) {
				id = d.Repository
				return errFound
			}
			return nil
		})
		if id != 0 {
			return id, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// errFound ends a scan that has found what it looked for.
var errFound = errors.New("found")

// documentCursor is a place in a list of one kind and order.
type documentCursor struct {
	Kind string          `json:"k"`
	Sort string          `json:"s"`
	At   document.Cursor `json:"p"`
}

func (c documentCursor) text() string {
	// Texts, numbers and instants always encode.
	text, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseDocumentCursor(text, kind, sort string) (*document.Cursor, error) {
	var c documentCursor
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(plain, &c) != nil || c.At.Name == "" || c.At.Account == 0 {
		return nil, badCursor()
	}
	if c.Kind != kind || c.Sort != sort {
		return nil, domain.Errorf(domain.CodeInvalid, "cursor is of a list of other documents, or in another order: give the kind and the sort that it came from, or leave it out to begin anew")
	}
	return &c.At, nil
}

type documentInput struct {
	Kind    string   `path:"kind" maxLength:"100"`
	ID      string   `path:"id" maxLength:"300" doc:"Its id, as the table has it"`
	Account string   `query:"account" maxLength:"200" doc:"Whose copy: an account's id or login; needed if several have it"`
	Source  string   `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Fields  []string `query:"fields" maxItems:"200" doc:"Only these columns, separated by commas; all of them if none is named"`
	Raw     bool     `query:"raw" doc:"Also the upstream's own JSON, as raw"`
}

func (s *documentRoutes) getDocument(ctx context.Context, in *documentInput) (*body[json.RawMessage], error) {
	kind, err := s.table(in.Kind)
	if err != nil {
		return nil, err
	}
	rows, err := export.NewRows(kind, in.Fields, in.Raw)
	if err != nil {
		return nil, err
	}
	key, err := s.keyOf(ctx, kind, in)
	if err != nil {
		return nil, err
	}
	found, err := s.Finder.Find(ctx, []document.Key{key}, in.Raw)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noDocument(kind, in.ID)
	}
	shown, err := rows.Render(ctx, s.places(), found)
	if err != nil {
		return nil, err
	}
	return &body[json.RawMessage]{shown[0]}, nil
}

func noDocument(kind *document.Declaration, id string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no %s %s; GET /api/v1/documents/%s lists those that there are", kind.Kind, shownName(id), kind.Plural)
}

// accountsAtOnce is in how many accounts a document is looked for at once.
const accountsAtOnce = 500

// keyOf finds whose document is meant.
func (s *documentRoutes) keyOf(ctx context.Context, kind *document.Declaration, in *documentInput) (key document.Key, err error) {
	if in.Account != "" {
		account, err := s.account(ctx, in.Account, in.Source)
		return document.Key{Account: account.ID, Kind: kind.Kind, Name: in.ID}, err
	}
	accounts, err := s.Reader.Accounts(ctx)
	if err != nil {
		return key, err
	}
	names := map[int64]string{}
	keys := make([]document.Key, 0, len(accounts))
	for _, a := range accounts {
		names[a.ID] = qualified(&a)
		keys = append(keys, document.Key{Account: a.ID, Kind: kind.Kind, Name: in.ID})
	}
	var owners []string
	for len(keys) > 0 {
		batch := keys[:min(len(keys), accountsAtOnce)]
		keys = keys[len(batch):]
		found, err := s.Finder.Find(ctx, batch, false)
		if err != nil {
			return key, err
		}
		for i := range found {
			key = found[i].Key
			owners = append(owners, names[key.Account])
		}
	}
	switch {
	case len(owners) == 0:
		return key, noDocument(kind, in.ID)
	case len(owners) > 1:
		return key, domain.Errorf(domain.CodeConflict, "several accounts have a %s %s: say whose with account, one of %s", kind.Kind, shownName(in.ID), someOf(owners))
	}
	return key, nil
}

// someOf names the first of many.
func someOf(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
