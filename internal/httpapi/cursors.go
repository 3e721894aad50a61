package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Cursors say which list they are of, as in runs:120, so that one of another list is
// refused instead of beginning anywhere. That is put on and taken off here for every
// list; what stands behind is the list's own matter. One without a list is taken as
// well: earlier versions made such.

const cursorParameter = "cursor"

// cursorList names the list of an operation; "" if it takes no cursor.
func cursorList(op *huma.Operation) string {
	takes := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" && p.Name == cursorParameter })
	if !takes {
		return ""
	}
	return strings.TrimPrefix(op.OperationID, "list-")
}

// ownCursors takes the name of the list off a cursor, and refuses one of another.
func ownCursors(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		given := ctx.Query(cursorParameter)
		list := cursorList(ctx.Operation())
		if list == "" {
			next(ctx)
			return
		}
		if given != "" && !strings.HasPrefix(given, list+":") {
			named, _, _ := strings.Cut(given, ":")
			for op := range operations(api.OpenAPI()) {
				if cursorList(op) == named {
					// To a caller that went away nothing can be said.
					_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "validation failed",
						&huma.ErrorDetail{Location: "query." + cursorParameter, Message: "is of another list, " + named})
					return
				}
			}
		}
		next(&cursorContext{ctx, list + ":"})
	}
}

// cursorContext is a request whose cursor is as its list knows it.
type cursorContext struct {
	humaContext
	prefix string
}

// Query implements huma.Context. Earlier versions of the commands give a cursor as
// after or before.
func (c *cursorContext) Query(name string) string {
	value := c.humaContext.Query(name)
	if name == cursorParameter || name == "after" || name == "before" {
		return strings.TrimPrefix(value, c.prefix)
	}
	return value
}

// Unwrap lets the adapter find its own context.
func (c *cursorContext) Unwrap() huma.Context { return c.humaContext }

// namedCursors puts the name of the list before where a page ended.
func namedCursors(ctx huma.Context, _ string, v any) (any, error) {
	list := cursorList(ctx.Operation())
	page := reflect.ValueOf(v)
	if list == "" || page.Kind() != reflect.Struct {
		return v, nil
	}
	next := page.FieldByName("NextCursor")
	if !next.IsValid() || next.Kind() != reflect.String || next.String() == "" {
		return v, nil
	}
	named := reflect.New(page.Type()).Elem()
	named.Set(page)
	named.FieldByName("NextCursor").SetString(list + ":" + next.String())
	return named.Interface(), nil
}

// checkNameCursor refuses a cursor that can be the name or the id of nothing.
func checkNameCursor(cursor string) error {
	unfit := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}
	if strings.ContainsFunc(cursor, unfit) {
		return badCursor()
	}
	return nil
}
