package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
)

// savedRoutes keep queries that people have given a name.
type savedRoutes struct {
	*common
	Saved *query.Saved
}

func (s *savedRoutes) registerSaved(api huma.API) {
	const tag, path = "export", "/api/v1/queries"
	register(s, api, operation{id: "list-queries", method: http.MethodGet, path: path, tag: tag,
		summary: "List saved queries, by name"}, s.listQueries)
	register(s, api, operation{id: "get-query", method: http.MethodGet, path: path + "/{name}", tag: tag,
		summary: "Show a saved query", errors: []int{http.StatusNotFound}}, s.getQuery)
	register(s, api, operation{id: "save-query", method: http.MethodPut, path: path + "/{name}", tag: tag,
		summary: "Save a query under a name, instead of one that has it", errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.saveQuery)
	register(s, api, operation{id: "remove-query", method: http.MethodDelete, path: path + "/{name}", tag: tag,
		summary: "Forget a saved query", status: http.StatusNoContent, errors: []int{http.StatusNotFound}}, s.removeQuery)
}

func (s *savedRoutes) listQueries(ctx context.Context, _ *struct{}) (*body[wire.QueryList], error) {
	list, err := s.Saved.List(ctx)
	if list == nil {
		list = []query.SavedQuery{}
	}
	return &body[wire.QueryList]{wire.QueryList{Items: list}}, err
}

type queryRef struct {
	Name string `path:"name" maxLength:"63"`
}

func (s *savedRoutes) getQuery(ctx context.Context, in *queryRef) (*body[query.SavedQuery], error) {
	q, err := s.Saved.Get(ctx, in.Name)
	return &body[query.SavedQuery]{q}, err
}

type saveQueryInput struct {
	Name string `path:"name" maxLength:"63"`
	Body wire.QueryRequest
}

func (s *savedRoutes) saveQuery(ctx context.Context, in *saveQueryInput) (*body[query.SavedQuery], error) {
	q, err := s.Saved.Save(ctx, query.SavedQuery{Name: in.Name, SQL: in.Body.Query, About: in.Body.About})
	return &body[query.SavedQuery]{q}, err
}

func (s *savedRoutes) removeQuery(ctx context.Context, in *queryRef) (*struct{}, error) {
	return nil, s.Saved.Remove(ctx, in.Name)
}
