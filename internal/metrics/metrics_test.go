package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/metrics"
	"sluice/internal/quota"
	"sluice/internal/state"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fake is every source at once; it counts how often it is asked.
type fake struct {
	counters engine.Counters
	runs     int
	owners   int
	err      error
	asked    int
}

func (f *fake) Counters() *engine.Counters { f.asked++; return &f.counters }

func (f *fake) Transactions() int64 { f.asked++; return 11 }

func (f *fake) Reads() int64 { f.asked++; return 12 }

func (f *fake) Runs(_ context.Context, q state.RunQuery) ([]domain.Run, error) {
	f.asked++
	if !q.ActiveOnly {
		return nil, errors.New("asked for ended runs")
	}
	var out []domain.Run
	first := int64(f.runs)
	if q.BeforeID != 0 {
		first = q.BeforeID - 1
	}
	for id := first; id > 0 && len(out) < q.Limit; id-- {
		out = append(out, domain.Run{ID: id, RunCounts: domain.RunCounts{Pending: 2}})
	}
	return out, nil
}

func (f *fake) Stats(context.Context) (dispatch.Stats, error) {
	f.asked++
	return dispatch.Stats{Ready: 3, Due: 4, Leased: 5, NextDue: now.Add(time.Minute), Lanes: []dispatch.LaneStats{
		{Lane: "secretowner/core", ParkedUntil: now.Add(time.Minute)}, {Lane: "secretowner/graphql"},
	}}, nil
}

func (f *fake) Windows(context.Context, string) ([]quota.Window, error) {
	f.asked++
	var out []quota.Window
	for i := range f.owners {
		w := quota.Window{Owner: fmt.Sprintf("secretowner%d", i), Bucket: "core", Limit: 5000, Available: 100, InFlight: 1}
		if i == 0 {
			w.ParkedUntil = now.Add(time.Hour)
		}
		out = append(out, w)
	}
	return out, f.err
}

func newMetrics(t *testing.T, f *fake, log *slog.Logger) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New(metrics.Sources{
		Engine: f, Runs: f, Dispatch: f, Quota: f, SQL: f, Now: func() time.Time { return now },
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gatherer(t *testing.T, m *metrics.Metrics) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return m.Gather(t.Context()) })
}

func scrape(m *metrics.Metrics) (int, string) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Code, w.Body.String()
}

func TestNames(t *testing.T) {
	problems, err := testutil.GatherAndLint(gatherer(t, newMetrics(t, &fake{runs: 1, owners: 1}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "sluice_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestValues(t *testing.T) {
	f := &fake{runs: 2345, owners: 3}
	f.counters.Calls.Store(10)
	f.counters.Succeeded.Store(7)
	f.counters.Failed.Store(1)
	f.counters.Retried.Store(2)
	f.counters.Documents.Store(400)
	f.counters.RunsStarted.Store(6)
	f.counters.RunsEnded.Store(5)
	status, text := scrape(newMetrics(t, f, nil))
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, text)
	}
	for _, line := range []string{
		"sluice_calls_total 10", "sluice_documents_total 400",
		`sluice_jobs_total{outcome="succeeded"} 7`, `sluice_jobs_total{outcome="failed"} 1`, `sluice_jobs_total{outcome="retried"} 2`,
		`sluice_runs_total{event="started"} 6`, `sluice_runs_total{event="ended"} 5`,
		"sluice_runs_active 2345", "sluice_jobs_pending 4690",
		"sluice_dispatch_ready 3", "sluice_dispatch_due 4", "sluice_dispatch_leased 5",
		"sluice_dispatch_lanes 2", "sluice_dispatch_lanes_parked 1", "sluice_dispatch_next_due_timestamp_seconds 1.77236646e+09",
		`sluice_quota_owners{bucket="core"} 3`, `sluice_quota_owners_parked{bucket="core"} 1`, `sluice_quota_limit{bucket="core"} 15000`,
		`sluice_quota_available{bucket="core"} 300`, `sluice_quota_in_flight{bucket="core"} 3`,
		"sluice_sql_transactions_total 11", "sluice_sql_reads_total 12",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%q is missing", line)
		}
	}
	for _, prefix := range []string{"go_goroutines ", "process_cpu_seconds_total "} {
		if !strings.Contains(text, "\n"+prefix) {
			t.Errorf("%q is missing", prefix)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestLabelsAreBounded has as many lines for ten thousand owners as for one.
func TestLabelsAreBounded(t *testing.T) {
	lines := func(owners int) int {
		_, text := scrape(newMetrics(t, &fake{runs: owners, owners: owners}, nil))
		if strings.Contains(text, "secretowner") {
			t.Error("an owner is named")
		}
		own := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "sluice_") {
				own++
			}
		}
		return own
	}
	if one, many := lines(1), lines(10_000); one != many || one == 0 {
		t.Errorf("%d lines for one owner, %d for many", one, many)
	}
}

func TestBrokenSourceLeavesTheOthers(t *testing.T) {
	var log strings.Builder
	f := &fake{err: domain.Errorf(domain.CodeUnavailable, "no quota")}
	status, text := scrape(newMetrics(t, f, slog.New(slog.NewTextHandler(&log, nil))))
	if status != http.StatusOK || !strings.Contains(text, "\nsluice_dispatch_ready 3\n") || strings.Contains(text, "\nsluice_quota") {
		t.Errorf("got %d %s", status, text)
	}
	if !strings.Contains(log.String(), "quota: no quota") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestNothingIsReadBetweenScrapes(t *testing.T) {
	f := &fake{}
	m := newMetrics(t, f, nil)
	if f.asked != 0 {
		t.Errorf("%d reads before the first scrape", f.asked)
	}
	scrape(m)
	if f.asked == 0 {
		t.Error("a scrape reads nothing")
	}
}

func TestMissingSources(t *testing.T) {
	m, err := metrics.New(metrics.Sources{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := scrape(m); status != http.StatusOK || strings.Contains(text, "sluice_") || !strings.Contains(text, "go_goroutines") {
		t.Errorf("got %d %s", status, text)
	}
}
