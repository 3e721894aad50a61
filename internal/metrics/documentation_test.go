package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/internal/metrics"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const documentation = "../../docs/metrics.md"

const introduction = `# Metrics

Every process serves its metrics at ` + "`/metrics`" + `, in the format of Prometheus. This page is written from what the program
declares (` + "`go test ./internal/metrics -update`" + `), and a test compares it with what a running service exposes. Besides
these there are the usual ` + "`go_…` and `process_…`" + `.

**Whose figure it is.** What a *process* did is counted by each; add processes up with ` + "`sum`" + `. What is *shared* is told by every
process alike; take ` + "`max`" + `.

**Labels** are bounded: the program's own words, sources, buckets and routes. Quota owners are salted hashes, as
` + "`sluice quota`" + ` shows them; ` + "`--metrics-owners`" + ` (20) have series of their own, those with the least left, and the rest is
` + "`owner=\"other\"`" + `. Reasons that upstreams make up are ` + "`other`" + ` beyond the first forty. Accounts, logins and tokens are in none.

**What it costs.** Nothing is read unless somebody scrapes. What takes longer than 10 ms to read, such as counting for many
accounts, is told as it was read last while it is read again in the background, at most a twentieth of the time;
` + "`sluice_metrics_age_seconds`" + ` tells how old it is, never more than 30 s. What is measured as it happens costs less than
a microsecond a job, of the hundred and more that a job takes (` + "`go test -bench . ./internal/metrics`" + `).

*Asked for as* is what the design documents call it: 000 is that of collections, 002 that of refreshes, 004 that of timers.
[operating.md](operating.md#watching-it) says how to watch it, [runbook.md](runbook.md) what to do when an alert fires.
`

// document writes the page.
func document() string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, section := range metrics.Declared() {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | type | labels | unit | whose | meaning | asked for as |\n| --- | --- | --- | --- | --- | --- | --- |\n", section.Title)
		for _, m := range section.Metrics {
			labels := "–"
			if len(m.Labels) > 0 {
				labels = "`" + strings.Join(m.Labels, "`, `") + "`"
			}
			serves := m.Serves
			if serves == "" {
				serves = "–"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", m.Name, m.Kind, labels, m.Unit(), m.Scope, m.Help, serves)
		}
	}
	return b.String()
}

func TestDocumentation(t *testing.T) {
	page := document()
	if *update {
		if err := os.WriteFile(documentation, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, err := os.ReadFile(documentation)
	if err != nil || string(there) != page {
		t.Errorf("docs/metrics.md is not what is declared (%v): go test ./internal/metrics -update", err)
	}
}

// required is everything that the design documents want to be watched.
var required = []string{
	"000 §9.1 collection_runs_active", "000 §9.1 page_jobs_pending", "000 §9.1 page_jobs_failed_rate", "000 §9.1 job_processing_time_p99",
	"000 §9.1 delayed_queue_size", "000 §9.1 stream_pending_count", "000 §9.1 stream_consumer_lag", "000 §9.1 rate_limit_tokens_blocked",
	"000 §9.1 xautoclaim_recovered", "000 §9.1 stats_retry_queue_size", "000 §9.1 scheduler_sleep_duration_avg", "000 §9.4 scheduler_leader_active",
	"002 §12 rate_limiter_acquired_total", "002 §12 rate_limiter_rejected_total", "002 §12 rate_limiter_rps", "002 §12 kafka_consumer_lag",
	"002 §12 kafka_producer_send_failed_total", "002 §12 dedup_coalesce_hit_total", "002 §12 dedup_upgrade_total", "002 §12 dedup_lock_conflict_total",
	"002 §12 update_process_duration_seconds", "002 §12 update_process_error_total", "002 §12 obsolete_event_skipped_total",
	"002 §12 db_circuit_breaker_state", "002 §12 db_upsert_duration_seconds", "002 §12 redis_circuit_breaker_state",
	"002 §12 redis_command_duration_seconds", "002 §12 dlq_message_count", "004 §5 completion-stats", "004 §5 detect-missed-timers",
}

// TestEverythingRequiredIsServed looks for a metric for each requirement.
func TestEverythingRequiredIsServed(t *testing.T) {
	var served strings.Builder
	for _, s := range metrics.Declared() {
		for _, m := range s.Metrics {
			served.WriteString(m.Serves + "\n")
		}
	}
	for _, want := range required {
		document, rest, _ := strings.Cut(want, " ")
		section, name, _ := strings.Cut(rest, " ")
		found := false
		for line := range strings.Lines(served.String()) {
			found = found || strings.HasPrefix(line, document+" ") && strings.Contains(line, section) && strings.Contains(line, name)
		}
		if !found {
			t.Errorf("no metric serves %s", want)
		}
	}
}

// TestDeclarations checks what a page cannot show.
func TestDeclarations(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range metrics.Declared() {
		for _, m := range s.Metrics {
			if seen[m.Name] {
				t.Errorf("%s is declared twice", m.Name)
			}
			seen[m.Name] = true
			if !strings.HasPrefix(m.Name, "sluice_") || (m.Kind == metrics.Counter) != strings.HasSuffix(m.Name, "_total") {
				t.Errorf("%s is a %s", m.Name, m.Kind)
			}
			if (m.Kind == metrics.Histogram) != (len(m.Buckets) > 0) || m.Kind == metrics.Histogram && m.Scope != metrics.Process {
				t.Errorf("%s: a %s of a %s with %d buckets", m.Name, m.Kind, m.Scope, len(m.Buckets))
			}
			if !strings.HasSuffix(m.Help, ".") || strings.ContainsAny(m.Help, "|\n") {
				t.Errorf("%s: the help is %q", m.Name, m.Help)
			}
		}
	}
}
