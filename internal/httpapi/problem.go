package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

const (
	problemType    = "application/problem+json"
	internalDetail = "internal error; the service's log has the details"
)

// statusOf is the one place where codes become statuses.
func statusOf(code domain.Code) int {
	switch code {
	case domain.CodeInvalid:
		return http.StatusUnprocessableEntity
	case domain.CodeNotFound:
		return http.StatusNotFound
	case domain.CodeConflict, domain.CodeIllegalMove, domain.CodeStale:
		return http.StatusConflict
	case domain.CodeUnauthorized:
		return http.StatusUnauthorized
	case domain.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// codeOfStatus is for the statuses that HTTP itself brings about.
func codeOfStatus(status int) domain.Code {
	switch status {
	case http.StatusNotFound:
		return domain.CodeNotFound
	case http.StatusConflict:
		return domain.CodeConflict
	case http.StatusUnauthorized:
		return domain.CodeUnauthorized
	case http.StatusServiceUnavailable, http.StatusRequestTimeout:
		return domain.CodeUnavailable
	}
	if status >= http.StatusInternalServerError {
		return domain.CodeInternal
	}
	return domain.CodeInvalid
}

// problemError is a problem on its way through huma.
type problemError struct{ wire.Problem }

func (p *problemError) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problemError) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problemError) ContentType(string) string { return problemType }

func newProblem(code domain.Code, status int, detail string) *problemError {
	return &problemError{wire.Problem{Title: http.StatusText(status), Status: status, Detail: detail, Code: code}}
}

// problem shows an error. What is our own fault is logged and not shown: its
// text was not written for the caller.
func (s *server) problem(ctx context.Context, operation string, err error) *problemError {
	code := domain.CodeOf(err)
	if code == domain.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		code = domain.CodeUnavailable
	}
	detail := err.Error()
	if status := statusOf(code); status == http.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "request failed", "operation", operation, "code", code, "error", err)
		if code == domain.CodeInternal {
			detail = internalDetail
		}
	}
	return newProblem(code, statusOf(code), detail)
}

// codedProblems gives huma's own errors the same shape as ours. Huma repeats
// the refused input in them, which may hold a token; here it is left out.
func codedProblems(_ huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *problemError:
		return e.Problem, nil
	case *huma.ErrorModel:
		p := newProblem(codeOfStatus(e.Status), e.Status, e.Detail).Problem
		for _, d := range e.Errors {
			if d != nil {
				p.Errors = append(p.Errors, wire.ProblemDetail{Message: d.Message, Location: d.Location})
			}
		}
		return p, nil
	default:
		return v, nil
	}
}

// describeProblems makes the OpenAPI document tell the shape that codedProblems
// brings about.
func describeProblems(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	if detail, ok := schemas["ErrorDetail"]; ok {
		delete(detail.Properties, "value")
	}
	problem, ok := schemas["ErrorModel"]
	if !ok {
		return
	}
	delete(problem.Properties, "type")
	delete(problem.Properties, "instance")
	codes := []any{
		domain.CodeInvalid, domain.CodeNotFound, domain.CodeConflict, domain.CodeIllegalMove, domain.CodeStale,
		domain.CodeUnauthorized, domain.CodeUnavailable, domain.CodeCorrupt, domain.CodeInternal,
	}
	problem.Properties["code"] = &huma.Schema{Type: huma.TypeString, Enum: codes, Description: "Tells errors apart for programs."}
}

// writeProblem answers outside huma.
func writeProblem(w http.ResponseWriter, p *problemError) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	// The status is sent; a caller that went away gets no more.
	_ = json.NewEncoder(w).Encode(p.Problem)
}

// noSuchRoute tells a path that does not exist from a method it does not take.
func (s *server) noSuchRoute(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe := *r
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, newProblem(domain.CodeInvalid, http.StatusMethodNotAllowed,
			r.Method+" is not possible here; use "+strings.Join(allowed, " or ")))
		return
	}
	writeProblem(w, newProblem(domain.CodeNotFound, http.StatusNotFound,
		"there is nothing at "+r.URL.Path+"; /api/openapi.json lists what there is"))
}
