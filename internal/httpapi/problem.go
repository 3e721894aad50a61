package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/secret"
)

const (
	problemType    = "application/problem+json"
	internalDetail = "internal error; the service's log has the details"
)

// statusOf is what an error of a code is answered with.
func statusOf(code domain.Code) int {
	if kind := problemKindOf(code); kind != nil {
		return kind.statuses[0]
	}
	return http.StatusInternalServerError
}

// codeOfStatus is for the statuses that HTTP itself brings about.
func codeOfStatus(status int) domain.Code {
	for i := range problemKinds {
		if slices.Contains(problemKinds[i].statuses, status) {
			return problemKinds[i].code
		}
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
	return &problemError{wire.Problem{Type: problemPage(code), Title: http.StatusText(status), Status: status, Detail: detail, Code: code}}
}

// problem shows an error. What is our own fault is logged and not shown: its
// text was not written for the caller.
func (s *common) problem(ctx context.Context, operation string, err error) *problemError {
	code := domain.CodeOf(err)
	if code == domain.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		code = domain.CodeUnavailable
	}
	// Whoever wrote the error names fields and not values; what looks like a token
	// in spite of that is hidden.
	detail := secret.Masked(err.Error())
	if status := statusOf(code); status == http.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "a request failed", "operation", operation, "code", code, "error", err)
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
		p := newProblem(codeOfStatus(e.Status), e.Status, shownMessage(e.Detail)).Problem
		for _, d := range e.Errors {
			if d != nil {
				p.Errors = append(p.Errors, wire.ProblemDetail{Message: shownMessage(d.Message), Location: shownLocation(d.Location)})
			}
		}
		return p, nil
	default:
		return v, nil
	}
}

// problemSchema is where the description has the shape of problems.
const problemSchema = "#/components/schemas/Problem"

// describeProblems makes the OpenAPI document tell the shape that codedProblems
// brings about, under its own name.
func describeProblems(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	shape := schemas.Schema(reflect.TypeFor[wire.Problem](), true, "")
	codes := []any{}
	for i := range problemKinds {
		codes = append(codes, problemKinds[i].code)
	}
	schemas.SchemaFromRef(shape.Ref).Properties["code"].Enum = codes
	for op := range operations(doc) {
		for _, response := range op.Responses {
			if content := response.Content[problemType]; content != nil {
				content.Schema = shape
			}
		}
	}
	delete(schemas.Map(), "ErrorModel")
	delete(schemas.Map(), "ErrorDetail")
}

// writeProblem answers outside huma.
func writeProblem(w http.ResponseWriter, p *problemError) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	// The status is sent; a caller that went away gets no more.
	_ = json.NewEncoder(w).Encode(p.Problem)
}
