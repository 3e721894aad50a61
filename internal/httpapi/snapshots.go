package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// Refreshes keeps snapshots fresh and serves them.
type Refreshes interface {
	// CheckEntity refuses what cannot be an entity, and puts it into its one
	// spelling.
	CheckEntity(e refresh.Entity) (refresh.Entity, error)
	Get(ctx context.Context, e refresh.Entity) (refresh.Answer, error)
	Request(ctx context.Context, q refresh.Request) ([]refresh.Grant, error)
	// Watch returns a channel that gets a token after snapshots were stored.
	Watch() (changed <-chan struct{}, end func())
	// Overview tells how the pipeline stands.
	Overview(ctx context.Context) (refresh.Overview, error)

	DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error)
	DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error)
	DeadLetterCounts(ctx context.Context) (map[string]int64, error)
	Redrive(ctx context.Context, ids ...string) (int, error)
	RedriveWhy(ctx context.Context, why string) (int, error)
	Discard(ctx context.Context, ids ...string) (int, error)
}

func (s *server) registerSnapshots(api huma.API) {
	const tag = "snapshots"
	register(s, api, operation{id: "get-snapshot", method: http.MethodGet, path: "/api/v1/snapshots/{source}/{key}", tag: tag,
		summary: "Show the last known value of an entity; what is stale or missing is refreshed behind it",
		errors:  []int{http.StatusNotModified, http.StatusUnprocessableEntity}}, s.getSnapshot)
	register(s, api, operation{id: "refresh", method: http.MethodPost, path: "/api/v1/refresh", tag: tag,
		summary: "Have entities refreshed", status: http.StatusAccepted,
		errors: []int{http.StatusUnprocessableEntity}}, s.requestRefresh)
	register(s, api, operation{id: "refresh-overview", method: http.MethodGet, path: "/api/v1/refresh", tag: tag,
		summary: "Show lags, rates, breakers and counts of the refresh pipeline"}, s.refreshOverview)
	s.registerSnapshotEvents(api)
	s.registerDeadLetters(api)
}

// entityRef names an entity in a path.
type entityRef struct {
	Source string `path:"source" maxLength:"50" doc:"Such as maplestory"`
	Key    string `path:"key" maxLength:"300" doc:"Such as item-equipment:OCID; an OCID alone means its equipment"`
}

// getSnapshotInput has the fields of entityRef once more: parameters of embedded
// structs are not seen.
type getSnapshotInput struct {
	Source string `path:"source" maxLength:"50" doc:"Such as maplestory"`
	Key    string `path:"key" maxLength:"300" doc:"Such as item-equipment:OCID; an OCID alone means its equipment"`
	Match  string `header:"If-None-Match" doc:"The ETag of an earlier answer: 304 if the value is the same and fresh"`
}

type snapshotAnswer struct {
	Status int
	ETag   string `header:"ETag"`
	Body   *refresh.Answer
}

func (s *server) getSnapshot(ctx context.Context, in *getSnapshotInput) (*snapshotAnswer, error) {
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

func (s *server) requestRefresh(ctx context.Context, in *body[wire.RefreshRequest]) (*body[wire.RefreshAnswer], error) {
	q := refresh.Request{Priority: domain.PriorityHigh, Reason: refresh.ReasonUserRequest, CorrelationID: in.Body.CorrelationID}
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
	grants, err := s.Refreshes.Request(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := wire.RefreshAnswer{Results: make([]wire.RefreshResult, len(grants))}
	for i, g := range grants {
		answer.Results[i] = wire.RefreshResult{Key: g.Key, Result: g.Result.String(), Version: g.Version}
	}
	return &body[wire.RefreshAnswer]{answer}, nil
}

func (s *server) refreshOverview(ctx context.Context, _ *struct{}) (*body[refresh.Overview], error) {
	overview, err := s.Refreshes.Overview(ctx)
	return &body[refresh.Overview]{overview}, err
}

func (s *server) registerSnapshotEvents(api huma.API) {
	op := operation{id: "watch-snapshot", method: http.MethodGet, path: "/api/v1/snapshots/{source}/{key}/events", tag: "events",
		summary: "Be told when an entity is fresh, or given up; the stream ends with that", errors: []int{http.StatusUnprocessableEntity}}.huma()
	op.Responses = eventResponses("snapshot (the answer to a read, whenever it changes) and error (a problem, after which the stream ends)")
	huma.Register(api, op, func(ctx context.Context, in *entityRef) (*huma.StreamResponse, error) {
		e, err := s.Refreshes.CheckEntity(refresh.Entity{Source: in.Source, Key: in.Key})
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		follow := &followSnapshot{server: s, entity: e}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, op.OperationID, s.Refreshes.Watch, follow.look) }}, nil
	})
}

// followSnapshot sends what is known of an entity whenever that has changed,
// until it is fresh, or given up.
type followSnapshot struct {
	*server
	entity refresh.Entity
	sent   bool
	last   refresh.Freshness
	etag   string
	status refresh.StatusCode
}

func (f *followSnapshot) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	answer, err := f.Refreshes.Get(ctx, f.entity)
	if err != nil {
		return false, err
	}
	var status refresh.StatusCode
	if answer.Status != nil {
		status = answer.Status.Code
	}
	if !f.sent || answer.Freshness != f.last || answer.ETag != f.etag || status != f.status {
		if err := out.event(wire.EventSnapshot, answer); err != nil {
			return false, err
		}
		f.sent, f.last, f.etag, f.status = true, answer.Freshness, answer.ETag, status
	}
	// Nobody asks for what has failed for good: nothing more is to come.
	given := status == refresh.StatusFailed && !answer.UpdateQueued
	return answer.Freshness == refresh.Fresh || given, nil
}
