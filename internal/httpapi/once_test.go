package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/source"
)

// post sends a request with a key.
func (c *caller) post(path, key, body string) (status int, answer, replayed string) {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.service.URL+path, strings.NewReader(body))
	if err != nil {
		c.Error(err)
		return 0, "", ""
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := c.http.Do(request)
	if err != nil {
		c.Error(err)
		return 0, "", ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.Error(err)
	}
	return response.StatusCode, string(text), response.Header.Get("Idempotency-Replayed")
}

// TestRequestsWithAKeyAreCarriedOutOnce starts a run, loses the answer and asks
// again, when the run has ended and another would begin.
func TestRequestsWithAKeyAreCarriedOutOnce(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	c.signup("noop", "ann", "t1", http.StatusCreated)
	c.wait(1)
	const ask = `{"login":"ann","source":"noop"}`
	status, first, replayed := c.post("/api/v1/runs", "k-1", ask)
	if status != http.StatusCreated || replayed != "" {
		t.Fatalf("got %d %s", status, first)
	}
	c.wait(2)
	for _, key := range []string{"k-1", `"k-1"`} {
		if status, again, replayed := c.post("/api/v1/runs", key, ask); status != http.StatusCreated || again != first || replayed != "true" {
			t.Errorf("again with %s: %d %s, replayed %q; want %s", key, status, again, replayed, first)
		}
	}
	if status, text, _ := c.post("/api/v1/runs", "k-1", `{"login":"ann","source":"noop","priority":"LOW"}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, "another request") {
		t.Errorf("with another body: %d %s", status, text)
	}
	if status, text, _ := c.post("/api/v1/runs/2/cancel", "k-1", ask); status != http.StatusUnprocessableEntity || !strings.Contains(text, "another request") {
		t.Errorf("at another path: %d %s", status, text)
	}
	// A refusal is an answer as well.
	for _, replayed := range []string{"", "true"} {
		if status, text, got := c.post("/api/v1/runs", "k-2", `{"login":"nobody","source":"noop"}`); status != http.StatusNotFound || got != replayed {
			t.Errorf("a refusal: %d %s, replayed %q", status, text, got)
		}
	}
	if status, text, _ := c.post("/api/v1/runs", "k-3", ask); status != http.StatusCreated {
		t.Errorf("another key: %d %s", status, text)
	}
	for _, bad := range []string{"a b", strings.Repeat("x", 256), `""`, ""} {
		if status, text, _ := c.post("/api/v1/runs", bad, ask); status != http.StatusUnprocessableEntity || !strings.Contains(text, "visible characters") {
			t.Errorf("the key %.10q: %d %s", bad, status, text)
		}
	}
	if status, text, _ := c.post("/api/v1/archive/run", "k-4", ""); status != http.StatusUnprocessableEntity || !strings.Contains(text, "stream") {
		t.Errorf("a stream: %d %s", status, text)
	}
	if status, text, _ := c.post("/api/v1/runs", "k-5", strings.Repeat(" ", 1<<20)+ask); status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d %s", status, text)
	}
}

// TestRequestsWithAKeyAtOnce: of many with one key, one is carried out; the others
// are told so, or get its answer.
func TestRequestsWithAKeyAtOnce(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	c := newCaller(t, apitest.Options{OnCall: func(source.Call) (source.Result, bool) {
		<-gate
		return source.Result{}, false
	}})
	t.Cleanup(open)
	const ask = `{"source":"noop","login":"ann","token":"t1"}`
	var mu sync.Mutex
	created := map[string]int{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			status, text, _ := c.post("/api/v1/accounts", "same", ask)
			mu.Lock()
			defer mu.Unlock()
			switch status {
			case http.StatusCreated:
				created[text]++
			case http.StatusConflict:
				if !strings.Contains(text, "being carried out") {
					t.Errorf("refused with %s", text)
				}
			default:
				t.Errorf("got %d %s", status, text)
			}
		})
	}
	all.Wait()
	open()
	if len(created) != 1 {
		t.Errorf("%d different answers: %v", len(created), created)
	}
}

// TestFailuresWithAKeyMayBeRepeated: what failed for no reason of its own is
// carried out when it comes again.
func TestFailuresWithAKeyMayBeRepeated(t *testing.T) {
	c := newCaller(t, apitest.Options{APIToken: "s3cret"})
	const ask = `{"source":"noop","login":"ann","token":"t1"}`
	if status, text, _ := c.post("/api/v1/accounts", "k", ask); status != http.StatusUnauthorized {
		t.Fatalf("without the token: %d %s", status, text)
	}
	c.http.Transport = apitest.Authorize{Token: "s3cret"}
	if status, text, replayed := c.post("/api/v1/accounts", "k", ask); status != http.StatusCreated || replayed != "" {
		t.Fatalf("with the token: %d %s", status, text)
	}
	c.refused(http.MethodGet, "/api/v1/accounts/nobody", "", http.StatusNotFound, domain.CodeNotFound)
}
