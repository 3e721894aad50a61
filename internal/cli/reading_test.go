package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// stored is a service on a folder that has one run.
func stored(opened *atomic.Int64, read *atomic.Bool) func(context.Context, ServiceOptions) (*Service, error) {
	return func(_ context.Context, o ServiceOptions) (*Service, error) {
		opened.Add(1)
		read.Store(o.Read)
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api/v1/runs", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"items":[{"id":7,"login":"from-the-folder","status":"COMPLETED","trigger":"signup","priority":"HIGH"}]}`)
		})
		mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		return &Service{API: mux, Close: func(context.Context) error { return nil }}, nil
	}
}

// TestReadingBesideAServiceThatGoes: whatever becomes of the service that has the
// folder, what reads is answered, and what changes something is told.
func TestReadingBesideAServiceThatGoes(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	going := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" {
			panic(http.ErrAbortHandler) // it stops after it was found alive
		}
	}))
	defer going.Close()
	answering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[]}`) }))
	defer answering.Close()
	for name, tc := range map[string]struct {
		url    string
		folder bool
		says   string
	}{
		"not there": {gone.URL, true, "does not answer"}, "stops": {going.URL, true, ""}, "answers": {answering.URL, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, messages bytes.Buffer
			var opened atomic.Int64
			var read atomic.Bool
			a := &App{
				Out: &out, Err: &messages, Env: func(string) (string, bool) { return "", false }, Now: time.Now, Open: stored(&opened, &read),
				Holder: func(string) string { return "process 1 (sluice up at " + tc.url + ", since 2026-03-01T12:00:00Z)" },
			}
			dir := t.TempDir()
			if code := a.Run(t.Context(), []string{"run", "list", "--data-dir", dir}); code != exitOK {
				t.Fatalf("exit code %d: %s", code, messages.String())
			}
			if strings.Contains(out.String(), "from-the-folder") != tc.folder || !strings.Contains(messages.String(), tc.says) {
				t.Errorf("it says %s%s", out.String(), messages.String())
			}
			if tc.folder != (opened.Load() == 1) || tc.folder && !read.Load() {
				t.Errorf("the folder was opened %d times, for reading alone: %v", opened.Load(), read.Load())
			}
			opened.Store(0)
			if code := a.Run(t.Context(), []string{"run", "cancel", "7", "--data-dir", dir}); (code == exitOK) == tc.folder || opened.Load() > 0 {
				t.Errorf("a change ended with %d, and opened the folder %d times", code, opened.Load())
			}
		})
	}
}

// TestDoubts: what a gap makes uncertain, and what is certain all the same.
func TestDoubts(t *testing.T) {
	gaps := func(types ...string) wire.LedgerSummary {
		sum := wire.LedgerSummary{Gaps: len(types)}
		for _, typ := range types {
			sum.Because = append(sum.Because, state.Gap{Type: typ, Because: "1 page failed"})
		}
		return sum
	}
	all := "activity, commits, issues, pull requests, repositories"
	for name, tc := range map[string]struct {
		result result
		want   string
	}{
		"complete":   {result{Status: domain.RunCompleted}, ""},
		"issues":     {result{Status: domain.RunCompleted, Ledger: gaps("REPO_ISSUES")}, "activity, issues"},
		"statistics": {result{Status: domain.RunCompleted, Ledger: gaps("COMMIT_STATS", "REPO_PULLS")}, "activity, commits, pull requests"},
		"events":     {result{Status: domain.RunCompleted, Ledger: gaps("USER_EVENTS")}, "activity"},
		"discovery":  {result{Status: domain.RunCompleted, Ledger: gaps("DISCOVER_REPOS_PUSHED")}, all},
		"too many":   {result{Status: domain.RunCompleted, Ledger: wire.LedgerSummary{Gaps: 9, Because: gaps("REPO_ISSUES").Because}}, all},
		"failed":     {result{Status: domain.RunFailed}, all},
		"jobs":       {result{Status: domain.RunCompleted, FailedJobs: 1}, all},
	} {
		if got := strings.Join(tc.result.doubts().names(), ", "); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
