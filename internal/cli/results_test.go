package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

func TestSummary(t *testing.T) {
	partial := ended(running(4, 3, 4), domain.RunCompleted, "")
	partial.Failed = 1
	complete := ended(running(1, 4, 4), domain.RunCompleted, "")
	failed := ended(running(2, 1, 4), domain.RunFailed, "no such user")
	paused := waiting(running(3, 0, 4), "renew the token", noon)
	paused.Waits[0].Until = paused.FinishedAt
	for name, tc := range map[string]struct {
		runs []engine.Progress
		code int
		says string
	}{
		"complete": {[]engine.Progress{complete}, exitOK, ""},
		"failed":   {[]engine.Progress{complete, failed}, exitFailed, "INCOMPLETE: 1 of 2 accounts: user-2: FAILED, 100 documents: no such user"},
		// What a person must renew comes before what merely failed.
		"paused":  {[]engine.Progress{failed, complete, paused}, exitUnauthorized, "INCOMPLETE: 2 of 3 accounts: user-2: FAILED, 100 documents: no such user; user-3: paused, 0 documents: renew the token"},
		"partial": {[]engine.Progress{complete, partial}, exitFailed, "`sluice job list --run 4 --status FAILED`"},
	} {
		t.Run(name, func(t *testing.T) {
			last, order := map[int64]engine.Progress{}, []int64(nil)
			for _, p := range tc.runs {
				last[p.ID], order = p, append(order, p.ID)
			}
			sum := summarize(order, last)
			err := sum.exit()
			code, exit := exitFailed, (*exitError)(nil)
			if err == nil {
				code = exitOK
			} else if errors.As(err, &exit) {
				code = exit.code
			}
			if code != tc.code || (err != nil && !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("got %v and exit %d, want %d saying %q", err, code, tc.code, tc.says)
			}
			if sum.Accounts != len(tc.runs) || len(sum.Results) != len(tc.runs) {
				t.Errorf("got %+v", sum)
			}
		})
	}
	// Every job succeeded, and something is missing all the same.
	sum := summarize([]int64{1}, map[int64]engine.Progress{1: complete})
	sum.Results[0].Ledger = wire.LedgerSummary{Gaps: 1}
	if err := sum.exit(); err == nil || !strings.Contains(err.Error(), "`sluice run show 1 --ledger`") {
		t.Errorf("a run with a gap ends with %v", err)
	}
	last := map[int64]engine.Progress{1: complete, 2: failed, 4: partial}
	if got := summarize([]int64{1, 2, 4}, last).runsText(); got != "2 COMPLETED, 1 FAILED" {
		t.Errorf("got %q", got)
	}
}

func TestPrintResults(t *testing.T) {
	var out bytes.Buffer
	a := collectCommand{&App{Out: &out}}
	sum := summary{Results: []result{
		{Login: "ann", Status: domain.RunCompleted, Documents: 1234, Calls: 5, Ledger: wire.LedgerSummary{
			PagesKnown: 3, PagesStored: 2, Resources: 1, Gaps: 7, Because: []state.Gap{{Type: "LIST", Resource: "repo:1", Because: "1 page failed: 502"}},
		}, Statistics: []byte(`{"commits":{"own":1500,"additions":7},"languages":[{"name":"Go"}]}`)},
		{Login: "bob", Status: domain.RunRunning, Paused: true, Reason: "renew the token"},
	}}
	if err := a.printResults(sum); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ann: COMPLETED, 1,234 documents with 5 calls\n", "commits        unknown; so far 1,500 (7 lines added, 0 deleted), ? to others", "issues         unknown\n", "scores         unknown\n", "statistics     unknown: the run did not complete\n",
		"  2 of 3 pages stored, 7 gaps; 0 items of 1 resource\n", "    LIST repo:1: unknown because 1 page failed: 502\n", "    and 6 more", "languages      Go\n", "bob: PAUSED, 0 documents with 0 calls (renew the token)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("does not say %q:\n%s", want, out.String())
		}
	}
	sum.Results[0].Statistics = []byte(`{`)
	if err := a.printResults(sum); err == nil || !strings.Contains(err.Error(), "ann") {
		t.Errorf("broken statistics gave %v", err)
	}
}

// TestInProcessAnswers proves that an answer is read while it is written, and
// that a reader who leaves does not hold up the handler.
func TestInProcessAnswers(t *testing.T) {
	goOn, left := make(chan struct{}), make(chan error, 1)
	carrier := inProcess{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			_, err := io.WriteString(w, "too late")
			left <- err
			return
		}
		w.Header().Set("X-Test", r.Header.Get("X-Test"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "one")
		<-goOn
		_, _ = io.WriteString(w, "two")
	})}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Test", "yes")
	response, err := carrier.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusTeapot || response.Header.Get("X-Test") != "yes" {
		t.Errorf("got %+v", response)
	}
	first := make([]byte, 3)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "one" {
		t.Fatalf("got %q, %v", first, err)
	}
	close(goOn)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "two" {
		t.Errorf("got %q, %v", rest, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err = http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/silent", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := carrier.RoundTrip(request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", response, err)
	}
	if err := <-left; err == nil {
		t.Error("the handler wrote to nobody")
	}
}
