package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// route is one line of the index.
type route struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary string `json:"summary"`
}

// index answers with what there is, for whoever opens the address that the
// service prints.
func (s *server) index(doc *huma.OpenAPI) http.HandlerFunc {
	encode := sync.OnceValues(func() ([]byte, error) {
		return json.MarshalIndent(map[string]any{
			"name": doc.Info.Title, "version": doc.Info.Version, "docs": DocsPath, "openapi": DocumentPath, "metrics": "/metrics", "ready": "/readyz", "routes": routesOf(doc),
		}, "", "  ")
	})
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := encode()
		if err != nil {
			writeProblem(w, s.problem(r.Context(), "index", err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// A caller that went away gets no more.
		_, _ = w.Write(append(text, '\n'))
	}
}

func routesOf(doc *huma.OpenAPI) []route {
	var routes []route
	for op := range operations(doc) {
		routes = append(routes, route{op.Method, op.Path, op.Summary})
	}
	slices.SortFunc(routes, func(a, b route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return routes
}
