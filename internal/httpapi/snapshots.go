package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/logs"
	"sluice/internal/refresh"
)

// Refreshes keeps snapshots fresh and serves them; *refresh.Pipeline is one.
type Refreshes interface {
	Snapshots
	DeadLetters
}

// Snapshots are the last known values of entities.
type Snapshots interface {
	// CheckEntity refuses what cannot be an entity, and puts it into its one
	// spelling.
	CheckEntity(e refresh.Entity) (refresh.Entity, error)
	Get(ctx context.Context, e refresh.Entity) (refresh.Answer, error)
	// History lists the stored values of an entity, the newest first.
	History(ctx context.Context, q refresh.PastQuery) ([]refresh.PastValue, error)
	Request(ctx context.Context, q refresh.Request) ([]refresh.Grant, error)
	// Watch returns a channel that gets a token after snapshots were stored.
	Watch() (changed <-chan struct{}, end func())
	// Overview tells how the pipeline stands.
	Overview(ctx context.Context) (refresh.Overview, error)
}

// DeadLetters are the requests that failed for good.
type DeadLetters interface {
	DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error)
	DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error)
	DeadLetterCounts(ctx context.Context) (map[string]int64, error)
	Redrive(ctx context.Context, ids ...string) (int, error)
	RedriveWhy(ctx context.Context, why string) (int, error)
	Discard(ctx context.Context, ids ...string) (int, error)
}

// snapshotRoutes serve snapshots, and have them refreshed.
type snapshotRoutes struct {
	*common
	Refreshes Snapshots
}

func (s *snapshotRoutes) registerSnapshots(api huma.API) {
	const tag = "snapshots"
	register(s, api, operation{id: "get-snapshot", method: http.MethodGet, path: "/api/v1/snapshots/{source}/{key}", tag: tag,
		summary: "Show the last known value of an entity; what is stale or missing is refreshed in the background",
		errors:  []int{http.StatusNotModified, http.StatusUnprocessableEntity}}, s.getSnapshot)
	register(s, api, operation{id: "refresh", method: http.MethodPost, path: "/api/v1/refresh", tag: tag,
		summary: "Refresh entities", status: http.StatusAccepted,
		errors: []int{http.StatusUnprocessableEntity}}, s.requestRefresh)
	register(s, api, operation{id: "refresh-overview", method: http.MethodGet, path: "/api/v1/refresh", tag: tag,
		summary: "Show lags, rates, breakers and counts of the refresh pipeline"}, s.refreshOverview)
	s.registerSnapshotHistory(api)
	s.registerSnapshotEvents(api)
}

// getSnapshotInput names an entity.
type getSnapshotInput struct {
	Source string `path:"source" maxLength:"50" doc:"The name of the upstream"`
	Key    string `path:"key" maxLength:"300" doc:"Such as item-equipment:OCID; an OCID alone means its equipment"`
	Match  string `header:"If-None-Match" doc:"The ETag of an earlier answer: 304 if the value is the same and fresh"`
}

type snapshotAnswer struct {
	Status int
	ETag   string `header:"ETag"`
	Body   *refresh.Answer
}

func (s *snapshotRoutes) getSnapshot(ctx context.Context, in *getSnapshotInput) (*snapshotAnswer, error) {
	e, err := s.Refreshes.CheckEntity(refresh.Entity{Source: in.Source, Key: in.Key})
	if err != nil {
		return nil, err
	}
	answer, err := s.Refreshes.Get(ctx, e)
	if err != nil {
		return nil, err
	}
	out := &snapshotAnswer{Status: http.StatusOK, ETag: answer.ETag, Body: &answer}
	if in.Match != "" && in.Match == answer.ETag && answer.Freshness == refresh.Fresh {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out, nil
}

func (s *snapshotRoutes) requestRefresh(ctx context.Context, in *body[wire.RefreshRequest]) (*body[wire.RefreshAnswer], error) {
	q := refresh.Request{Priority: domain.PriorityHigh, Reason: refresh.ReasonUserRequest, CorrelationID: cmp.Or(in.Body.CorrelationID, logs.Correlation(ctx))}
	if in.Body.Priority != "" {
		if err := q.Priority.UnmarshalText([]byte(in.Body.Priority)); err != nil {
			return nil, err
		}
	}
	seen := map[refresh.Entity]struct{}{}
	for _, key := range in.Body.Keys {
		e, err := s.Refreshes.CheckEntity(refresh.Entity{Source: in.Body.Source, Key: key})
		if err != nil {
			return nil, err
		}
		if _, twice := seen[e]; twice {
			continue
		}
		seen[e] = struct{}{}
		q.Entities = append(q.Entities, e)
	}
	access.About(ctx, fmt.Sprintf("of %s: %d keys", in.Body.Source, len(q.Entities)))
	grants, err := s.Refreshes.Request(ctx, q)
	s.Log.InfoContext(logs.WithCorrelation(ctx, q.CorrelationID), "a refresh was requested", "source", in.Body.Source, "keys", len(q.Entities), "priority", q.Priority, "error", err)
	if err != nil {
		return nil, err
	}
	answer := wire.RefreshAnswer{Results: make([]wire.RefreshResult, len(grants))}
	for i, g := range grants {
		answer.Results[i] = wire.RefreshResult{Key: g.Key, Result: g.Result.String(), Version: g.Version}
	}
	return &body[wire.RefreshAnswer]{answer}, nil
}

func (s *snapshotRoutes) refreshOverview(ctx context.Context, _ *struct{}) (*body[refresh.Overview], error) {
	overview, err := s.Refreshes.Overview(ctx)
	return &body[refresh.Overview]{overview}, err
}

func (s *snapshotRoutes) registerSnapshotEvents(api huma.API) {
	op := operation{id: "watch-snapshot", method: http.MethodGet, path: "/api/v1/snapshots/{source}/{key}/events", tag: "events",
		summary: "Follow an entity until it is fresh or given up, which ends the stream", errors: []int{http.StatusUnprocessableEntity}}.huma()
	op.Responses = eventResponses(api, "snapshot (the answer to a read, at first and whenever it changes)",
		exampleEvent("FRESH.9f86d081884c7d65", wire.EventSnapshot, "{\"source\":\"maplestory\",\"key\":\""+exampleKey+"\",\"freshness\":\"FRESH\",\"updateQueued\":false}"),
		map[string]any{wire.EventSnapshot: refresh.Answer{}})
	op.Responses["204"] = nothingMoreResponse()
	huma.Register(api, op, func(ctx context.Context, in *watchedEntity) (*huma.StreamResponse, error) {
		e, err := s.Refreshes.CheckEntity(refresh.Entity{Source: in.Source, Key: in.Key})
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		if in.LastID != "" {
			if answer, err := s.Refreshes.Get(ctx, e); err == nil && final(answer) && answerID(answer) == in.LastID {
				return nothingMore(), nil
			}
		}
		follow := &followSnapshot{snapshotRoutes: s, entity: e, had: in.LastID}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, op.OperationID, s.Refreshes.Watch, follow.look) }}, nil
	})
}

// watchedEntity is an entity that is followed. It has fields of getSnapshotInput
// once more: parameters of embedded structs are not seen.
type watchedEntity struct {
	Source string `path:"source" maxLength:"50" doc:"The name of the upstream"`
	Key    string `path:"key" maxLength:"300" doc:"Such as item-equipment:OCID; an OCID alone means its equipment"`
	LastID string `header:"Last-Event-ID" maxLength:"300" doc:"The id of the last event that the reader has; a browser sends it when it reconnects"`
}

// followSnapshot sends what is known of an entity whenever that has changed,
// until it is fresh, or given up.
type followSnapshot struct {
	*snapshotRoutes
	entity refresh.Entity
	// had is the id of what the reader has.
	had string
}

func (f *followSnapshot) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	answer, err := f.Refreshes.Get(ctx, f.entity)
	if err != nil {
		return false, err
	}
	if id := answerID(answer); id != f.had {
		if err := out.identified(id, wire.EventSnapshot, answer); err != nil {
			return false, err
		}
		f.had = id
	}
	return final(answer), nil
}

// answerID names what is known of an entity, in whatever process.
func answerID(a refresh.Answer) string {
	id := string(a.Freshness)
	if a.Status != nil {
		id += "." + string(a.Status.Code)
	}
	return id + "." + strings.Trim(a.ETag, `"`)
}

// final tells whether nothing more is to come: it is fresh, or has failed for
// good and nobody asks for it.
func final(a refresh.Answer) bool {
	return a.Freshness == refresh.Fresh || a.Status != nil && a.Status.Code == refresh.StatusFailed && !a.UpdateQueued
}
