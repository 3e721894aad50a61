package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/state"
)

// fake is an engine and a state whose runs a test moves by hand. The methods a
// test does not need are left to the nil interfaces.
type fake struct {
	httpapi.Orchestrator
	httpapi.Reader
	log       apitest.Log
	lifecycle *httpapi.Lifecycle
	panics    bool
	err       error

	mu      sync.Mutex
	runs    []domain.Run
	looks   int
	changed chan struct{}
	watched bool
}

// described is what is collected, as far as the API must know.
var described = []source.Description{github.Describe()}

func newFake() *fake {
	f := &fake{changed: make(chan struct{}, 1), lifecycle: httpapi.NewLifecycle()}
	f.lifecycle.Ready()
	f.put(domain.Run{ID: 1, Status: domain.RunRunning, Priority: domain.PriorityHigh})
	return f
}

func (f *fake) deps() httpapi.Deps {
	log := slog.New(slog.NewTextHandler(&f.log, nil))
	return httpapi.Deps{Orchestrator: f, Observer: f, Reader: f, Lifecycle: f.lifecycle, Log: log, Sources: described}
}

// get makes a request without a network and returns the problem, if it is one.
func (f *fake) get(t *testing.T, path string, status int) wire.Problem {
	t.Helper()
	w := httptest.NewRecorder()
	httpapi.New(f.deps(), httpapi.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
	if w.Code != status {
		t.Fatalf("%s: got %d %s, want %d", path, w.Code, w.Body, status)
	}
	var p wire.Problem
	if status < http.StatusBadRequest {
		return p
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// put adds or replaces a run and tells the watcher.
func (f *fake) put(run domain.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.runs) < int(run.ID) {
		f.runs = append(f.runs, domain.Run{})
	}
	f.runs[run.ID-1] = run
	f.touch()
}

// touch tells the watcher that something changed.
func (f *fake) touch() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.touch()
}

func (f *fake) Run(_ context.Context, id int64) (domain.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		panic("oh no")
	}
	f.looks++
	return f.runs[id-1], f.err
}

func (f *fake) Runs(_ context.Context, q state.RunQuery) ([]domain.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []domain.Run
	for i := len(f.runs) - 1; i >= 0 && len(out) < q.Limit; i-- {
		run := f.runs[i]
		if (q.BeforeID == 0 || run.ID < q.BeforeID) && (!q.ActiveOnly || run.Status.Active()) {
			out = append(out, run)
		}
	}
	return out, f.err
}

func (f *fake) Ledger(context.Context, int64) ([]state.LedgerLine, error) { return nil, f.err }

func (f *fake) Summary(context.Context, int64) ([]state.LedgerLine, error) { return nil, f.err }

func (f *fake) Check(context.Context) error { return f.err }

func (f *fake) Progress(_ context.Context, run domain.Run) (engine.Progress, error) {
	return engine.Progress{Run: run}, nil
}

func (f *fake) Waits() map[string]engine.Wait { return nil }

func (f *fake) Watch() (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched = true
	return f.changed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watched = false
	}
}

// WithoutStatistics implements httpapi.ListReader.
func (f *fake) WithoutStatistics(context.Context, int) ([]domain.Run, error) { return nil, nil }

// ListRuns implements httpapi.ListReader.
func (f *fake) ListRuns(ctx context.Context, q state.RunList) (state.Page[domain.Run], error) {
	runs, err := f.Runs(ctx, state.RunQuery{AccountID: q.AccountID, Limit: q.Limit})
	return state.Page[domain.Run]{Items: runs}, err
}
