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
	Letters(ctx context.Context, name string, limit int) ([]sink.Letter, error)
	Redrive(ctx context.Context, name string, ids []string) (int, error)
	Discard(ctx context.Context, name string, ids []string) (int, error)
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
	letters, failures := path+"/{name}/letters", []int{http.StatusNotFound, http.StatusUnprocessableEntity}
	register(s, api, operation{id: "list-sink-letters", method: http.MethodGet, path: letters, tag: tag,
		summary: "List the batches that a sink's receiver refused, the oldest first", errors: failures}, s.listLetters)
	register(s, api, operation{id: "redrive-sink-letters", method: http.MethodPost, path: letters + "/redrive", tag: tag,
		summary: "Send batches that were refused once more", errors: append(failures, http.StatusServiceUnavailable)}, s.redrive)
	register(s, api, operation{id: "discard-sink-letters", method: http.MethodPost, path: letters + "/discard", tag: tag,
		summary: "Discard batches that were refused", errors: failures}, s.discard)
}

// carrying refuses what is about sinks where there are none.
func (s *sinkRoutes) carrying() error {
	if s.Sinks == nil {
		return domain.Errorf(domain.CodeInvalid, "this service carries documents nowhere")
	}
	return nil
}

type listSinkLettersInput struct {
	Name  string `path:"name" maxLength:"200"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *sinkRoutes) listLetters(ctx context.Context, in *listSinkLettersInput) (*body[wire.SinkLetters], error) {
	if err := s.carrying(); err != nil {
		return nil, err
	}
	letters, err := s.Sinks.Letters(ctx, in.Name, in.Limit)
	return &body[wire.SinkLetters]{wire.SinkLettersOf(letters)}, err
}

type sinkLettersInput struct {
	Name string `path:"name" maxLength:"200"`
	Body wire.SinkLettersRequest
}

func (s *sinkRoutes) redrive(ctx context.Context, in *sinkLettersInput) (*body[wire.LettersAnswer], error) {
	return s.deal(ctx, in, Sinks.Redrive)
}

func (s *sinkRoutes) discard(ctx context.Context, in *sinkLettersInput) (*body[wire.LettersAnswer], error) {
	return s.deal(ctx, in, Sinks.Discard)
}

func (s *sinkRoutes) deal(ctx context.Context, in *sinkLettersInput, with func(Sinks, context.Context, string, []string) (int, error)) (*body[wire.LettersAnswer], error) {
	if err := s.carrying(); err != nil {
		return nil, err
	}
	if in.Body.All == (len(in.Body.IDs) > 0) {
		return nil, domain.Errorf(domain.CodeInvalid, "name letters by ids, or say all: true")
	}
	n, err := with(s.Sinks, ctx, in.Name, in.Body.IDs)
	return &body[wire.LettersAnswer]{wire.LettersAnswer{Letters: n}}, err
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
	if err := s.carrying(); err != nil {
		return nil, err
	}
	if err := s.Sinks.Check(in.Body.URL); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (wire.Synced, error) {
		done, err := s.Sinks.Sync(ctx, in.Body.URL, in.Body.Anew)
		return wire.Synced{Kind: done.Kind, Rows: done.Rows, Position: done.Position}, err
	}, nil
}
