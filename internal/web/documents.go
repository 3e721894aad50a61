package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// telling are the columns by which people know a document, in the order in which a
// list shows them.
var telling = []string{
	"account", "full_name", "repository", "number", "title", "name", "message", "type", "author", "state", "language", "stars", "authored_at", "created_at", "updated_at",
}

// documentRow is a document in a list.
type documentRow struct {
	Link  string
	Cells []string
}

// documentFilters are the filters of a list of documents, as its address has them.
var documentFilters = []string{"account", "repository", "author", "state", "label", "created_from", "created_until", "deleted", "sort"}

// listing is a list of documents of one kind.
type listing struct {
	Filter  map[string]string
	Columns []string
	Rows    []documentRow
	Next    string
	// Wrong is why there is no list.
	Wrong string
	// Query is what the API is asked, and Command the same for the command line.
	Query, Command string
}

// documents lists the documents of a kind that match the filters of the address.
func (s *site) documents(ctx context.Context, v *visit, kind string) (*listing, error) {
	d := &listing{Filter: map[string]string{}, Command: "sluice doc list " + kind}
	q := url.Values{}
	for _, name := range documentFilters {
		if d.Filter[name] = v.query(name); d.Filter[name] != "" {
			q.Set(name, d.Filter[name])
			d.Command += " --" + string(bytes.ReplaceAll([]byte(name), []byte("_"), []byte("-"))) + " " + d.Filter[name]
		}
	}
	d.Query = "/api/v1/documents/" + kind + "?" + q.Encode()
	f := d.Filter
	list, err := v.Documents(ctx, client.DocumentFilter{
		Kind: kind, Account: f["account"], Repository: f["repository"], Author: f["author"], State: f["state"], Label: f["label"],
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
		d.Rows = append(d.Rows, d.row(kind, row))
	}
	return d, nil
}

func (d *listing) row(kind string, row map[string]json.RawMessage) documentRow {
	out := documentRow{Link: "/data/" + url.PathEscape(kind) + "/" + url.PathEscape(value(row["id"])) + "?" + url.Values{"account": {value(row["account"])}}.Encode()}
	for _, name := range d.Columns {
		out.Cells = append(out.Cells, short(instantText(row[name]), 100))
	}
	return out
}

// documentField is a column of a document.
type documentField struct{ Name, Value string }

// document shows one document with all that is known of it.
func (*site) document(ctx context.Context, v *visit) (*page, error) {
	kind, id, account := v.r.PathValue("kind"), v.r.PathValue("id"), v.query("account")
	raw, err := v.Document(ctx, kind, id, account, nil, true)
	if err != nil {
		return nil, err
	}
	d := struct {
		Kind, ID, Account, Title, Raw string
		Fields                        []documentField
	}{Kind: kind, ID: id, Account: account, Title: id}
	row := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, err
	}
	for _, name := range []string{"title", "full_name", "name"} {
		if text, has := row[name]; has && value(text) != "–" {
			d.Title = value(text)
			break
		}
	}
	for _, name := range namesIn(raw) {
		if name == "raw" {
			d.Raw = pretty(row[name])
			continue
		}
		d.Fields = append(d.Fields, documentField{name, value(row[name])})
	}
	return &page{Title: short(d.Title, 80), Template: "document.html", Nav: "data", Data: d}, nil
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
