package client

import (
	"context"
	"net/http"

	"sluice/internal/httpapi/wire"
)

// Processes asks the processes of the installation to answer, and lists them.
func (c operatorCalls) Processes(ctx context.Context) (wire.ProcessList, error) {
	var out wire.ProcessList
	err := c.call(ctx, http.MethodGet, api+"/processes", nil, nil, &out)
	return out, err
}

// Backends lists what the processes work with, and how it fares.
func (c operatorCalls) Backends(ctx context.Context) (wire.BackendList, error) {
	var out wire.BackendList
	err := c.call(ctx, http.MethodGet, api+"/backends", nil, nil, &out)
	return out, err
}
