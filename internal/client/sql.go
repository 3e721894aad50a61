package client

import (
	"context"
	"net/http"

	"sluice/internal/httpapi/wire"
)

// SQL asks one statement.
func (c accountCalls) SQL(ctx context.Context, in wire.SQLRequest) (answer wire.SQLAnswer, err error) {
	err = c.call(ctx, http.MethodPost, api+"/sql", nil, in, &answer)
	return answer, err
}
