package httpapi

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

func (s *snapshotRoutes) registerSnapshotHistory(api huma.API) {
	register(s, api, operation{id: "list-snapshot-history", method: http.MethodGet, path: "/api/v1/snapshots/{source}/{key}/history", tag: "snapshots",
		summary: "List the values of an entity that are stored, newest first", errors: []int{http.StatusUnprocessableEntity}}, s.snapshotHistory)
}

type snapshotHistoryInput struct {
	Source string `path:"source" maxLength:"50" doc:"The name of the upstream"`
	Key    string `path:"key" maxLength:"300" doc:"Such as item-equipment:OCID; an OCID alone means its equipment"`
	Values bool   `query:"values" doc:"With the values themselves; a page has 100 of them at most"`
	Cursor string `query:"cursor" maxLength:"100" doc:"Where an earlier page ended"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// historyBodies is how many values are in memory at once.
const historyBodies = 100

func (s *snapshotRoutes) snapshotHistory(ctx context.Context, in *snapshotHistoryInput) (*body[wire.SnapshotHistory], error) {
	e, err := s.Refreshes.CheckEntity(refresh.Entity{Source: in.Source, Key: in.Key})
	if err != nil {
		return nil, err
	}
	q := refresh.PastQuery{Entity: e}
	if in.Cursor != "" {
		if q.Before, q.BeforeSeq, err = parseHistoryCursor(in.Cursor); err != nil {
			return nil, err
		}
	}
	limit := in.Limit
	if in.Values {
		limit = min(limit, historyBodies)
	}
	var read []pastValue
	for len(read) <= limit {
		q.Limit = min(limit+1-len(read), historyBodies+1)
		some, err := s.Refreshes.History(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, v := range some {
			read = append(read, pastValueOf(v, in.Values))
			q.Before, q.BeforeSeq = v.StoredAt, v.Seq
		}
		if len(some) < q.Limit {
			break
		}
	}
	page := pageOf(read, limit, func(v *pastValue) string { return instantCursor(v.StoredAt, strconv.FormatInt(v.seq, 10)) })
	list := wire.SnapshotHistory{Items: make([]wire.SnapshotValue, len(page.Items)), NextCursor: page.NextCursor}
	for i, v := range page.Items {
		list.Items[i] = v.SnapshotValue
	}
	return &body[wire.SnapshotHistory]{list}, nil
}

// pastValue is what is told of a value, and its place.
type pastValue struct {
	wire.SnapshotValue
	seq int64
}

func pastValueOf(v refresh.PastValue, whole bool) pastValue {
	told := wire.SnapshotValue{StoredAt: v.StoredAt, Version: v.Version, Hash: hex.EncodeToString(v.Hash[:]), Size: len(v.Body)}
	if whole {
		told.Value = v.Body
	}
	return pastValue{told, v.Seq}
}

func parseHistoryCursor(cursor string) (at time.Time, seq int64, err error) {
	at, text, err := parseInstantCursor(cursor)
	if err != nil {
		return at, 0, err
	}
	if seq, err = strconv.ParseInt(text, 10, 64); err != nil {
		return at, 0, badCursor()
	}
	return at, seq, nil
}
