package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"sluice/internal/httpapi/wire"
)

const sinksPath = api + "/sinks"

// Sinks lists where documents are carried to.
func (c operatorCalls) Sinks(ctx context.Context) (wire.SinkList, error) {
	var out wire.SinkList
	err := c.call(ctx, http.MethodGet, sinksPath, nil, nil, &out)
	return out, err
}

// SinkLetters lists the batches that a sink's receiver refused, the oldest first.
func (c operatorCalls) SinkLetters(ctx context.Context, name string, limit int) (wire.SinkLetters, error) {
	var out wire.SinkLetters
	err := c.call(ctx, http.MethodGet, lettersPath(name), url.Values{"limit": {strconv.Itoa(limit)}}, nil, &out)
	return out, err
}

// RedriveSinkLetters sends batches that were refused once more, and counts them.
func (c operatorCalls) RedriveSinkLetters(ctx context.Context, name string, q wire.SinkLettersRequest) (int, error) {
	return c.sinkLetters(ctx, name, "/redrive", q)
}

// DiscardSinkLetters discards batches that were refused, and counts them.
func (c operatorCalls) DiscardSinkLetters(ctx context.Context, name string, q wire.SinkLettersRequest) (int, error) {
	return c.sinkLetters(ctx, name, "/discard", q)
}

func (c operatorCalls) sinkLetters(ctx context.Context, name, what string, q wire.SinkLettersRequest) (int, error) {
	var out wire.LettersAnswer
	err := c.call(ctx, http.MethodPost, lettersPath(name)+what, nil, q, &out)
	return out.Letters, err
}

func lettersPath(name string) string { return sinksPath + "/" + url.PathEscape(name) + "/letters" }

// SyncSink carries all documents to a target, for as long as it takes.
func (c operatorCalls) SyncSink(ctx context.Context, q wire.SyncRequest) (wire.Synced, error) {
	return carryOut[wire.Synced](ctx, c.transport, sinksPath+"/sync", q)
}
