package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/httpapi/wire"
)

// DocumentFilter selects documents of one kind. Zero fields do not restrict.
type DocumentFilter struct {
	// Kind is the name of the table.
	Kind string
	// Account is an id or a login, Repository an id or a full name.
	Account, Repository, Author, State, Label            string
	CreatedFrom, CreatedUntil, UpdatedFrom, UpdatedUntil string
	// Deleted is "true", "false" or "".
	Deleted string
	// Sort is name, created or updated; with - before it, the other way round.
	Sort   string
	Fields []string
	Raw    bool
	Page
}

// Documents lists one page of documents.
func (c documentCalls) Documents(ctx context.Context, f DocumentFilter) (wire.DocumentList, error) {
	q := f.values()
	for name, value := range map[string]string{
		"account": f.Account, "repository": f.Repository, "author": f.Author, "state": f.State, "label": f.Label,
		"created_from": f.CreatedFrom, "created_until": f.CreatedUntil, "updated_from": f.UpdatedFrom, "updated_until": f.UpdatedUntil,
		"deleted": f.Deleted, "sort": f.Sort,
	} {
		add(q, name, value)
	}
	addColumns(q, f.Fields, f.Raw)
	return getList[wire.DocumentList](ctx, c.transport, "/documents/"+url.PathEscape(f.Kind), q)
}

func addColumns(q url.Values, fields []string, raw bool) {
	add(q, "fields", strings.Join(fields, ","))
	if raw {
		q.Set("raw", "true")
	}
}

// Document shows one document as a row; account may be "" if only one has it.
func (c documentCalls) Document(ctx context.Context, kind, id, account string, fields []string, raw bool) (row json.RawMessage, err error) {
	q := url.Values{}
	add(q, "account", account)
	addColumns(q, fields, raw)
	err = c.call(ctx, http.MethodGet, api+"/documents/"+url.PathEscape(kind)+"/"+url.PathEscape(id), q, nil, &row)
	return row, err
}

// ChangeFilter says which changes are asked for. Zero fields do not restrict.
type ChangeFilter struct {
	// After is a position, or "now".
	After string
	// Feed is what the position is of; "" does not ask.
	Feed            string
	Kinds, Accounts []string
	// IDs are those of documents.
	IDs   []string
	Limit int
}

func (f ChangeFilter) values() url.Values {
	q := url.Values{}
	add(q, "after", f.After)
	add(q, "feed", f.Feed)
	for _, kind := range f.Kinds {
		q.Add("kind", kind)
	}
	for _, account := range f.Accounts {
		q.Add("account", account)
	}
	for _, id := range f.IDs {
		q.Add("id", id)
	}
	setNumber(q, "limit", int64(f.Limit))
	return q
}

// Changes returns a part of the feed of changes.
func (c documentCalls) Changes(ctx context.Context, f ChangeFilter) (page wire.ChangePage, err error) {
	err = c.call(ctx, http.MethodGet, api+"/changes", f.values(), nil, &page)
	return page, err
}

// Told is what a stream of changes tells: a change, or where it is.
type Told struct {
	Change *wire.Change
	// At is where the stream is; its newest position is only news at the beginning.
	At *wire.FeedBounds
}

// FollowChanges yields changes as they are committed, until ctx ends. It tells first
// where it begins. A stream that breaks off ends with an error of code unavailable;
// whoever follows again from the last position misses none.
func (c documentCalls) FollowChanges(ctx context.Context, f ChangeFilter) iter.Seq2[Told, error] {
	f.Limit = 0
	return follow(ctx, c.asking("text/event-stream"), api+"/changes", f.values(), readChange, func(Told) bool { return false })
}

func readChange(name string, data []byte) ([]Told, error) {
	if name == wire.EventChange {
		changes, err := one[wire.Change](wire.EventChange)(name, data)
		if err != nil {
			return nil, err
		}
		return []Told{{Change: &changes[0]}}, nil
	}
	if !slices.Contains([]string{wire.EventSnapshot, wire.EventPosition}, name) {
		return nil, nil
	}
	var at wire.FeedBounds
	err := json.Unmarshal(data, &at)
	return []Told{{At: &at}}, err
}

// PositionOf is a position as it is given in a request.
func PositionOf(position int64) string { return strconv.FormatInt(position, 10) }
