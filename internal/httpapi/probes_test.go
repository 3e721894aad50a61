package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
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
	f = newFake()
	f.err = domain.Errorf(domain.CodeCorrupt, "the disk is gone")
	if p := f.get(t, "/readyz", http.StatusServiceUnavailable); !strings.Contains(p.Detail, "the disk is gone") {
		t.Errorf("with a broken store: %+v", p)
	}
	f = newFake()
	f.lifecycle.Stopping()
	f.lifecycle.Stopping()
	f.get(t, "/livez", http.StatusOK)
	if p := f.get(t, "/readyz", http.StatusServiceUnavailable); !strings.Contains(p.Detail, "stopping") {
		t.Errorf("while stopping: %+v", p)
	}
}

func TestMetricsAreServed(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	changed, end := c.service.Engine.Watch()
	defer end()
	c.signup("noop", "ann", "t1", http.StatusCreated)
	c.wait(1)
	for n := c.service.Engine.Counters(); n.RunsEnded.Load() == 0 || n.Succeeded.Load() < 4; {
		<-changed // what is stored is counted afterwards
	}
	res, err := c.http.Get(c.service.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"sluice_calls_total 4", `sluice_jobs_total{outcome="succeeded"} 4`, `sluice_runs_total{event="ended"} 1`, `sluice_runs_active{status="running"} 0`, "go_goroutines "} {
		if !strings.Contains(string(text), "\n"+line) {
			t.Errorf("%q is missing in:\n%s", line, text)
		}
	}
	c.do(http.MethodGet, "/readyz", "", http.StatusOK, nil)
}

// checks counts looks at what the service needs; each takes a while.
type checks struct {
	*fake
	looks atomic.Int64
}

func (c *checks) Check(ctx context.Context) error {
	c.looks.Add(1)
	select {
	case <-time.After(100 * time.Millisecond):
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestReadinessIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &checks{fake: newFake()}
		deps := c.deps()
		deps.Checks = []httpapi.Check{{Name: "state", Check: c.Check}}
		h := httpapi.New(deps, httpapi.Options{})
		var flood sync.WaitGroup
		for range 200 {
			flood.Go(func() {
				if w := ask(h, http.MethodGet, "http://localhost/readyz"); w.Code != http.StatusOK {
					t.Errorf("got %d", w.Code)
				}
			})
		}
		flood.Wait()
		time.Sleep(500 * time.Millisecond)
		ask(h, http.MethodGet, "http://localhost/readyz")
		if looks := c.looks.Load(); looks != 1 {
			t.Errorf("201 requests within a second looked %d times", looks)
		}
		// What changed shows when the second is over.
		c.err = domain.Errorf(domain.CodeUnavailable, "the disk is gone")
		time.Sleep(time.Second)
		if w := ask(h, http.MethodGet, "http://localhost/readyz"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("got %d", w.Code)
		}
	})
}

// TestReadinessOutlivesWhoAsked lets the one who asked first go away.
func TestReadinessOutlivesWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &checks{fake: newFake()}
		deps := c.deps()
		deps.Checks = []httpapi.Check{{Name: "state", Check: c.Check}}
		h := httpapi.New(deps, httpapi.Options{})
		ctx, leave := context.WithCancel(t.Context())
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil))
		synctest.Wait()
		leave()
		if w := ask(h, http.MethodGet, "http://localhost/readyz"); w.Code != http.StatusOK || c.looks.Load() != 1 {
			t.Errorf("got %d after %d looks", w.Code, c.looks.Load())
		}
	})
}

func TestVerboseProbes(t *testing.T) {
	h := httpapi.New(newFake().deps(), httpapi.Options{})
	for _, query := range []string{"?verbose", "?verbose=", "?verbose=1", "?verbose=true"} {
		w := ask(h, http.MethodGet, "http://localhost/readyz"+query)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"checked_at":"2`) || !strings.Contains(w.Body.String(), `"took_ms":`) {
			t.Errorf("%s: got %d %s", query, w.Code, w.Body)
		}
		if w := ask(h, http.MethodGet, "http://localhost/livez"+query); w.Code != http.StatusOK {
			t.Errorf("livez%s: got %d %s", query, w.Code, w.Body)
		}
	}
	if w := ask(h, http.MethodGet, "http://localhost/readyz"); strings.Contains(w.Body.String(), "checked_at") {
		t.Errorf("got %s", w.Body)
	}
}

// TestEveryCheckIsShown breaks one of two things that the service needs.
func TestEveryCheckIsShown(t *testing.T) {
	f := newFake()
	d := f.deps()
	broken := domain.Errorf(domain.CodeUnavailable, "connection refused")
	d.Checks = []httpapi.Check{
		{Name: "state", Check: func(context.Context) error { return nil }},
		{Name: "redis", Check: func(context.Context) error { return broken }},
	}
	h := httpapi.New(d, httpapi.Options{})
	w := ask(h, http.MethodGet, "http://localhost/readyz?verbose")
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusServiceUnavailable || !strings.Contains(p.Detail, "connection refused") {
		t.Fatalf("got %d %s, %v", w.Code, w.Body, err)
	}
	var got []string
	for _, c := range p.Checks {
		got = append(got, c.Name+" "+c.Status+" "+c.Error)
	}
	if want := []string{"lifecycle ok ", "state ok ", "redis failed connection refused"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w = ask(h, http.MethodGet, "http://localhost/readyz?verbose", "Accept", "text/plain")
	if want := "[+]lifecycle ok\n[+]state ok\n[-]redis failed: connection refused\nreadyz check failed\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("got %d %q, want %q", w.Code, w.Body, want)
	}
	if w := ask(h, http.MethodGet, "http://localhost/readyz"); strings.Contains(w.Body.String(), "checks") {
		t.Errorf("not asked for: %s", w.Body)
	}
	f.lifecycle.Stopping()
	d.Checks = d.Checks[:1]
	w = ask(httpapi.New(d, httpapi.Options{}), http.MethodGet, "http://localhost/readyz?verbose", "Accept", "text/plain")
	if want := "[-]lifecycle failed: the service is stopping\n[+]state ok\nreadyz check failed\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("while stopping: %d %q", w.Code, w.Body)
	}
}
