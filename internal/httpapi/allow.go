package httpapi

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
)

// closeShadows keeps a path from being taken for another that has a place for any
// word where it has a word of its own: GET /dlq/discard is not the letter of that
// name.
func (s *server) closeShadows(doc *huma.OpenAPI) {
	described := map[string]bool{}
	for op := range operations(doc) {
		described[op.Method+" "+op.Path] = true
	}
	for path := range doc.Paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			pattern := method + " " + path
			if described[pattern] {
				continue
			}
			probe := &http.Request{Method: method, Host: "localhost", URL: &url.URL{Path: placeholders.ReplaceAllString(path, "0")}}
			if _, found := s.mux.Handler(probe); found != "/" && found != "" {
				s.shadowed[pattern] = true
				s.mux.HandleFunc(pattern, s.noSuchRoute)
			}
		}
	}
}

var placeholders = regexp.MustCompile(`\{[^}]*\}`)

// knownMethods are what a path may take.
var knownMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// allowed lists the methods that a path takes; none if there is nothing at it.
func (s *server) allowed(r *http.Request) []string {
	var methods []string
	for _, method := range knownMethods {
		probe := *r
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "/" && !s.shadowed[pattern] {
			methods = append(methods, method)
		}
	}
	if len(methods) == 0 {
		return nil
	}
	return append(methods, http.MethodOptions)
}

// noSuchRoute answers what no route takes: it tells a path that does not exist
// from a method that the path does not take, and says what it takes.
func (s *server) noSuchRoute(w http.ResponseWriter, r *http.Request) {
	methods := s.allowed(r)
	if len(methods) == 0 {
		writeProblem(w, newProblem(domain.CodeNotFound, http.StatusNotFound,
			"there is nothing at "+shownPath(r.URL.Path)+"; "+DocsPath+" and "+DocumentPath+" list what there is"))
		return
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	method := "this method"
	if slices.Contains(knownMethods, r.Method) {
		method = r.Method
	}
	writeProblem(w, newProblem(domain.CodeInvalid, http.StatusMethodNotAllowed,
		method+" is not allowed here; use "+strings.Join(methods, ", ")))
}
