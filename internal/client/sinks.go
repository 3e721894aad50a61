package client

import (
	"context"
	"net/http"

	"sluice/internal/httpapi/wire"
)

const sinksPath = api + "/sinks"

// Sinks lists where documents are carried to.
func (c operatorCalls) Sinks(ctx context.Context) (wire.SinkList, error) {
	var out wire.SinkList
	err := c.call(ctx, http.MethodGet, sinksPath, nil, nil, &out)
	return out, err
}

// SyncSink carries all documents to a target, for as long as it takes.
func (c operatorCalls) SyncSink(ctx context.Context, q wire.SyncRequest) (wire.Synced, error) {
	return carryOut[wire.Synced](ctx, c.transport, sinksPath+"/sync", q)
}
