package watching_test

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"sluice/internal/metrics"
	maplesim "sluice/internal/simulator/maplestory"
)

// TestOutages breaks a service that is watched, one part after the other: the
// alerts that are deployed fire, and what they and the dashboards name is there.
// The long form goes on until every alert has fired that can.
func TestOutages(t *testing.T) {
	t.Parallel()
	if !testing.Short() {
		t.Run("every alert", func(t *testing.T) {
			t.Parallel()
			everyAlert(t)
		})
		t.Run("two installations", func(t *testing.T) {
			t.Parallel()
			twoInstallations(t)
		})
	}
	w := newWorld(t)
	w.works()
	w.quiet("SluiceAccountPaused", "SluiceDeadLetters", "SluiceDeadLettersWait", "SluiceUpstreamRefuses", "SluiceBreakerOpen", "SluiceRedisUnreachable", "SluiceStoreUnreachable")

	login := w.github.Logins()[1]
	w.Signup(login, strings.Repeat("0", len(w.github.Token(login))))
	w.fires("SluiceAccountPaused")

	// What fails first has no past that it could be compared with.
	w.refresh(unknown(1, 1)...)
	w.fires("SluiceDeadLettersWait")
	w.refresh(unknown(1000, 200)...)
	w.fires("SluiceDeadLetters", "SluiceRefreshErrors")
	if refused := w.fires("SluiceUpstreamRefuses"); refused.Labels["source"] != "maplestory" {
		t.Errorf("refused by %v", refused.Labels)
	}
	w.everythingIsThere()
	w.dashboardsShow()

	if err := w.game.Script(maplesim.FaultOrder{Kind: maplesim.FaultInternal, Times: -1}); err != nil {
		t.Fatal(err)
	}
	w.refresh(w.characters(10, 40)...)
	if open := w.fires("SluiceBreakerOpen"); open.Labels["part"] != "upstream" {
		t.Errorf("the breaker of %v is open", open.Labels)
	}

	w.redis.Kill()
	w.fires("SluiceRedisUnreachable", "SluiceNoLeader")
	w.quiet("SluiceStoreUnreachable")
	w.redis.Start()
	w.sql.Kill()
	w.fires("SluiceStoreUnreachable")

	w.Signal(syscall.SIGKILL)
	if down := w.fires("SluiceDown"); down.Labels["severity"] != "critical" {
		t.Errorf("that it is down is %v", down.Labels)
	}
}

// works lets the service do a little of everything.
func (w *world) works() {
	w.Helper()
	login := w.github.Logins()[0]
	w.Completes(w.Signup(login, w.github.Token(login)))
	w.refresh(w.characters(0, 10)...)
	if status, text := w.Call(http.MethodPost, "/api/v1/timers", `{"id":"tea","in":"1ms"}`); status != http.StatusCreated {
		w.Fatalf("a timer: %d %s", status, text)
	}
	status, stream := w.Call(http.MethodGet, "/api/v1/snapshots/maplestory/"+w.game.Ocid(0), "")
	if status >= http.StatusInternalServerError {
		w.Fatalf("a snapshot: %d %s", status, stream)
	}
}

func (w *world) characters(from, n int) (keys []string) {
	for i := from; i < from+n; i++ {
		keys = append(keys, w.game.Ocid(i))
	}
	return keys
}

// dashboardsShow asks Prometheus for everything that the dashboards ask for.
func (w *world) dashboardsShow() {
	w.Helper()
	for name, d := range dashboards(w.T) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expression, expected := filledIn(target.Expr), true
				for _, family := range families(declaredMetrics(), expression) {
					expected = expected && seldom[family] == ""
				}
				if shown := w.ask(expression); shown == 0 && expected {
					w.Errorf("%s: %q shows nothing for %s", name, p.Title, expression)
				}
			}
		}
	}
}

// seldom are metrics that are there only at times, and why.
var seldom = map[string]string{
	"sluice_refresh_lag_age_seconds":             "while requests wait",
	"sluice_dispatch_next_due_timestamp_seconds": "while something waits for an instant",
	"sluice_quota_owner_reset_timestamp_seconds": "once an answer told when a window ends",
	"sluice_notifications":                       "where somebody is to be told",
}

// everythingIsThere compares what the service exposes with what is declared: the
// types, the labels, and that all of it is there.
func (w *world) everythingIsThere() {
	w.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	exposed, err := parser.TextToMetricFamilies(strings.NewReader(w.Get("/metrics")))
	if err != nil {
		w.Fatal(err)
	}
	declared := declaredMetrics()
	for name, m := range declared {
		family := exposed[name]
		switch {
		case family == nil:
			if seldom[name] == "" {
				w.Errorf("the service does not expose %s", name)
			}
		case kindOf(family) != m.Kind:
			w.Errorf("%s is a %s, declared as %s", name, kindOf(family), m.Kind)
		default:
			checkLabels(w.T, m, family)
		}
	}
	for name := range exposed {
		if _, known := declared[name]; strings.HasPrefix(name, "sluice_") && !known {
			w.Errorf("%s is exposed and not declared", name)
		}
	}
}

func checkLabels(t *testing.T, m metrics.Metric, family *dto.MetricFamily) {
	t.Helper()
	for _, one := range family.GetMetric() {
		var labels []string
		for _, l := range one.GetLabel() {
			labels = append(labels, l.GetName())
		}
		want := slices.Clone(m.Labels)
		slices.Sort(want)
		slices.Sort(labels)
		if !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %v, declared are %v", m.Name, labels, want)
		}
	}
}

func kindOf(f *dto.MetricFamily) metrics.Kind {
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		return metrics.Counter
	case dto.MetricType_GAUGE:
		return metrics.Gauge
	case dto.MetricType_HISTOGRAM:
		return metrics.Histogram
	}
	return metrics.Kind(f.GetType().String())
}
