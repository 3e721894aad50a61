package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
)

// sqlRoutes answer statements that people write. What they can read is what exports
// and lists show, so that the role is the same.
type sqlRoutes struct {
	*common
	// Queries is nil where the store of the documents speaks no SQL.
	Queries query.Store
}

func (s *sqlRoutes) registerSQL(api huma.API) {
	register(s, api, operation{id: "query-sql", method: http.MethodPost, path: "/api/v1/sql", tag: "export",
		summary: "Answer one SELECT on the documented views", errors: []int{http.StatusUnprocessableEntity}, body: 4 * query.MaxText}, s.querySQL)
}

func (s *sqlRoutes) querySQL(ctx context.Context, in *body[wire.SQLRequest]) (*body[wire.SQLAnswer], error) {
	if s.Queries == nil {
		return nil, domain.Errorf(domain.CodeUnavailable,
			"this service answers no SQL: with the state on a server it needs a user who may read the views alone (--sql-reader, docs/sql.md); documents in MongoDB have none")
	}
	ctx, cancel := s.untilStopping(ctx)
	defer cancel()
	answer, err := s.Queries.Query(ctx, query.Query{SQL: in.Body.Query, Limit: in.Body.Limit})
	if err != nil {
		return nil, err
	}
	out := wire.SQLAnswer{Columns: answer.Columns, Rows: answer.Rows, More: answer.More}
	if out.Rows == nil {
		out.Rows = [][]json.RawMessage{}
	}
	return &body[wire.SQLAnswer]{out}, nil
}
