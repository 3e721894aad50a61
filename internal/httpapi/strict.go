package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// refuseEmpty refuses parameters that are given without a value where only some
// values make sense: ?hours= is a mistake of whoever wrote the address, and would
// pass for a parameter that was left out.
func refuseEmpty(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		var wrong []error
		address := ctx.URL()
		query := address.Query()
		for _, p := range ctx.Operation().Parameters {
			if p.In == "query" && query.Has(p.Name) && query.Get(p.Name) == "" && !takesEmpty(p.Schema) {
				wrong = append(wrong, &huma.ErrorDetail{Message: "has no value; give it one or leave it out", Location: "query." + p.Name})
			}
		}
		if len(wrong) > 0 {
			// To a caller that went away nothing can be said.
			_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "validation failed", wrong...)
			return
		}
		next(ctx)
	}
}

// takesEmpty reports whether any text will do.
func takesEmpty(s *huma.Schema) bool {
	return s.Type == huma.TypeString && len(s.Enum) == 0 && s.Format == ""
}
