package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

func snapshotPath(e refresh.Entity, rest string) string {
	return api + "/snapshots/" + url.PathEscape(e.Source) + "/" + url.PathEscape(e.Key) + rest
}

// Snapshot shows the last known value of an entity.
func (c snapshotCalls) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Answer, error) {
	var out refresh.Answer
	err := c.call(ctx, http.MethodGet, snapshotPath(e, ""), nil, nil, &out)
	return out, err
}

// SnapshotHistory lists the stored values of an entity, the newest first; whole has
// the values themselves too.
func (c snapshotCalls) SnapshotHistory(ctx context.Context, e refresh.Entity, whole bool, p Page) (wire.SnapshotHistory, error) {
	q := p.values()
	if whole {
		q.Set("values", "true")
	}
	var out wire.SnapshotHistory
	err := c.call(ctx, http.MethodGet, snapshotPath(e, "/history"), q, nil, &out)
	return out, err
}

// WatchSnapshot yields what is known of an entity until it is fresh.
func (c snapshotCalls) WatchSnapshot(ctx context.Context, e refresh.Entity) iter.Seq2[refresh.Answer, error] {
	return follow(ctx, c.transport, snapshotPath(e, "/events"), nil, one[refresh.Answer](wire.EventSnapshot),
		func(a refresh.Answer) bool { return a.Freshness == refresh.Fresh })
}

// Refresh has entities refreshed.
func (c snapshotCalls) Refresh(ctx context.Context, q wire.RefreshRequest) (wire.RefreshAnswer, error) {
	var out wire.RefreshAnswer
	err := c.call(ctx, http.MethodPost, api+"/refresh", nil, q, &out)
	return out, err
}

// RefreshOverview tells how the refresh pipeline stands.
func (c snapshotCalls) RefreshOverview(ctx context.Context) (refresh.Overview, error) {
	var out refresh.Overview
	err := c.call(ctx, http.MethodGet, api+"/refresh", nil, nil, &out)
	return out, err
}

// DeadLetter shows a dead letter.
func (c snapshotCalls) DeadLetter(ctx context.Context, id string) (wire.Letter, error) {
	var out wire.Letter
	err := c.call(ctx, http.MethodGet, api+"/dlq/"+url.PathEscape(id), nil, nil, &out)
	return out, err
}

// Redrive asks once more for what dead letters asked for.
func (c snapshotCalls) Redrive(ctx context.Context, q wire.LettersRequest) (int, error) {
	var out wire.LettersAnswer
	err := c.call(ctx, http.MethodPost, api+"/dlq/redrive", nil, q, &out)
	return out.Letters, err
}

// Discard forgets dead letters.
func (c snapshotCalls) Discard(ctx context.Context, q wire.LettersRequest) (int, error) {
	var out wire.LettersAnswer
	err := c.call(ctx, http.MethodPost, api+"/dlq/discard", nil, q, &out)
	return out.Letters, err
}
