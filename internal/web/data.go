package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

// dataPages are the pages of what was collected.
type dataPages struct{ *site }

// dataData is what the page of the data shows: documents of a kind that match
// filters, or those of all kinds that have words.
type dataData struct {
	Kinds []string
	Kind  string
	// Words are searched for; then Found are the documents that have them.
	Words string
	Found *found
	// List are documents of the kind; nil where words are searched for.
	List *listing
	// Filter is what the fields of the form hold.
	Filter   map[string]string
	Filtered bool
	Export   url.Values
	Same     []sameAs
}

// documentFilters are the filters of a list of documents, as its address has them.
var documentFilters = []string{"account", "repository", "author", "state", "label", "created_from", "created_until", "deleted", "sort"}

func (s *dataPages) data(ctx context.Context, v *visit) (*page, error) {
	d := &dataData{Kind: v.query("kind"), Words: v.query("q"), Kinds: export.Kinds(source.Kinds(s.Sources)), Filter: map[string]string{}}
	for _, name := range documentFilters {
		d.Filter[name] = v.query(name)
		d.Filtered = d.Filtered || d.Filter[name] != ""
	}
	p := &page{Title: "Data", Template: "data.html", Nav: "data", Data: d}
	var err error
	if d.Words != "" {
		d.Found, err = s.search(ctx, v, d)
		return p, err
	}
	if d.Kind == "" && len(d.Kinds) > 0 {
		d.Kind = d.Kinds[0]
	}
	if len(d.Kinds) > 0 && !slices.Contains(d.Kinds, d.Kind) {
		// It is refused in the words in which one document of it is.
		if _, err := v.Documents(ctx, client.DocumentFilter{Kind: d.Kind, Page: client.Page{Limit: 1}}); err != nil {
			return nil, err
		}
	}
	d.Export = url.Values{"kind": {d.Kind}}
	for exported, name := range map[string]string{
		"account": "account", "repository": "repository", "author": "author", "state": "state", "label": "label", "deleted": "deleted",
		"since": "created_from", "until": "created_until",
	} {
		if text := d.Filter[name]; text != "" {
			d.Export.Set(exported, text)
		}
	}
	if !listable(s.Sources, d.Kind) {
		d.Same = []sameAs{{"curl", "curl " + s.auth(v) + quoted(s.address(v, d.Download("csv")))}, {"Command line", "sluice export --kind " + d.Kind + " --format csv"}}
		return p, nil
	}
	if d.List, err = s.documents(ctx, v, d); err != nil {
		return nil, err
	}
	d.Same = s.sameList(v, d)
	return p, nil
}

// Download is the address of an export of what is selected, in a format.
func (d *dataData) Download(format string) string {
	q := url.Values{"format": {format}}
	for name, values := range d.Export {
		q[name] = values
	}
	return "/api/v1/export?" + q.Encode()
}

// sameList is a list of documents as others ask for it.
func (s *dataPages) sameList(v *visit, d *dataData) []sameAs {
	q, command := url.Values{}, "sluice doc list "+d.Kind
	for _, name := range documentFilters {
		if text := d.Filter[name]; text != "" {
			q.Set(name, text)
			command += " --" + strings.ReplaceAll(name, "_", "-") + " " + quoted(text)
		}
	}
	path := "/api/v1/documents/" + url.PathEscape(d.Kind)
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	same := []sameAs{{"curl", "curl " + s.auth(v) + quoted(s.address(v, path))}, {"Command line", command}}
	if kind := source.Kinds(s.Sources).Table(d.Kind); kind != nil {
		if sql := statement(kind, d.Filter); sql != "" {
			same = append(same, sameAs{"SQL", sql})
		}
	}
	return same
}

// found are documents that have words.
type found struct {
	Hits   []hit
	Next   string
	Behind wire.SearchBehind
	Wrong  string
}

// hit is a document with the part of it that matches.
type hit struct {
	wire.SearchHit
	Link  string
	Parts []part
}

// part is a piece of a text; Mark says that it matches.
type part struct {
	Text string
	Mark bool
}

// search finds documents by their words.
func (s *dataPages) search(ctx context.Context, v *visit, d *dataData) (*found, error) {
	q := client.SearchQuery{Query: d.Words, Account: d.Filter["account"], Page: client.Page{Cursor: v.query("cursor"), Limit: listLimit}}
	path, command := url.Values{"q": {d.Words}}, "sluice doc search "+quoted(d.Words)
	if d.Kind != "" {
		q.Kinds = []string{d.Kind}
		path.Set("kind", d.Kind)
		command += " --kind " + d.Kind
	}
	if q.Account != "" {
		path.Set("account", q.Account)
		command += " --account " + quoted(q.Account)
	}
	d.Same = []sameAs{{"curl", "curl " + s.auth(v) + quoted(s.address(v, "/api/v1/search?"+path.Encode()))}, {"Command line", command}}
	answer, err := v.Search(ctx, q)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnauthorized {
			return nil, err
		}
		return &found{Wrong: message(err)}, nil
	}
	f := &found{Next: s.nextPage(v, answer.NextCursor), Behind: answer.Behind}
	for i := range answer.Items {
		one := hit{SearchHit: answer.Items[i]}
		one.Link = documentLink(one.Kind, one.ID, one.Source, one.Account)
		if one.Title == "" {
			// What has no title has a name with a hash at its end.
			_, hash, _ := strings.Cut(one.ID, ":")
			one.Title = short(cmp.Or(hash, one.ID), 13)
		}
		one.Title, one.Parts = domain.Printable(one.Title), partsOf(one.Snippet)
		f.Hits = append(f.Hits, one)
	}
	return f, nil
}

// partsOf cuts a snippet where what matches begins and ends.
func partsOf(s wire.SearchSnippet) (parts []part) {
	text, at := []rune(s.Text), 0
	for _, m := range s.Marks {
		from, to := max(at, min(m[0], len(text))), min(m[1], len(text))
		if to <= from {
			continue
		}
		parts = append(parts, shownPart(text[at:from], false), shownPart(text[from:to], true))
		at = to
	}
	return append(parts, shownPart(text[at:], false))
}

func shownPart(text []rune, mark bool) part { return part{domain.PrintableLines(string(text)), mark} }

// documentLink leads to a document. A login may be that of several sources: the one that
// the document is of stands before it.
func documentLink(kind, id, at, account string) string {
	if at != "" {
		account = at + ":" + account
	}
	return "/data/" + url.PathEscape(kind) + "/" + url.PathEscape(id) + "?" + url.Values{"account": {account}}.Encode()
}
