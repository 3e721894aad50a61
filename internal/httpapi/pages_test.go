package httpapi_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/httpapi"
)

var update = flag.Bool("update", false, "write docs/problems.md anew")

// TestProblemsAreDocumented compares docs/problems.md with the table of codes; go
// test ./internal/httpapi -update writes it anew.
func TestProblemsAreDocumented(t *testing.T) {
	const path = "../../docs/problems.md"
	want := httpapi.ProblemsMarkdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the table of codes says (%v); write it anew with `go test ./internal/httpapi -update`", path, err)
	}
	page := ask(guarded(""), http.MethodGet, "http://localhost/docs/problems").Body.String()
	for _, code := range codes(t) {
		if !strings.Contains(want, "\n## "+code+"\n") || !strings.Contains(page, `<section id="`+code+`">`) {
			t.Errorf("the code %s is not explained", code)
		}
	}
}

// codes are those that the domain declares.
func codes(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../domain/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
				all = append(all, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	if len(all) < 9 {
		t.Fatalf("found only %v", all)
	}
	return all
}

// TestProblemsLeadToTheirPage follows the type of a problem.
func TestProblemsLeadToTheirPage(t *testing.T) {
	f := newFake()
	for path, status := range map[string]int{"/api/v1/nothing": 404, "/api/v1/runs?limit=x": 422, "/api/v1/refresh": 404} {
		p := f.get(t, path, status)
		address, fragment, _ := strings.Cut(p.Type, "#")
		w := ask(guarded(""), http.MethodGet, "http://localhost"+address)
		if w.Code != http.StatusOK || fragment != string(p.Code) || !strings.Contains(w.Body.String(), `id="`+fragment+`"`) {
			t.Errorf("%s: the type %s leads to %d", path, p.Type, w.Code)
		}
	}
}

// foreign matches what a browser would fetch from elsewhere, or run.
var foreign = regexp.MustCompile(`(?i)(src|href|action)="?(https?:)?//|<script|<iframe|javascript:|\son[a-z]+=|style=|url\(|@import`)

func TestPages(t *testing.T) {
	h := guarded("s3cret")
	for path, says := range map[string][]string{
		"/docs":          {`id="start-run"`, "Idempotency-Key", "/api/v1/runs/{id}/events", `id="schema-Problem"`, "octocat", "COMPLETED"},
		"/docs/problems": {`id="conflict"`},
		"/":              {"/docs", "/metrics", "/readyz", "keeps a complete, fresh copy"},
	} {
		w := ask(h, http.MethodGet, "http://sluice.example"+path, "Accept", "text/html,application/xhtml+xml")
		text := w.Body.String()
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("%s: %d %v", path, w.Code, w.Header())
		}
		for _, part := range says {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not say %q", path, part)
			}
		}
		if found := foreign.FindString(text); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("%s has the policy %q", path, policy)
		}
	}
	w := ask(h, http.MethodGet, "http://sluice.example/docs/style.css")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/css; charset=utf-8" || foreign.MatchString(w.Body.String()) {
		t.Errorf("the style: %d %v", w.Code, w.Header())
	}
	if w := ask(h, http.MethodGet, "http://sluice.example/"); w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"docs": "/docs"`) {
		t.Errorf("for programs: %v %s", w.Header(), w.Body)
	}
}
