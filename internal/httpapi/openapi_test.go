package httpapi_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/internal/httpapi"
)

// routes is every documented endpoint.
var routes = []string{
	"DELETE /api/v1/accounts/{id}", "DELETE /api/v1/queries/{name}", "DELETE /api/v1/sources/{name}", "DELETE /api/v1/timers/{id}",
	"DELETE /api/v1/tokens/{name}", "GET /api/v1/accounts", "GET /api/v1/accounts/{id}", "GET /api/v1/accounts/{id}/cursors",
	"GET /api/v1/accounts/{id}/schedule", "GET /api/v1/accounts/{id}/statistics", "GET /api/v1/archive", "GET /api/v1/archive/values", "GET /api/v1/audit", "GET /api/v1/backends",
	"GET /api/v1/changes", "GET /api/v1/completions", "GET /api/v1/completions/events", "GET /api/v1/dlq", "GET /api/v1/dlq/{id}", "GET /api/v1/documents/{kind}",
	"GET /api/v1/documents/{kind}/{id}", "GET /api/v1/events", "GET /api/v1/export", "GET /api/v1/jobs", "GET /api/v1/jobs/{id}",
	"GET /api/v1/monitoring/completion-stats", "GET /api/v1/notifications", "GET /api/v1/processes", "GET /api/v1/queries", "GET /api/v1/queries/{name}", "GET /api/v1/quota",
	"GET /api/v1/refresh", "GET /api/v1/runs", "GET /api/v1/runs/{id}", "GET /api/v1/runs/{id}/events", "GET /api/v1/search", "GET /api/v1/sinks",
	"GET /api/v1/sinks/{name}/letters", "GET /api/v1/snapshots/{source}/{key}", "GET /api/v1/snapshots/{source}/{key}/events", "GET /api/v1/snapshots/{source}/{key}/history",
	"GET /api/v1/sources",
	"GET /api/v1/sources/{name}", "GET /api/v1/stats/accounts/{id}", "GET /api/v1/stats/global", "GET /api/v1/stats/leaderboard", "GET /api/v1/timers",
	"GET /api/v1/timers/{id}", "GET /api/v1/tokens", "GET /api/v1/whoami", "GET /debug/redis/stats", "GET /livez", "GET /readyz", "PATCH /api/v1/accounts/{id}",
	"POST /api/v1/accounts", "POST /api/v1/accounts/{id}/pause", "POST /api/v1/accounts/{id}/purge", "POST /api/v1/accounts/{id}/resume",
	"POST /api/v1/archive/restore", "POST /api/v1/archive/run", "POST /api/v1/archive/verify", "POST /api/v1/dlq/discard", "POST /api/v1/dlq/redrive",
	"POST /api/v1/dry-runs", "POST /api/v1/hooks/github", "POST /api/v1/jobs/cancel", "POST /api/v1/jobs/retry", "POST /api/v1/jobs/{id}/retry",
	"POST /api/v1/monitoring/detect-missed-timers", "POST /api/v1/notifications/test", "POST /api/v1/notifications/{id}/retry",
	"POST /api/v1/quota/{owner}/reset", "POST /api/v1/refresh", "POST /api/v1/runs", "POST /api/v1/runs/cancel", "POST /api/v1/runs/{id}/cancel",
	"POST /api/v1/runs/{id}/priority", "POST /api/v1/runs/{id}/resume", "POST /api/v1/sinks/sync", "POST /api/v1/sinks/{name}/letters/discard",
	"POST /api/v1/sinks/{name}/letters/redrive", "POST /api/v1/sources", "POST /api/v1/sources/check", "POST /api/v1/sources/{name}/probe", "POST /api/v1/sql",
	"POST /api/v1/timers", "POST /api/v1/timers/{id}/redeliver", "POST /api/v1/timers/{id}/reschedule", "POST /api/v1/tokens",
	"PUT /api/v1/accounts/{id}/schedule", "PUT /api/v1/queries/{name}",
}

type document struct {
	OpenAPI string
	Servers []struct{ URL string }
	Tags    []struct{ Name, Description string }
	Paths   map[string]map[string]struct {
		Summary, Description string
		Tags                 []string
		Security             *[]map[string]any
		Parameters           []parameter
		RequestBody          *describedBody
		Responses            map[string]describedBody
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]map[string]any
		}
		SecuritySchemes map[string]any
	}
	Security []map[string]any
}

func readDocument(t *testing.T, token string) document {
	t.Helper()
	w := ask(guarded(token), http.MethodGet, "http://localhost/api/openapi.json")
	var doc document
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d, %v", w.Code, err)
	}
	return doc
}

func TestOpenAPIListsEveryRoute(t *testing.T) {
	doc := readDocument(t, "")
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("the version is %q", doc.OpenAPI)
	}
	var got []string
	for path, operations := range doc.Paths {
		for method, op := range operations {
			route := strings.ToUpper(method) + " " + path
			got = append(got, route)
			if len(op.Responses) < 3 {
				t.Errorf("%s documents only %v", route, slices.Collect(maps.Keys(op.Responses)))
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, routes) {
		t.Errorf("got the routes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(routes, "\n"))
	}
}

func TestOpenAPIDescribesWhatIsSent(t *testing.T) {
	schemas := readDocument(t, "").Components.Schemas
	for schema, fields := range map[string][]string{
		"Problem":       {"type", "code", "title", "status", "detail", "errors"},
		"RunDetail":     {"id", "login", "status", "known_jobs", "calls", "waits", "quota", "eta", "ledger_summary", "ledger"},
		"Job":           {"type", "resource", "page_key", "error_kind", "not_before"},
		"SignupRequest": {"source", "login", "token"},
	} {
		for _, field := range fields {
			if _, ok := schemas[schema].Properties[field]; !ok {
				t.Errorf("%s has no %s", schema, field)
			}
		}
	}
	if _, ok := schemas["ProblemDetail"].Properties["value"]; ok {
		t.Error("problems are said to repeat what was sent")
	}
	if schemas["SignupRequest"].Properties["token"]["writeOnly"] != true {
		t.Error("the token is not write-only")
	}
	if got := schemas["RunDetail"].Properties["status"]["type"]; got != "string" {
		t.Errorf("a run's status is of type %v", got)
	}
}

// TestOneDescription: what is configured, and what is not, makes no difference.
func TestOneDescription(t *testing.T) {
	plain := ask(guarded(""), http.MethodGet, "http://localhost/api/openapi.json").Body.String()
	for name, h := range map[string]http.Handler{
		"with a token": guarded("s3cret"),
		"without API":  httpapi.New(newFake().deps(), httpapi.Options{ProbesOnly: true}),
		"with everything": httpapi.New(func() httpapi.Deps {
			d := newFake().deps()
			d.Refreshes, d.Archive = entities{}, ruins{}
			d.Redis = func(context.Context) (any, error) { return nil, nil }
			return d
		}(), httpapi.Options{}),
	} {
		if got := ask(h, http.MethodGet, "http://localhost/api/openapi.json").Body.String(); got != plain {
			t.Errorf("%s the description is another one", name)
		}
	}
}

// TestEveryOperationIsDescribed checks what no linter asks for.
func TestEveryOperationIsDescribed(t *testing.T) {
	doc := readDocument(t, "")
	tagged := map[string]bool{}
	for _, tag := range doc.Tags {
		tagged[tag.Name] = tag.Description != ""
	}
	if len(doc.Servers) != 1 || len(doc.Components.SecuritySchemes) != 1 || len(doc.Security) != 2 {
		t.Errorf("servers %v, security %v", doc.Servers, doc.Security)
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			route := strings.ToUpper(method) + " " + path
			if len(op.Tags) != 1 || !tagged[op.Tags[0]] {
				t.Errorf("%s: the tags %v are not described", route, op.Tags)
			}
			if len(op.Description) <= len(op.Summary)+1 {
				t.Errorf("%s has no description beyond its summary", route)
			}
			if op.RequestBody != nil {
				op.RequestBody.check(t, route+" request")
			}
			for status, response := range op.Responses {
				if status < "300" {
					response.check(t, route+" "+status)
				}
			}
			keyed := slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.Name == "Idempotency-Key" })
			_, streams := op.Responses["200"].Content["text/event-stream"]
			if want := method == "post" && !streams && !strings.Contains(path, "/hooks/") && path != "/api/v1/sql" && path != "/api/v1/sources/check"; keyed != want {
				t.Errorf("%s takes a key: %v", route, keyed)
			}
			if open := op.Security != nil && len(*op.Security) == 0; open != (strings.HasSuffix(path, "z") || strings.Contains(path, "/hooks/")) {
				t.Errorf("%s is open: %v", route, open)
			}
		}
	}
}

// describedBody is a request or an answer.
type describedBody struct {
	Content map[string]struct {
		Schema  map[string]any
		Example any
	}
}

func (d describedBody) check(t *testing.T, what string) {
	t.Helper()
	for kind, content := range d.Content {
		if content.Example == nil && content.Schema["format"] != "binary" {
			t.Errorf("%s: %s has no example", what, kind)
		}
	}
}

type parameter struct{ Name string }

// TestUnconfigured: every route is there, and says what is missing.
func TestUnconfigured(t *testing.T) {
	h := httpapi.New(newFake().deps(), httpapi.Options{})
	for path, says := range map[string]string{
		"/api/v1/refresh": "SLUICE_MAPLESTORY_KEY", "/api/v1/snapshots/maplestory/x": "SLUICE_MAPLESTORY_KEY",
		"/api/v1/snapshots/maplestory/x/events": "SLUICE_MAPLESTORY_KEY", "/api/v1/snapshots/maplestory/x/history": "SLUICE_MAPLESTORY_KEY",
		"/api/v1/archive": "--archive", "/debug/redis/stats": "does not use Redis",
	} {
		if w := ask(h, http.MethodGet, "http://localhost"+path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	probes := httpapi.New(newFake().deps(), httpapi.Options{ProbesOnly: true})
	for path, want := range map[string]int{"/api/v1/runs": 404, "/debug/redis/stats": 404, "/livez": 200, "/readyz": 200, "/docs": 200, "/api/openapi.json": 200} {
		w := ask(probes, http.MethodGet, "http://localhost"+path)
		if w.Code != want || want == 404 && !strings.Contains(w.Body.String(), "--roles") {
			t.Errorf("%s of a process without the API: %d %s", path, w.Code, w.Body)
		}
	}
}
