package metrics

import (
	"sluice/internal/breaker"
	"sluice/internal/refresh"
	"sluice/internal/refresh/eventlog"
)

// Refreshes tells how the refresh pipeline fares; *refresh.Pipeline is one.
type Refreshes interface {
	Worker() *refresh.Worker
	Query() *refresh.Query
	Breakers() map[string]breaker.State
	Lags() map[string]eventlog.Lag
}

func (c collector) collectRefreshes(e exporter) {
	w, q := c.Refreshes.Worker().Counters(), &c.Refreshes.Query().Counters
	e.counter("sluice_refresh_calls_total", "Upstream calls of refreshes.", w.Calls.Load())
	const events = "Refresh requests that this process dealt with, by what became of them."
	e.counter("sluice_refresh_events_total", events, w.Stored.Load(), "outcome", "stored")
	e.counter("sluice_refresh_events_total", events, w.Touched.Load(), "outcome", "unchanged")
	e.counter("sluice_refresh_events_total", events, w.Obsolete.Load(), "outcome", "obsolete")
	e.counter("sluice_refresh_events_total", events, w.Dead.Load(), "outcome", "dead")
	e.counter("sluice_refresh_retries_total", "Calls that are made again.", w.Retried.Load())
	e.counter("sluice_refresh_late_calls_total", "Calls that left so late that others were held back for them.", w.Late.Load())
	e.counter("sluice_refresh_received_bytes_total", "What the upstream sent.", w.Received.Load())
	e.counter("sluice_refresh_kept_bytes_total", "What is left of it when it is trimmed.", w.Kept.Load())
	const reads = "Reads of snapshots by freshness."
	e.counter("sluice_snapshot_reads_total", reads, q.Fresh.Load(), "freshness", "fresh")
	e.counter("sluice_snapshot_reads_total", reads, q.Stale.Load(), "freshness", "stale")
	e.counter("sluice_snapshot_reads_total", reads, q.Updating.Load(), "freshness", "updating")
	e.counter("sluice_snapshot_reads_total", reads, q.NotFound.Load(), "freshness", "not_found")
	for priority, lag := range c.Refreshes.Lags() {
		e.gauge("sluice_refresh_lag", "Refresh requests that wait.", float64(lag.Records), "priority", priority)
	}
	for part, state := range c.Refreshes.Breakers() {
		e.gauge("sluice_breaker_open", "1 while a part that fails is left alone, 0.5 while it is tried.", openness(state), "part", part)
	}
}

func openness(s breaker.State) float64 {
	switch s {
	case breaker.Open:
		return 1
	case breaker.HalfOpen:
		return 0.5
	}
	return 0
}
