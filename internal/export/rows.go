package export

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Rows renders documents of one kind as the lines of JSON of an export have them.
type Rows struct {
	kind    *document.Declaration
	table   *jsonTable
	row     []document.Value
	withRaw bool
}

// NewRows returns what renders some columns of a kind, in their declared order; all
// of them if none is named. If withRaw is set, a row has the upstream's own JSON too,
// as raw; null if there is none.
func NewRows(kind *document.Declaration, fields []string, withRaw bool) (*Rows, error) {
	var known []string
	var columns []document.Column
	for _, c := range kind.Columns {
		known = append(known, c.Name)
		if len(fields) == 0 || slices.Contains(fields, c.Name) {
			columns = append(columns, c)
		}
	}
	for _, name := range fields {
		if !slices.Contains(known, name) {
			return nil, domain.Errorf(domain.CodeInvalid, "fields: %q is not a column of %s; use some of %s", name, kind.Plural, strings.Join(known, ", "))
		}
	}
	return &Rows{kind: kind, table: newJSONTable(lines{columns: columns}), row: make([]document.Value, len(columns)), withRaw: withRaw}, nil
}

// Render returns the rows of documents, in their order.
func (r *Rows) Render(ctx context.Context, places *Places, docs []document.Document) ([]json.RawMessage, error) {
	found, err := places.of(ctx, r.kind, docs)
	if err != nil {
		return nil, err
	}
	rows := make([]json.RawMessage, len(docs))
	for i := range docs {
		if rows[i], err = r.one(&docs[i], found[docs[i].Account]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (r *Rows) one(d *document.Document, at *document.Place) (json.RawMessage, error) {
	t := r.table
	t.line = t.line[:0]
	if err := fill(r.row, t.columns, d, at); err != nil {
		return nil, err
	}
	if err := t.appendRow(r.row); err != nil {
		return nil, err
	}
	if r.withRaw {
		t.line = append(t.line, `,"raw":`...)
		switch {
		case len(d.Raw) == 0:
			t.line = append(t.line, "null"...)
		case json.Valid(d.Raw):
			t.line = append(t.line, d.Raw...)
		default:
			return nil, domain.Errorf(domain.CodeCorrupt, "the stored payload of %s %s of account %d is not JSON", d.Kind, d.Name, d.Account)
		}
	}
	return slices.Clone(append(t.line, '}')), nil
}

// Places finds out where documents were found, a page of them at a time. It keeps
// the accounts, and no titles.
type Places struct {
	Kinds   document.Kinds
	Finder  document.Finder
	Account func(ctx context.Context, id int64) (domain.Account, error)

	accounts map[int64]domain.Account
}

// of are the places of documents of a kind, by their accounts.
func (p *Places) of(ctx context.Context, kind *document.Declaration, docs []document.Document) (map[int64]*document.Place, error) {
	places := map[int64]*document.Place{}
	var keys []document.Key
	for i := range docs {
		d := &docs[i]
		at := places[d.Account]
		if at == nil {
			account, err := p.account(ctx, d.Account)
			if err != nil {
				return nil, err
			}
			at = &document.Place{Account: account, Titles: map[int64]string{}}
			places[d.Account] = at
		}
		if _, known := at.Titles[d.Repository]; known || d.Repository == 0 || kind.Container {
			continue
		}
		at.Titles[d.Repository] = ""
		for _, container := range p.Kinds.Containers() {
			keys = append(keys, document.Key{Account: d.Account, Kind: container, Name: strconv.FormatInt(d.Repository, 10)})
		}
	}
	if len(keys) == 0 {
		return places, nil
	}
	found, err := p.Finder.Find(ctx, keys, false)
	for i := range found {
		places[found[i].Account].Titles[found[i].Repository] = found[i].Title
	}
	return places, err
}

func (p *Places) account(ctx context.Context, id int64) (domain.Account, error) {
	if a, known := p.accounts[id]; known {
		return a, nil
	}
	a, err := p.Account(ctx, id)
	if err != nil {
		return a, err
	}
	if p.accounts == nil {
		p.accounts = map[int64]domain.Account{}
	}
	p.accounts[id] = a
	return a, nil
}
