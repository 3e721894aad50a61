package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// routes is every documented endpoint.
var routes = []string{
	"DELETE /api/v1/accounts/{id}", "DELETE /api/v1/timers/{id}",
	"GET /api/v1/accounts", "GET /api/v1/accounts/{id}", "GET /api/v1/accounts/{id}/schedule", "GET /api/v1/accounts/{id}/statistics",
	"GET /api/v1/completions", "GET /api/v1/completions/events", "GET /api/v1/events",
	"GET /api/v1/export", "GET /api/v1/jobs", "GET /api/v1/jobs/{id}", "GET /api/v1/monitoring/completion-stats",
	"GET /api/v1/quota", "GET /api/v1/runs", "GET /api/v1/runs/{id}",
	"GET /api/v1/runs/{id}/events", "GET /api/v1/stats/accounts/{id}", "GET /api/v1/stats/global", "GET /api/v1/stats/leaderboard",
	"GET /api/v1/timers", "GET /api/v1/timers/{id}", "GET /debug/redis/stats",
	"GET /livez", "GET /readyz", "PATCH /api/v1/accounts/{id}", "POST /api/v1/accounts", "POST /api/v1/accounts/{id}/pause",
	"POST /api/v1/accounts/{id}/resume", "POST /api/v1/hooks/github", "POST /api/v1/jobs/{id}/retry",
	"POST /api/v1/monitoring/detect-missed-timers", "POST /api/v1/runs", "POST /api/v1/runs/{id}/cancel",
	"POST /api/v1/runs/{id}/priority", "POST /api/v1/runs/{id}/resume", "POST /api/v1/timers", "POST /api/v1/timers/{id}/redeliver",
	"POST /api/v1/timers/{id}/reschedule", "PUT /api/v1/accounts/{id}/schedule",
}

type document struct {
	OpenAPI    string
	Paths      map[string]map[string]struct{ Responses map[string]any }
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
		"ErrorModel":    {"code", "title", "status", "detail", "errors"},
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
	if _, ok := schemas["ErrorDetail"].Properties["value"]; ok {
		t.Error("problems are said to repeat what was sent")
	}
	if schemas["SignupRequest"].Properties["token"]["writeOnly"] != true {
		t.Error("the token is not write-only")
	}
	if got := schemas["RunDetail"].Properties["status"]["type"]; got != "string" {
		t.Errorf("a run's status is of type %v", got)
	}
}

func TestOpenAPISecurity(t *testing.T) {
	if doc := readDocument(t, ""); len(doc.Security) != 0 {
		t.Errorf("without a token: %+v", doc.Security)
	}
	if doc := readDocument(t, "s3cret"); len(doc.Security) != 1 || len(doc.Components.SecuritySchemes) != 1 {
		t.Errorf("with a token: %+v", doc.Security)
	}
}
