package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// places are where documents were found: their accounts, and the repositories that
// they are in.
type places struct {
	*Runner
	// accounts has nil for those that are not there any more.
	accounts map[int64]*domain.Account
	titles   map[home]string
}

// home is a repository of a source, which has kinds of containers of its own.
type home struct {
	account, repository int64
	source              string
}

func newPlaces(r *Runner) *places {
	return &places{r, map[int64]*domain.Account{}, map[home]string{}}
}

// rows are those of the documents that have a table.
func (p *places) rows(ctx context.Context, docs []document.Document) ([]Row, error) {
	if err := p.findTitles(ctx, docs); err != nil {
		return nil, err
	}
	rows := make([]Row, 0, len(docs))
	for i := range docs {
		d := &docs[i]
		table, ok := p.byKind[d.Kind]
		if !ok {
			continue
		}
		account, err := p.account(ctx, d.Account)
		if err != nil {
			return nil, err
		}
		if account == nil {
			// The account is being purged, and the feed will say so.
			continue
		}
		row := Row{Table: table, Key: d.Key, Deleted: d.Deleted, Removed: d.Deleted && p.DropDeleted}
		if !row.Removed {
			if err := p.fill(&row, d, account); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fill sets what the row shows of a document.
func (p *places) fill(row *Row, d *document.Document, account *domain.Account) (err error) {
	t := &p.tables[row.Table]
	title := p.titles[p.home(d)]
	at := &document.Place{Account: *account, Titles: map[int64]string{d.Repository: title}}
	row.Values = make([]document.Value, len(t.Columns))
	for i := range t.Columns {
		if row.Values[i], err = t.Columns[i].Value(d, at); err != nil {
			return err
		}
		// Few databases have room for NUL in a text.
		if text := &row.Values[i].Text; strings.IndexByte(*text, 0) >= 0 {
			*text = strings.ReplaceAll(*text, "\x00", "\uFFFD")
		}
	}
	if t.Raw && len(d.Raw) > 0 && json.Valid(d.Raw) {
		row.Raw = bytes.ToValidUTF8(d.Raw, []byte("\uFFFD"))
	}
	return nil
}

func (p *places) account(ctx context.Context, id int64) (*domain.Account, error) {
	if a, known := p.accounts[id]; known {
		return a, nil
	}
	a, err := p.Source.Accounts.Account(ctx, id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		p.accounts[id] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.accounts[id] = &a
	return &a, nil
}

func (p *places) home(d *document.Document) home {
	h := home{account: d.Account, repository: d.Repository}
	if declared := p.Source.Kinds.Of(d.Kind); declared != nil {
		h.source = declared.Source
	}
	return h
}

// findTitles learns what the repositories of documents are called. A repository's
// document is called as its number is.
func (p *places) findTitles(ctx context.Context, docs []document.Document) error {
	var keys []document.Key
	for i := range docs {
		d := &docs[i]
		table, ok := p.byKind[d.Kind]
		if !ok || d.Repository == 0 || !p.tables[table].showsTitle() {
			continue
		}
		h := p.home(d)
		if _, known := p.titles[h]; known {
			continue
		}
		p.titles[h] = ""
		for _, kind := range p.Source.Kinds.OfSource(h.source).Containers() {
			keys = append(keys, document.Key{Account: h.account, Kind: kind, Name: strconv.FormatInt(h.repository, 10)})
		}
	}
	for len(keys) > 0 {
		n := min(len(keys), lookupKeys)
		found, err := p.Source.Finder.Find(ctx, keys[:n], false)
		if err != nil {
			return err
		}
		for i := range found {
			p.titles[p.home(&found[i])] = found[i].Title
		}
		keys = keys[n:]
	}
	return nil
}

func (t *Table) showsTitle() bool {
	for i := range t.Columns {
		if t.Columns[i].From == document.FromContainerTitle {
			return true
		}
	}
	return false
}
