package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
)

func TestReadiness(t *testing.T) {
	f := newFake()
	f.lifecycle = httpapi.NewLifecycle()
	f.get(t, "/livez", http.StatusOK)
	if p := f.get(t, "/readyz", http.StatusServiceUnavailable); !strings.Contains(p.Detail, "starting") {
		t.Errorf("while starting: %+v", p)
	}
	f.lifecycle.Ready()
	f.get(t, "/readyz", http.StatusOK)
	f.err = domain.Errorf(domain.CodeCorrupt, "the disk is gone")
	if p := f.get(t, "/readyz", http.StatusServiceUnavailable); !strings.Contains(p.Detail, "the disk is gone") {
		t.Errorf("with a broken store: %+v", p)
	}
	f.err = nil
	f.lifecycle.Stopping()
	f.lifecycle.Stopping()
	f.get(t, "/livez", http.StatusOK)
	if p := f.get(t, "/readyz", http.StatusServiceUnavailable); !strings.Contains(p.Detail, "stopping") {
		t.Errorf("while stopping: %+v", p)
	}
}

func TestMetricsAreServed(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	c.signup("noop", "ann", "t1", http.StatusCreated)
	c.wait(1)
	res, err := c.http.Get(c.service.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"sluice_calls_total 4", `sluice_jobs_total{outcome="succeeded"} 4`, `sluice_runs_total{event="ended"} 1`, "sluice_runs_active 0", "go_goroutines "} {
		if !strings.Contains(string(text), "\n"+line) {
			t.Errorf("%q is missing in:\n%s", line, text)
		}
	}
	c.do(http.MethodGet, "/readyz", "", http.StatusOK, nil)
}
