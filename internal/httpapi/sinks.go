package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/sink"
)

// Sinks carry documents elsewhere; *sink.Service is one.
type Sinks interface {
	List(ctx context.Context) ([]sink.Listed, error)
	Check(address string) error
	Sync(ctx context.Context, address string, anew bool) (sink.Status, error)
}

// sinkRoutes serve how sinks fare.
type sinkRoutes struct {
	*common
	Sinks Sinks
}

func (s *sinkRoutes) registerSinks(api huma.API) {
	const tag, path = "sinks", "/api/v1/sinks"
	register(s, api, operation{id: "list-sinks", method: http.MethodGet, path: path, tag: tag,
		summary: "List where documents are carried to, and how far that is"}, s.list)
	registerTask(s, api, operation{id: "sync-sink", method: http.MethodPost, path: path + "/sync", tag: tag,
		summary: "Carry all documents to a target, until it has caught up", errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.sync)
}

func (s *sinkRoutes) list(ctx context.Context, _ *struct{}) (*body[wire.SinkList], error) {
	out := wire.SinkList{Items: []wire.Sink{}}
	if s.Sinks == nil {
		return &body[wire.SinkList]{out}, nil
	}
	all, err := s.Sinks.List(ctx)
	for i := range all {
		out.Items = append(out.Items, wire.SinkOf(&all[i]))
	}
	return &body[wire.SinkList]{out}, err
}

func (s *sinkRoutes) sync(in *body[wire.SyncRequest]) (task[wire.Synced], error) {
	if s.Sinks == nil {
		return nil, domain.Errorf(domain.CodeInvalid, "this service carries documents nowhere")
	}
	if err := s.Sinks.Check(in.Body.URL); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (wire.Synced, error) {
		done, err := s.Sinks.Sync(ctx, in.Body.URL, in.Body.Anew)
		return wire.Synced{Kind: done.Kind, Rows: done.Rows, Position: done.Position}, err
	}, nil
}
