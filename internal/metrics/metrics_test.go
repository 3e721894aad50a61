package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/metrics"
	"sluice/internal/notify"
	"sluice/internal/quota"
	"sluice/internal/state"
	"sluice/internal/timer"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fake is every source at once; it counts how often it is asked.
type fake struct {
	counters engine.Counters
	owners   int
	err      error
	asked    int
}

func (f *fake) Counters() *engine.Counters { f.asked++; return &f.counters }

func (f *fake) StatisticsRetrying() int { f.asked++; return 4 }

func (f *fake) Transactions() int64 { f.asked++; return 11 }

func (f *fake) Reads() int64 { f.asked++; return 12 }

// parts are those of fake that are asked at the same time.
type parts struct{ *fake }

func (p parts) Total(context.Context) (state.Total, error) {
	t := state.NewTotal()
	t.Accounts[domain.AccountActive], t.Accounts[domain.AccountPaused] = 7, 2
	t.Active[domain.RunRunning], t.Active[domain.RunFinalizing], t.Pending = 2340, 5, 4690
	return t, nil
}

func (p parts) Stats(context.Context) (dispatch.Stats, error) {
	return dispatch.Stats{Ready: 3, Due: 4, Leased: 5, NextDue: now.Add(time.Minute), Lanes: []dispatch.LaneStats{
		{Lane: "owner0/core", ParkedUntil: now.Add(time.Minute)}, {Lane: "owner0/graphql"},
	}}, nil
}

func (p parts) Windows(context.Context, string) ([]quota.Window, error) {
	var out []quota.Window
	for i := range p.owners {
		w := quota.Window{Owner: fmt.Sprintf("owner%d", i), Bucket: "core", Limit: 5000, Available: 100 + i, InFlight: 1, Reset: now.Add(time.Hour)}
		if i == 0 {
			w.ParkedUntil, w.Available = now.Add(time.Hour), 0
		}
		out = append(out, w)
	}
	return out, p.err
}

// tables are what is counted in the database of what was given up.
type tables struct{ timers timer.Counters }

func (*tables) WithoutStatistics(_ context.Context, most int) ([]domain.Run, error) {
	return make([]domain.Run, min(most, 3)), nil
}

func (t *tables) Counters() *timer.Counters { return &t.timers }

func (*tables) GivenUp(context.Context) (int64, error) { return 2, nil }

func (*tables) Count(context.Context) (map[notify.Counted]int64, error) {
	return map[notify.Counted]int64{{Type: "slack", State: notify.Waiting}: 5, {Type: "slack", State: notify.Dead}: 1}, nil
}

func sources(f *fake) metrics.Sources {
	return metrics.Sources{
		Statistics: &tables{}, Timers: &tables{}, Notifications: &tables{},
		Engine: f, State: parts{f}, Dispatch: parts{f}, Quota: parts{f}, SQL: f, Owners: 2, Version: "1.2.3", Now: func() time.Time { return now },
	}
}

func newMetrics(t *testing.T, f *fake, log *slog.Logger) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New(sources(f), log)
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
	problems, err := testutil.GatherAndLint(gatherer(t, newMetrics(t, &fake{owners: 3}, nil)))
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
	f := &fake{owners: 3}
	f.counters.Calls.Store(10)
	f.counters.Succeeded.Store(7)
	f.counters.Failed.Store(1)
	f.counters.Retried.Store(2)
	f.counters.Documents.Store(400)
	f.counters.RunsStarted.Store(6)
	f.counters.RunsEnded.Store(5)
	f.counters.StatisticsGivenUp.Store(3)
	status, text := scrape(newMetrics(t, f, nil))
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, text)
	}
	says(t, text,
		"sluice_calls_total 10", "sluice_documents_total 400",
		`sluice_jobs_total{outcome="succeeded"} 7`, `sluice_jobs_total{outcome="failed"} 1`, `sluice_jobs_total{outcome="retried"} 2`,
		`sluice_runs_total{event="started"} 6`, `sluice_runs_total{event="ended"} 5`,
		"sluice_statistics_given_up_total 3", "sluice_statistics_retrying 4",
		`sluice_accounts{state="active"} 7`, `sluice_accounts{state="paused"} 2`, `sluice_accounts{state="deleted"} 0`,
		`sluice_runs_active{status="running"} 2340`, `sluice_runs_active{status="finalizing"} 5`, `sluice_runs_active{status="created"} 0`,
		"sluice_jobs_pending 4690",
		"sluice_dispatch_ready 3", "sluice_dispatch_due 4", "sluice_dispatch_leased 5",
		"sluice_dispatch_lanes 2", "sluice_dispatch_lanes_parked 1", "sluice_dispatch_next_due_timestamp_seconds 1.77236646e+09",
		`sluice_quota_owners{bucket="core"} 3`, `sluice_quota_owners_parked{bucket="core"} 1`, `sluice_quota_limit{bucket="core"} 15000`,
		`sluice_quota_available{bucket="core"} 203`, `sluice_quota_in_flight{bucket="core"} 3`,
		`sluice_quota_owner_available{bucket="core",owner="owner0"} 0`, `sluice_quota_owner_parked{bucket="core",owner="owner0"} 1`,
		`sluice_quota_owner_available{bucket="core",owner="owner1"} 101`, `sluice_quota_owner_available{bucket="core",owner="other"} 102`,
		`sluice_quota_owner_reset_timestamp_seconds{bucket="core",owner="other"} 1.77237e+09`,
		`sluice_dead_letters{kind="statistics",reason="STATISTICS"} 3`, `sluice_dead_letters{kind="timer",reason="DELIVERY"} 2`,
		`sluice_notifications{state="waiting",type="slack"} 5`, `sluice_notifications{state="dead",type="slack"} 1`,
		"sluice_sql_transactions_total 11", "sluice_sql_reads_total 12",
		`sluice_metrics_readable{part="state"} 1`, `sluice_metrics_readable{part="dispatch"} 1`, `sluice_metrics_readable{part="quota"} 1`,
	)
	for _, pattern := range []string{`go_goroutines \d`, `process_cpu_seconds_total \d`, `sluice_build_info\{go="go1[^"]*",revision="[^"]+",version="1.2.3"\} 1`} {
		if !regexp.MustCompile(`(?m)^` + pattern).MatchString(text) {
			t.Errorf("%q is missing", pattern)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// says demands lines of a scrape.
func says(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%q is missing", line)
		}
	}
}

// TestLabelsAreBounded has as many lines for ten thousand owners as for a few.
func TestLabelsAreBounded(t *testing.T) {
	lines := func(owners int) int {
		_, text := scrape(newMetrics(t, &fake{owners: owners}, nil))
		own := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "sluice_") {
				own++
			}
		}
		return own
	}
	if few, many := lines(3), lines(10_000); few != many || few == 0 {
		t.Errorf("%d lines for a few owners, %d for many", few, many)
	}
	without := sources(&fake{owners: 3})
	without.Owners = 0
	m, err := metrics.New(without, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, text := scrape(m); strings.Contains(text, "owner0") || !strings.Contains(text, "sluice_quota_owners{") {
		t.Error("an owner is named where none is to be, or the sums are gone")
	}
}

func TestBrokenSourceLeavesTheOthers(t *testing.T) {
	var log strings.Builder
	f := &fake{err: domain.Errorf(domain.CodeUnavailable, "no quota")}
	m := newMetrics(t, f, slog.New(slog.NewTextHandler(&log, nil)))
	status, text := scrape(m)
	if status != http.StatusOK || !strings.Contains(text, "\nsluice_dispatch_ready 3\n") || strings.Contains(text, "sluice_quota_owners") {
		t.Errorf("got %d\n%s", status, text)
	}
	says(t, text, `sluice_metrics_readable{part="quota"} 0`, `sluice_metrics_readable{part="state"} 1`)
	if !strings.Contains(log.String(), "no quota") {
		t.Errorf("the log says %q", log.String())
	}
	if _, err := m.Gather(t.Context()); err == nil || !strings.Contains(err.Error(), "quota: ") {
		t.Errorf("the error is %v", err)
	}
}

// hanging is a part that does not answer.
type hanging struct{ parts }

func (h hanging) Windows(ctx context.Context, _ string) ([]quota.Window, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestAPartThatHangs: Prometheus says how long it waits, and is told of the part in
// that time.
func TestAPartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{"1": 800 * time.Millisecond, "10": 5 * time.Second, "": 5 * time.Second, "soon": 5 * time.Second} {
			s := sources(&fake{})
			s.Quota = hanging{}
			m, err := metrics.New(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			began, w, r := time.Now(), httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", header)
			m.ServeHTTP(w, r)
			if took := time.Since(began); took != want || w.Code != http.StatusOK {
				t.Errorf("for a timeout of %q it took %v, want %v; %d", header, took, want, w.Code)
			}
			says(t, w.Body.String(), `sluice_metrics_readable{part="quota"} 0`, `sluice_metrics_readable{part="dispatch"} 1`)
		}
	})
}

// TestNobodyAsks: a service that is not scraped spends nothing on metrics.
func TestNobodyAsks(t *testing.T) {
	f := &fake{}
	m := newMetrics(t, f, nil)
	if f.asked != 0 {
		t.Errorf("asked %d times before the first scrape", f.asked)
	}
	scrape(m)
	if f.asked == 0 {
		t.Error("a scrape asks nothing")
	}
}

func TestNothingToMeasure(t *testing.T) {
	m, err := metrics.New(metrics.Sources{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := scrape(m); status != http.StatusOK || strings.Contains(text, "sluice_jobs") {
		t.Errorf("got %d %s", status, text)
	}
}
