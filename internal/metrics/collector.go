package metrics

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/quota"
	"sluice/internal/refresh"
	"sluice/internal/sink"
	"sluice/internal/state"
)

// collector reads the sources for one scrape.
type collector struct {
	ctx context.Context //nolint:containedctx // a collector lives for one scrape, and its interface has no context
	*Metrics
}

// Describe implements prometheus.Collector. Describing nothing lets a scrape
// leave out what it could not read.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	e, s := exporter{out, c.descs}, c.sources
	if s.Engine != nil {
		c.collectEngine(e)
	}
	if s.Timers != nil {
		c.collectTimers(e)
	}
	if s.Refreshes != nil {
		c.collectRefreshes(e)
	}
	if s.SQL != nil {
		e.counter("sluice_sql_transactions_total", s.SQL.Transactions())
		e.counter("sluice_sql_reads_total", s.SQL.Reads())
	}
	if s.Instruments != nil {
		for source, calls := range s.Instruments.seconds.fullest(s.Now()) {
			e.gauge("sluice_rate_fullest_second_calls", float64(calls), source)
		}
	}
	together(
		func() { read(c.ctx, e, "state", c.reads.total, func(t state.Total) { exportTotal(e, t) }) },
		func() {
			read(c.ctx, e, "feed", c.reads.feed, func(b document.Bounds) {
				e.gauge("sluice_feed_position", float64(b.Newest))
				e.gauge("sluice_feed_oldest_position", float64(b.Oldest))
			})
		},
		func() {
			read(c.ctx, e, "dispatch", c.reads.dispatch, func(d dispatch.Stats) { c.exportDispatch(e, d) })
		},
		func() {
			read(c.ctx, e, "quota", c.reads.quota, func(w []quota.Window) { exportQuota(e, w, s.Owners, s.Now()) })
		},
		func() { read(c.ctx, e, "refresh", c.reads.overview, func(o refresh.Overview) { exportOverview(e, o) }) },
		func() {
			read(c.ctx, e, "statistics", c.reads.lacking, func(n int64) { e.gauge("sluice_dead_letters", float64(n), letterStatistics, statisticsReason) })
		},
		func() {
			read(c.ctx, e, "timers", c.reads.undelivered, func(n int64) { e.gauge("sluice_dead_letters", float64(n), letterTimer, timerReason) })
		},
		func() {
			read(c.ctx, e, "notifications", c.reads.notifications, func(n map[notify.Counted]int64) { exportNotifications(e, n) })
		},
		func() { read(c.ctx, e, "sinks", c.reads.sinks, func(all []sink.Listed) { exportSinks(e, all) }) },
	)
}

// read exports what is known of a part, or that it could not be read.
func read[T any](ctx context.Context, e exporter, part string, from *lately[T], export func(T)) {
	if from == nil {
		return
	}
	f := from.get(ctx)
	if f.err != nil {
		e.gauge("sluice_metrics_readable", 0, part)
		e.fail(fmt.Errorf("%s: %w", part, f.err))
		return
	}
	e.gauge("sluice_metrics_readable", 1, part)
	e.gauge("sluice_metrics_age_seconds", f.age.Seconds(), part)
	export(f.value)
}

func (c collector) collectEngine(e exporter) {
	n := c.sources.Engine.Counters()
	e.counter("sluice_calls_total", n.Calls.Load())
	e.counter("sluice_documents_total", n.Documents.Load())
	e.counter("sluice_jobs_total", n.Succeeded.Load(), "succeeded")
	e.counter("sluice_jobs_total", n.Failed.Load(), "failed")
	e.counter("sluice_jobs_total", n.Retried.Load(), "retried")
	e.counter("sluice_runs_total", n.RunsStarted.Load(), "started")
	e.counter("sluice_runs_total", n.RunsEnded.Load(), "ended")
	e.counter("sluice_statistics_given_up_total", n.StatisticsGivenUp.Load())
	e.gauge("sluice_statistics_retrying", float64(c.sources.Engine.StatisticsRetrying()))
}

// exportTotal tells of every state, so that none is missing while it is empty.
func exportTotal(e exporter, t state.Total) {
	for _, s := range []domain.AccountState{domain.AccountActive, domain.AccountPaused, domain.AccountDeleted} {
		e.gauge("sluice_accounts", float64(t.Accounts[s]), string(s))
	}
	for s := domain.RunCreated; s.Active(); s++ {
		e.gauge("sluice_runs_active", float64(t.Active[s]), strings.ToLower(s.String()))
	}
	e.gauge("sluice_jobs_pending", float64(t.Pending))
}

func (c collector) exportDispatch(e exporter, s dispatch.Stats) {
	now, parked := c.sources.Now(), 0
	for i := range s.Lanes {
		if s.Lanes[i].ParkedUntil.After(now) {
			parked++
		}
	}
	e.gauge("sluice_dispatch_ready", float64(s.Ready))
	e.gauge("sluice_dispatch_due", float64(s.Due))
	e.gauge("sluice_dispatch_leased", float64(s.Leased))
	e.gauge("sluice_dispatch_lanes", float64(len(s.Lanes)))
	e.gauge("sluice_dispatch_lanes_parked", float64(parked))
	if !s.NextDue.IsZero() {
		e.gauge("sluice_dispatch_next_due_timestamp_seconds", seconds(s.NextDue))
	}
}
