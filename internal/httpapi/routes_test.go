package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
)

// TestAllowNamesWhatIsPossible compares what a refusal names with what the
// description lists.
func TestAllowNamesWhatIsPossible(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	h := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents, Sources: described,
	}, httpapi.Options{})
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(ask(h, http.MethodGet, "http://localhost/api/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for path, operations := range doc.Paths {
		var want []string
		refused := ""
		for _, method := range methods {
			described := strings.ToLower(method)
			if method == http.MethodHead {
				described = "get"
			}
			if _, ok := operations[described]; ok {
				want = append(want, method)
			} else {
				refused = method
			}
		}
		want = append(want, http.MethodOptions)
		address := "http://localhost" + strings.NewReplacer("{id}", "1", "{owner}", "1", "{account}", "1", "{source}", "x", "{key}", "x", "{name}", "x").Replace(path)
		w := ask(h, refused, address)
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != strings.Join(want, ", ") {
			t.Errorf("%s %s: got %d with Allow: %s, want %v", refused, address, w.Code, got, want)
		}
		w = ask(h, http.MethodOptions, address)
		if got := w.Header().Get("Allow"); w.Code != http.StatusNoContent || got != strings.Join(want, ", ") || w.Body.Len() != 0 {
			t.Errorf("OPTIONS %s: got %d with Allow: %s, want %v", address, w.Code, got, want)
		}
	}
	if w := ask(h, http.MethodPut, "http://localhost/api/v1/accounts/1"); !strings.Contains(w.Header().Get("Allow"), http.MethodPatch) {
		t.Errorf("PUT of an account: Allow: %s", w.Header().Get("Allow"))
	}
	if w := ask(h, http.MethodPut, "http://localhost/api/v1/nothing"); w.Code != http.StatusNotFound || w.Header().Get("Allow") != "" {
		t.Errorf("where nothing is: got %d, Allow: %s", w.Code, w.Header().Get("Allow"))
	}
}

// TestIndex opens the addresses that the service prints.
func TestIndex(t *testing.T) {
	h := guarded("")
	for _, path := range []string{"/", "/api/v1", "/api/v1/"} {
		w := ask(h, http.MethodGet, "http://localhost"+path)
		var index struct {
			OpenAPI string
			Routes  []struct{ Method, Path, Summary string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &index); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: got %d %s, %v", path, w.Code, w.Body, err)
		}
		if index.OpenAPI != "/api/openapi.json" || len(index.Routes) < 20 || !strings.Contains(w.Body.String(), `"/api/v1/runs"`) {
			t.Errorf("%s: got %s", path, w.Body)
		}
	}
	if w := ask(guarded("s3cret"), http.MethodGet, "http://sluice.example/api/v1"); w.Code != http.StatusUnauthorized {
		t.Errorf("without the token: got %d", w.Code)
	}
}
