package docs_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/sources"
)

// documents are those for people who use the program, with their texts.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../README.md", "*.md", "../deploy/*.md", "../deploy/prometheus/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(file, "../")] = string(text)
		}
	}
	return all
}

var metricName = regexp.MustCompile(`\bsluice_[a-z][a-z_]*[a-z]\b`)

// TestNamedMetricsExist: what a document or a rule names is exposed.
func TestNamedMetricsExist(t *testing.T) {
	declared := map[string]bool{}
	for _, section := range metrics.Declared() {
		for _, m := range section.Metrics {
			declared[m.Name] = true
			if m.Kind == metrics.Histogram {
				for _, part := range []string{"_bucket", "_count", "_sum"} {
					declared[m.Name+part] = true
				}
			}
		}
	}
	found := 0
	for file, text := range documents(t) {
		for _, name := range metricName.FindAllString(text, -1) {
			found++
			if !declared[name] {
				t.Errorf("%s names %s, which is not exposed", file, name)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d names of metrics were found", found)
	}
}

// service is where one is that runs on this machine.
const service = `(?:https?://(?:localhost|127\.0\.0\.1)(?::\d+)?)`

var (
	// typed is what a document shows as it is typed: blocks, and what stands in
	// backquotes.
	typed = regexp.MustCompile("(?ms)^```[a-z]*\n.*?^```|`[^`\n]+`")
	// routes are paths of the service, perhaps behind a method or the address of a
	// service on this machine.
	routes = regexp.MustCompile("(?:\\b(GET|HEAD|POST|PUT|PATCH|DELETE) +" + service + "?|" + service + "|^|[\\s`'\"(])(/(?:api|livez|readyz|metrics|debug|docs)\\b[^\\s`'\"<>|,)]*)")
	// says is how curl is told a method.
	says  = regexp.MustCompile(`-X ?([A-Z]+)`)
	place = regexp.MustCompile(`\{[^}]*\}|[A-Z]{2,}`)
)

// TestNamedRoutesExist asks the service for everything at which a document says
// that there is something.
func TestNamedRoutesExist(t *testing.T) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	api := httpapi.New(httpapi.Deps{
		Metrics: nothing, Sources: sources.Collected(),
		Checks: []httpapi.Check{{Name: "nothing", Check: func(context.Context) error { return nil }}},
	}, httpapi.Options{})
	found, withMethod := map[string]bool{}, 0
	for file, text := range documents(t) {
		for _, span := range typed.FindAllString(text, -1) {
			for line := range strings.Lines(span) {
				for _, match := range routes.FindAllStringSubmatch(line, -1) {
					method, path := match[1], match[2]
					if said := says.FindStringSubmatch(line); said != nil {
						method = said[1]
					}
					path, _, _ = strings.Cut(path, "?")
					path, _, _ = strings.Cut(path, "#")
					path = strings.TrimRight(path, ".;:\\")
					if strings.Contains(path, "…") {
						continue
					}
					if found[method+" "+path] = true; method != "" {
						withMethod++
					}
					if problem := ask(api, method, path); problem != "" {
						t.Errorf("%s names %s %s: %s", file, method, path, problem)
					}
				}
			}
		}
	}
	if len(found) < 30 || withMethod < 10 {
		t.Errorf("only %d routes were found, %d with a method: %v", len(found), withMethod, found)
	}
}

// ask says what is wrong with a route.
func ask(api http.Handler, method, path string) string {
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, "http://localhost"+place.ReplaceAllString(path, "1"), nil))
	allowed := strings.Split(w.Header().Get("Allow"), ", ")
	switch {
	case w.Code != http.StatusNoContent:
		return "there is nothing at it"
	case method != "" && !slices.Contains(allowed, method):
		return "it takes " + w.Header().Get("Allow")
	}
	return ""
}
