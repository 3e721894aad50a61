package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
)

// brokenBody is the answer to a body that did not come as its header said. It is the
// caller's fault, or that of what is in between.
func brokenBody(err error) *problemError {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return newProblem(domain.CodeUnavailable, http.StatusRequestTimeout, "the body took too long to come")
	}
	return newProblem(domain.CodeInvalid, http.StatusBadRequest, "the body breaks off, or is not encoded as the header says")
}

// strictBodies reads the bodies of requests, all in one place, and refuses what the
// decoder would take for something else: members that come twice, of which the last
// would count, or whose names are in other letters than the description's, which the
// checks of the description would pass over; and bytes that are not UTF-8, which
// would be stored as they are.
func (s *server) strictBodies(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		op := ctx.Operation()
		if op.RequestBody == nil || s.takesHooksAt(op.Path) {
			next(ctx)
			return
		}
		// A connection without deadlines is a test's.
		_ = ctx.SetReadDeadline(time.Now().Add(op.BodyReadTimeout))
		text, err := io.ReadAll(io.LimitReader(ctx.BodyReader(), op.MaxBodyBytes))
		// To a caller that went away nothing can be said.
		if err != nil {
			p := brokenBody(err)
			_ = huma.WriteErr(api, ctx, p.Status, p.Detail)
			return
		}
		if !utf8.Valid(text) {
			_ = huma.WriteErr(api, ctx, http.StatusBadRequest, "the body is not UTF-8, which JSON is written in")
			return
		}
		walk := bodyWalk{decoder: json.NewDecoder(bytes.NewReader(text)), schemas: api.OpenAPI().Components.Schemas}
		if content := op.RequestBody.Content["application/json"]; content != nil {
			walk.value(content.Schema, "body", 0)
		}
		if len(walk.wrong) > 0 {
			_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "validation failed", walk.wrong...)
			return
		}
		next(&readContext{ctx, bytes.NewReader(text)})
	}
}

// readContext is a request whose body was read.
type readContext struct {
	humaContext
	body io.Reader
}

// humaContext has another name than its method.
type humaContext = huma.Context

// BodyReader implements huma.Context.
func (c *readContext) BodyReader() io.Reader { return c.body }

// Unwrap lets the adapter find its own context.
func (c *readContext) Unwrap() huma.Context { return c.humaContext }

const (
	// deepestBody is how far values of a body may be in each other, and mostWrong how
	// many mistakes are told.
	deepestBody, mostWrong = 100, 20
)

// bodyWalk looks at the names of a body's members.
type bodyWalk struct {
	decoder *json.Decoder
	schemas huma.Registry
	wrong   []error
}

func (w *bodyWalk) refuse(location, message string) {
	if len(w.wrong) < mostWrong {
		w.wrong = append(w.wrong, &huma.ErrorDetail{Location: location, Message: message})
	}
}

// value walks over one value, and reports whether there may be more. What is no JSON
// ends it: the decoder says so better.
func (w *bodyWalk) value(schema *huma.Schema, location string, depth int) bool {
	token, err := w.decoder.Token()
	if err != nil {
		return false
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return true
	}
	if depth >= deepestBody {
		w.refuse("body", fmt.Sprintf("has values in each other more than %d deep", deepestBody))
		return false
	}
	for schema != nil && schema.Ref != "" {
		schema = w.schemas.SchemaFromRef(schema.Ref)
	}
	more := true
	if delim == '{' {
		more = w.object(schema, location, depth)
	} else {
		for i := 0; more && w.decoder.More(); i++ {
			var of *huma.Schema
			if schema != nil {
				of = schema.Items
			}
			more = w.value(of, fmt.Sprintf("%s[%d]", location, i), depth+1)
		}
	}
	if more {
		_, err = w.decoder.Token()
	}
	return more && err == nil
}

// object walks over the members of an object.
func (w *bodyWalk) object(schema *huma.Schema, location string, depth int) bool {
	seen := map[string]bool{}
	for w.decoder.More() {
		token, err := w.decoder.Token()
		name, is := token.(string)
		if err != nil || !is {
			return false
		}
		if seen[name] {
			w.refuse(location+"."+name, "is given twice")
		}
		seen[name] = true
		if !w.value(w.member(schema, location, name), location+"."+name, depth+1) {
			return false
		}
	}
	return true
}

// member is the schema of a member, nil if any value will do.
func (w *bodyWalk) member(schema *huma.Schema, location, name string) *huma.Schema {
	if schema == nil {
		return nil
	}
	if known := schema.Properties[name]; known != nil {
		return known
	}
	for known := range schema.Properties {
		if strings.EqualFold(known, name) {
			w.refuse(location+"."+known, "is written in other letters; write it as it is here")
		}
	}
	of, _ := schema.AdditionalProperties.(*huma.Schema)
	return of
}
