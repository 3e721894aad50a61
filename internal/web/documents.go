package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

// telling are the columns by which people know a document, in the order in which a
// list shows them.
var telling = []string{
	"account", "full_name", "repository", "number", "title", "name", "message", "type", "author", "state", "language", "stars", "authored_at", "created_at", "updated_at",
}

// documentRow is a document in a list.
type documentRow struct {
	Link string
	// Name tells it apart from the others of the list.
	Name  string
	Cells []documentCell
	// Gone says that the upstream shows it no longer.
	Gone bool
}

// listing is a list of documents of one kind.
type listing struct {
	Columns []string
	Rows    []documentRow
	Next    string
	// Wrong is why there is no list.
	Wrong string
}

// documents lists the documents of a kind that match the filters of the address.
func (s *dataPages) documents(ctx context.Context, v *visit, of *dataData) (*listing, error) {
	d, f := &listing{}, of.Filter
	list, err := v.Documents(ctx, client.DocumentFilter{
		Kind: of.Kind, Account: f["account"], Repository: f["repository"], Author: f["author"], State: f["state"], Label: f["label"],
		CreatedFrom: f["created_from"], CreatedUntil: f["created_until"], Deleted: f["deleted"], Sort: f["sort"],
		Page: client.Page{Cursor: v.query("cursor"), Limit: listLimit},
	})
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnauthorized {
			return nil, err
		}
		d.Wrong = message(err)
		return d, nil
	}
	d.Next = s.nextPage(v, list.NextCursor)
	for _, raw := range list.Items {
		row := map[string]json.RawMessage{}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, err
		}
		if d.Columns == nil {
			for _, name := range telling {
				if _, has := row[name]; has {
					d.Columns = append(d.Columns, name)
				}
			}
		}
		d.Rows = append(d.Rows, d.row(of.Kind, s.sourceOf(of.Kind), row))
	}
	return d, nil
}

// sourceOf is the source whose documents a table has; "" if nobody knows.
func (s *dataPages) sourceOf(table string) string {
	if kind := source.Kinds(s.Sources).Table(table); kind != nil {
		return kind.Source
	}
	return ""
}

func (d *listing) row(kind, at string, row map[string]json.RawMessage) documentRow {
	out := documentRow{Link: documentLink(kind, value(row["id"]), at, value(row["account"])), Gone: value(row["deleted"]) == "true"}
	out.Name = domain.Printable(value(row["id"]))
	for _, name := range []string{"title", "full_name", "name"} {
		if text := value(row[name]); text != "" && text != "–" {
			out.Name = short(domain.Printable(text), 80)
			break
		}
	}
	for _, name := range d.Columns {
		out.Cells = append(out.Cells, cellOf(instantText(row[name])))
	}
	return out
}

// documentCell is a value in a list; Class says how it is set.
type documentCell struct{ Text, Class string }

// cellOf keeps what is short on one line.
func cellOf(text string) documentCell {
	c := documentCell{short(text, 100), "wrap"}
	if len(text) <= len("2006-01-02 15:04") {
		c.Class = "short"
	}
	return c
}

// documentField is a column of a document.
type documentField struct{ Name, Value string }

// historyLooked is how many of the latest changes are looked through for those of
// one document, which is as many as the API looks at for one page.
const historyLooked = 20_000

// documentData is what the page of a document shows.
type documentData struct {
	Kind, ID, Account, Title, Raw, URL string
	Gone                               string
	Fields                             []documentField
	// History are its changes, the newest first; Unread is why there are none, and
	// Looked says that older ones were not looked for.
	History []wire.Change
	Unread  string
	Looked  bool
	Same    []sameAs
}

// document shows one document with all that is known of it.
func (s *dataPages) document(ctx context.Context, v *visit) (*page, error) {
	kind, id, account := v.r.PathValue("kind"), v.r.PathValue("id"), v.query("account")
	raw, err := v.Document(ctx, kind, id, account, nil, true)
	if err != nil {
		return nil, err
	}
	d := &documentData{Kind: kind, ID: id, Title: id}
	row := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, err
	}
	known := func(name string) string {
		if text, has := row[name]; has && value(text) != "–" {
			return value(text)
		}
		return ""
	}
	d.Title = cmp.Or(known("title"), known("full_name"), known("name"), strings.SplitN(known("message"), "\n", 2)[0], id)
	d.Title = domain.Printable(d.Title)
	d.URL, d.Account = webAddress(known("url")), cmp.Or(known("account"), account)
	if account == "" {
		account = d.Account
		if at := s.sourceOf(kind); at != "" {
			account = at + ":" + d.Account
		}
	}
	if known("deleted") == "true" {
		d.Gone = cmp.Or(known("gone_why"), "the upstream shows it no longer")
	}
	for _, name := range namesIn(raw) {
		if name == "raw" {
			d.Raw = pretty(row[name])
			continue
		}
		d.Fields = append(d.Fields, documentField{name, shownValue(row[name])})
	}
	if err := d.history(ctx, v, account); err != nil {
		d.Unread = message(err)
	}
	path := "/api/v1/documents/" + url.PathEscape(kind) + "/" + url.PathEscape(id) + "?" + url.Values{"account": {account}}.Encode()
	d.Same = []sameAs{
		{"curl", "curl " + s.auth(v) + quoted(s.address(v, path))},
		{"Command line", "sluice doc get " + quoted(kind) + " " + quoted(id) + " --account " + quoted(account) + " --raw"},
		{"SQL", "SELECT * FROM " + kind + " WHERE account = " + literal(d.Account) + " AND id = " + literal(id)},
	}
	return &page{Title: short(d.Title, 80), Template: "document.html", Nav: "data", Data: d}, nil
}

// webAddress is an address that a page may lead to; "" for what an upstream calls so
// and is something else, such as a script.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return text
}

// history finds what the feed of changes tells of the document.
func (d *documentData) history(ctx context.Context, v *visit, account string) error {
	end, err := v.Changes(ctx, client.ChangeFilter{After: "now", Limit: 1})
	if err != nil {
		return err
	}
	from := max(end.Oldest-1, end.Newest-historyLooked, 0)
	d.Looked = from > max(end.Oldest-1, 0)
	found, err := v.Changes(ctx, client.ChangeFilter{
		After: client.PositionOf(from), Kinds: []string{d.Kind}, Accounts: []string{account}, IDs: []string{d.ID}, Limit: 1000,
	})
	slices.Reverse(found.Items)
	d.History = found.Items[:min(len(found.Items), listLimit)]
	return err
}

// namesIn are the names of an object's members, in their order.
func namesIn(object json.RawMessage) (names []string) {
	in := json.NewDecoder(bytes.NewReader(object))
	if _, err := in.Token(); err != nil {
		return nil
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return names
		}
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
		var skipped json.RawMessage
		if in.Decode(&skipped) != nil {
			return names
		}
	}
	return names
}

// listable says whether documents of a kind can be listed: statistics are computed.
func listable(of []source.Description, kind string) bool {
	return slices.Contains(source.Kinds(of).Tables(), kind)
}
