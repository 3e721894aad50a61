package client

import (
	"context"
	"strings"

	"sluice/internal/httpapi/wire"
)

// SearchQuery is a search for documents by their words. Zero fields do not restrict.
type SearchQuery struct {
	Query   string
	Kinds   []string
	Account string
	// Deleted is "true", "false" or "".
	Deleted string
	Page
}

// Search finds documents by their words.
func (c operatorCalls) Search(ctx context.Context, q SearchQuery) (wire.SearchAnswer, error) {
	query := q.values()
	add(query, "q", q.Query)
	add(query, "kind", strings.Join(q.Kinds, ","))
	add(query, "account", q.Account)
	add(query, "deleted", q.Deleted)
	return getList[wire.SearchAnswer](ctx, c.transport, "/search", query)
}
