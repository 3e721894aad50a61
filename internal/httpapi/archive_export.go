package httpapi

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/archive"
	"sluice/internal/export"
	"sluice/internal/httpapi/wire"
)

// archiveExporter writes archived values as lines of JSON.
type archiveExporter interface {
	Export(ctx context.Context, q archive.Query, w io.Writer) (int64, error)
}

type exportArchiveInput struct {
	Source string `query:"source" maxLength:"50"`
	Key    string `query:"key" maxLength:"300" doc:"One entity; needs its source"`
	From   string `query:"from" maxLength:"10" doc:"The first day, such as 2026-10-16, in UTC"`
	To     string `query:"to" maxLength:"10" doc:"The last day, which is included"`
}

func (s *archiveRoutes) registerArchiveExport(api huma.API) {
	op := operation{id: "export-archive", method: http.MethodGet, path: "/api/v1/archive/values", tag: "archive",
		summary: "Stream archived values as lines of JSON; the trailer " + wire.TrailerRows + " ends a complete answer",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity}}.huma()
	lines := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The values. An answer that breaks off, or comes without its trailer, is not complete.",
		Content:     map[string]*huma.MediaType{export.FormatJSONL.MediaType(): lines},
	}}
	huma.Register(api, op, func(ctx context.Context, in *exportArchiveInput) (*huma.StreamResponse, error) {
		q, err := s.archiveQuery(in.Source, in.Key, in.From, in.To)
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		return &huma.StreamResponse{Body: func(answer huma.Context) { s.exportArchive(ctx, answer, op.OperationID, q) }}, nil
	})
}

// exportArchive streams values. An error that comes too late to be told as a
// problem cuts the connection, so that the reader does not take what it has for
// everything.
func (s *archiveRoutes) exportArchive(ctx context.Context, hctx huma.Context, operation string, q archive.Query) {
	_, w := humago.Unwrap(hctx)
	ctx, cancel := s.untilStopping(ctx)
	defer cancel()
	// Files may have to be looked through for longer than an answer may take.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportPatience))
	answer := &exportAnswer{w: w, control: http.NewResponseController(w), options: export.Options{Kind: "values", Format: export.FormatJSONL}}
	n, err := s.Archive.Export(ctx, q, answer)
	if err == nil {
		answer.begin()
		w.Header().Set(wire.TrailerRows, strconv.FormatInt(n, 10))
		return
	}
	if !answer.begun {
		writeProblem(w, s.problem(ctx, operation, err))
		return
	}
	if ctx.Err() == nil && answer.err == nil {
		s.Log.ErrorContext(ctx, "the export of the archive broke off", "values", n, "error", err)
	}
	panic(http.ErrAbortHandler)
}
