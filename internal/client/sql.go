package client

import (
	"context"
	"net/http"
	"net/url"

	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
)

// SQL asks one statement.
func (c accountCalls) SQL(ctx context.Context, in wire.SQLRequest) (answer wire.SQLAnswer, err error) {
	err = c.call(ctx, http.MethodPost, api+"/sql", nil, in, &answer)
	return answer, err
}

func queryPath(name string) string { return api + "/queries/" + url.PathEscape(name) }

// SavedQueries lists the queries that people have saved.
func (c accountCalls) SavedQueries(ctx context.Context) (list wire.QueryList, err error) {
	err = c.call(ctx, http.MethodGet, api+"/queries", nil, nil, &list)
	return list, err
}

// SavedQuery shows one of them.
func (c accountCalls) SavedQuery(ctx context.Context, name string) (q query.SavedQuery, err error) {
	err = c.call(ctx, http.MethodGet, queryPath(name), nil, nil, &q)
	return q, err
}

// SaveQuery keeps a query under a name.
func (c accountCalls) SaveQuery(ctx context.Context, name string, in wire.QueryRequest) (q query.SavedQuery, err error) {
	err = c.call(ctx, http.MethodPut, queryPath(name), nil, in, &q)
	return q, err
}

// RemoveQuery forgets a query.
func (c accountCalls) RemoveQuery(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, queryPath(name), nil, nil, nil)
}
