package metrics

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/quota"
	"sluice/internal/state"
)

// collector reads the sources for one scrape.
type collector struct {
	ctx context.Context //nolint:containedctx // a collector lives for one scrape, and its interface has no context
	Sources
}

// Describe implements prometheus.Collector. Describing nothing lets a scrape
// leave out what it could not read.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	e := exporter{out}
	if c.Engine != nil {
		c.collectEngine(e)
	}
	if c.Runs != nil {
		e.attempt("runs", func() error { return c.collectRuns(e) })
	}
	if c.Dispatch != nil {
		e.attempt("dispatch", func() error { return c.collectDispatch(e) })
	}
	if c.Quota != nil {
		e.attempt("quota", func() error { return c.collectQuota(e) })
	}
	if c.Timers != nil {
		c.collectTimers(e)
	}
	if c.Refreshes != nil {
		c.collectRefreshes(e)
	}
	if c.SQL != nil {
		e.counter("sluice_sql_transactions_total", "Write transactions of the embedded database.", c.SQL.Transactions())
		e.counter("sluice_sql_reads_total", "Read transactions of the embedded database.", c.SQL.Reads())
	}
}

func (c collector) collectEngine(e exporter) {
	n := c.Engine.Counters()
	e.counter("sluice_calls_total", "Upstream calls begun.", n.Calls.Load())
	e.counter("sluice_documents_total", "Documents received, ones already stored included.", n.Documents.Load())
	const jobs = "Attempts at jobs by what became of the job."
	e.counter("sluice_jobs_total", jobs, n.Succeeded.Load(), "outcome", "succeeded")
	e.counter("sluice_jobs_total", jobs, n.Failed.Load(), "outcome", "failed")
	e.counter("sluice_jobs_total", jobs, n.Retried.Load(), "outcome", "retried")
	const runs = "Runs started and ended by this process."
	e.counter("sluice_runs_total", runs, n.RunsStarted.Load(), "event", "started")
	e.counter("sluice_runs_total", runs, n.RunsEnded.Load(), "event", "ended")
}

// runsPage bounds one read of the active runs.
const runsPage = 1000

func (c collector) collectRuns(e exporter) error {
	active, waiting, q := 0, int64(0), state.RunQuery{ActiveOnly: true, Limit: runsPage}
	for {
		runs, err := c.Runs.Runs(c.ctx, q)
		if err != nil {
			return err
		}
		active += len(runs)
		for _, run := range runs {
			waiting += run.Pending
		}
		if len(runs) < runsPage {
			break
		}
		q.BeforeID = runs[len(runs)-1].ID
	}
	e.gauge("sluice_runs_active", "Runs that have not ended.", float64(active))
	e.gauge("sluice_jobs_pending", "Jobs of active runs that have not ended.", float64(waiting))
	return nil
}

func (c collector) collectDispatch(e exporter) error {
	s, err := c.Dispatch.Stats(c.ctx)
	if err != nil {
		return err
	}
	now, parked := c.Now(), 0
	for _, lane := range s.Lanes {
		if lane.ParkedUntil.After(now) {
			parked++
		}
	}
	e.gauge("sluice_dispatch_ready", "Jobs that a worker may take now.", float64(s.Ready))
	e.gauge("sluice_dispatch_due", "Jobs that wait for an instant.", float64(s.Due))
	e.gauge("sluice_dispatch_leased", "Jobs in the hands of a worker.", float64(s.Leased))
	e.gauge("sluice_dispatch_lanes", "Lanes with jobs or parked.", float64(len(s.Lanes)))
	e.gauge("sluice_dispatch_lanes_parked", "Lanes closed until their ration allows calls again.", float64(parked))
	if !s.NextDue.IsZero() {
		e.gauge("sluice_dispatch_next_due_timestamp_seconds", "When the next wait ends.", float64(s.NextDue.UnixNano())/float64(time.Second))
	}
	return nil
}

// ration adds up the windows of one bucket over all owners.
type ration struct{ owners, parked, limit, available, inFlight int }

func (c collector) collectQuota(e exporter) error {
	windows, err := c.Quota.Windows(c.ctx, "")
	if err != nil {
		return err
	}
	buckets := rations(windows, c.Now())
	for _, name := range slices.SortedFunc(maps.Keys(buckets), cmp.Compare[string]) {
		b := buckets[name]
		e.gauge("sluice_quota_owners", "Owners of a ration.", float64(b.owners), "bucket", name)
		e.gauge("sluice_quota_owners_parked", "Owners that must not call now.", float64(b.parked), "bucket", name)
		e.gauge("sluice_quota_limit", "Calls all owners together are granted per window.", float64(b.limit), "bucket", name)
		e.gauge("sluice_quota_available", "Calls all owners together may still make in their windows.", float64(b.available), "bucket", name)
		e.gauge("sluice_quota_in_flight", "Calls under way.", float64(b.inFlight), "bucket", name)
	}
	return nil
}

func rations(windows []quota.Window, now time.Time) map[string]ration {
	by := map[string]ration{}
	for _, w := range windows {
		b := by[w.Bucket]
		b.owners++
		if w.ParkedUntil.After(now) {
			b.parked++
		}
		b.limit += w.Limit
		b.available += max(w.Available, 0)
		b.inFlight += w.InFlight
		by[w.Bucket] = b
	}
	return by
}

// exporter sends metrics to a scrape.
type exporter struct{ out chan<- prometheus.Metric }

func (e exporter) counter(name, help string, value int64, label ...string) {
	e.send(prometheus.CounterValue, name, help, float64(value), label)
}

func (e exporter) gauge(name, help string, value float64, label ...string) {
	e.send(prometheus.GaugeValue, name, help, value, label)
}

// send exports one value; label is empty or one name and its value.
func (e exporter) send(kind prometheus.ValueType, name, help string, value float64, label []string) {
	var labels prometheus.Labels
	if len(label) == 2 {
		labels = prometheus.Labels{label[0]: label[1]}
	}
	metric, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, value)
	if err != nil {
		metric = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	e.out <- metric
}

// attempt reports a source that could not be read, and lets the others be.
func (e exporter) attempt(what string, read func() error) {
	if err := read(); err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		e.out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
}
