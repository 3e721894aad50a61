package httpapi

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// DocsPath is where people read about the API, and ProblemsPath where its errors
// are explained.
const (
	DocsPath     = "/docs"
	ProblemsPath = "/docs/problems"
)

// pageFiles are all that the pages need: nothing comes from elsewhere, and no
// script runs.
//
//go:embed pages
var pageFiles embed.FS

var pageTemplates = template.Must(template.ParseFS(pageFiles, "pages/*.html"))

// pagePolicy lets a page use its own style, and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// link leads to another address of the service.
type link struct{ Path, About string }

var homeLinks = []link{
	{DocsPath, "the API, for people"},
	{DocumentPath, "the API, for programs (OpenAPI 3.1)"},
	{ProblemsPath, "what errors mean"},
	{"/metrics", "metrics, for Prometheus"},
	{"/livez", "whether the process is alive"},
	{"/readyz?verbose", "whether everything that the service needs works"},
}

// registerPages adds what people open in a browser. They are open to everybody,
// as the description is: they tell nothing of what is stored.
func (s *server) registerPages(doc *huma.OpenAPI) {
	s.mux.Handle("GET "+DocsPath, s.page("docs.html", func() any { return documentPage(doc) }))
	s.mux.Handle("GET "+ProblemsPath, s.page("problems.html", func() any { return problemsPage() }))
	home := s.page("home.html", func() any {
		return map[string]any{"Title": "Sluice", "Base": "", "Version": doc.Info.Version, "Links": homeLinks}
	})
	index := s.index(doc)
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			home.ServeHTTP(w, r)
			return
		}
		index(w, r)
	})
	for _, path := range []string{"/api/v1", "/api/v1/{$}"} {
		s.mux.HandleFunc("GET "+path, index)
	}
	s.mux.HandleFunc("GET "+DocsPath+"/style.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		http.ServeFileFS(w, r, pageFiles, "pages/style.css")
	})
}

// page serves a page, which is written when it is first asked for. What it leads to is
// named from where it is, as a proxy may serve it below a path of its own: Base leads
// from it to the first page.
func (s *server) page(name string, data func() any) http.Handler {
	write := sync.OnceValues(func() ([]byte, error) {
		var text bytes.Buffer
		err := pageTemplates.ExecuteTemplate(&text, name, data())
		return text.Bytes(), err
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := write()
		if err != nil {
			writeProblem(w, s.problem(r.Context(), name, err))
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		// A caller that went away gets no more.
		_, _ = w.Write(text)
	})
}

func problemsPage() any {
	type problem struct{ Code, Statuses, Advice, Means, Remedy string }
	var problems []problem
	for i := range problemKinds {
		k := &problemKinds[i]
		problems = append(problems, problem{string(k.code), k.statusNames(), k.advice(), k.means, k.remedy})
	}
	return map[string]any{"Title": "Problems of the API of Sluice", "Base": "../", "Problems": problems}
}

// documentPage is the description of the API as the page shows it.
func documentPage(doc *huma.OpenAPI) any {
	byTag := map[string][]pageOperation{}
	for op := range operations(doc) {
		byTag[op.Tags[0]] = append(byTag[op.Tags[0]], showOperation(op))
	}
	var groups []pageGroup
	for _, tag := range doc.Tags {
		of := byTag[tag.Name]
		slices.SortFunc(of, func(a, b pageOperation) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
		groups = append(groups, pageGroup{tag.Name, tag.Description, of})
	}
	return map[string]any{
		"Title": "The API of Sluice", "Base": "", "Version": doc.Info.Version, "About": strings.Split(doc.Info.Description, "\n\n"),
		"Groups": groups, "Schemas": showSchemas(doc.Components.Schemas),
	}
}
