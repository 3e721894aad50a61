package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

// eventRoutes serve the progress of runs as it happens.
type eventRoutes struct {
	*common
	Reader   RunReader
	Observer Observer
}

func (s *eventRoutes) registerEvents(api huma.API) {
	one := operation{id: "watch-run", method: http.MethodGet, path: "/api/v1/runs/{id}/events", tag: "events",
		summary: "Follow a run's progress until it ends", errors: []int{http.StatusNotFound}}.huma()
	one.Responses = eventResponses(api, "snapshot (the run as it is, at first), progress (whenever it changes)",
		exampleEvent("5f1d3c0a9b7e2468", wire.EventSnapshot, "{\"id\":12,\"status\":\"RUNNING\",\"known_jobs\":40,\"pending_jobs\":7}"),
		map[string]any{wire.EventSnapshot: engine.Progress{}, wire.EventProgress: engine.Progress{}})
	one.Responses["204"] = nothingMoreResponse()
	all := operation{id: "watch", method: http.MethodGet, path: "/api/v1/events", tag: "events",
		summary: "Follow the progress of every run", errors: []int{http.StatusUnprocessableEntity}}.huma()
	all.Responses = eventResponses(api, "snapshot (the active runs, at first), progress (a run, whenever it changes)",
		exampleEvent("11", wire.EventProgress, "{\"id\":12,\"status\":\"RUNNING\"}"),
		map[string]any{wire.EventSnapshot: wire.RunsSnapshot{}, wire.EventProgress: engine.Progress{}})
	huma.Register(api, one, func(ctx context.Context, in *watchedRun) (*huma.StreamResponse, error) {
		// A run that does not exist is told before the stream begins.
		p, err := s.progress(ctx, in.ID)
		if err != nil {
			return nil, s.problem(ctx, one.OperationID, err)
		}
		if !p.Status.Active() && in.LastID == progressID(p) {
			return nothingMore(), nil
		}
		follow := &followRun{eventRoutes: s, id: in.ID, had: in.LastID}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, one.OperationID, s.Observer.Watch, follow.look) }}, nil
	})
	huma.Register(api, all, func(ctx context.Context, in *watched) (*huma.StreamResponse, error) {
		after, err := in.position()
		if err != nil {
			return nil, s.problem(ctx, all.OperationID, err)
		}
		follow := &followAll{eventRoutes: s, sent: map[int64]engine.Progress{}, after: after}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, all.OperationID, s.Observer.Watch, follow.look) }}, nil
	})
}

// eventResponses describes a stream of events: which there are, what it looks
// like, and the shape of each event's data, by its name. The schema is that of one
// event, as those who read streams have it.
func eventResponses(api huma.API, which string, example map[string]any, shapes map[string]any) map[string]*huma.Response {
	event := func(name string, data *huma.Schema) *huma.Schema {
		text := huma.TypeString
		return &huma.Schema{Type: huma.TypeObject, Required: []string{"event", "data"}, Properties: map[string]*huma.Schema{
			"id":    {Type: text, Description: "Give it as Last-Event-ID to go on after this event"},
			"event": {Type: text, Enum: []any{name}},
			"data":  {Type: text, Extensions: map[string]any{"contentMediaType": "application/json", "contentSchema": data}},
		}}
	}
	events := []*huma.Schema{event(wire.EventError, &huma.Schema{Ref: problemSchema})}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		events = append(events, event(name, api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(shapes[name]), true, "")))
	}
	return map[string]*huma.Response{"200": {
		Description: "Server-sent events: " + which + ", and error (a problem, after which the stream ends)",
		Content: map[string]*huma.MediaType{"text/event-stream": {
			Schema: &huma.Schema{OneOf: events}, Example: example,
		}},
	}}
}

// exampleEvent is an event of a stream, as its schema has it.
func exampleEvent(id, name, data string) map[string]any {
	event := map[string]any{"event": name, "data": data}
	if id != "" {
		event["id"] = id
	}
	return event
}

// nothingMore answers a reader that has the last event already: it need not come
// back, which is what 204 tells a browser.
func nothingMore() *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) { ctx.SetStatus(http.StatusNoContent) }}
}

func nothingMoreResponse() *huma.Response {
	return &huma.Response{Description: "The reader has the last event already, and need not come back"}
}

// watchedRun is a run that is followed.
type watchedRun struct {
	ID     int64  `path:"id" minimum:"1"`
	LastID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that the reader has; a browser sends it when it reconnects"`
}

func (s *eventRoutes) progress(ctx context.Context, id int64) (p engine.Progress, err error) {
	run, err := s.Reader.Run(ctx, id)
	if err != nil {
		return p, err
	}
	return s.Observer.Progress(ctx, run)
}

// followRun sends one run's progress whenever it has changed.
type followRun struct {
	*eventRoutes
	id int64
	// had is the id of the state that the reader has from an earlier stream.
	had   string
	begun bool
	sent  engine.Progress
}

func (f *followRun) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	p, err := f.progress(ctx, f.id)
	if err != nil {
		return false, err
	}
	name, id, known := wire.EventProgress, progressID(p), sameProgress(p, f.sent)
	if !f.begun {
		name, known = wire.EventSnapshot, id == f.had
	}
	if !known {
		if err := out.identified(id, name, p); err != nil {
			return false, err
		}
	}
	f.begun, f.sent = true, p
	return !p.Status.Active(), nil
}

// progressID names a state of a run: the same state has the same name, in
// whatever process.
func progressID(p engine.Progress) string {
	// What is sent can be encoded.
	text, _ := json.Marshal(engine.Progress{Run: p.Run, Waits: p.Waits})
	sum := fnv.New64a()
	_, _ = sum.Write(text)
	return fmt.Sprintf("%016x", sum.Sum64())
}

// sameProgress leaves out the forecast, which moves with the clock, and the
// quota, which moves with every call of anyone who shares it.
func sameProgress(a, b engine.Progress) bool {
	return a.Run == b.Run && slices.Equal(a.Waits, b.Waits)
}
