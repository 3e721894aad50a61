package metrics

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sluice/internal/backoff"
	"sluice/internal/refresh"
)

// Refreshes tells how the refresh pipeline fares; *refresh.Pipeline is one.
type Refreshes interface {
	Worker() *refresh.Worker
	Reader() *refresh.Reader
	Breakers() map[string]backoff.BreakerState
	Lags() map[string]refresh.Lag
	Waiting() int64
	// Overview asks the store, and the keeper of the rate.
	Overview(ctx context.Context) (refresh.Overview, error)
}

func (c collector) collectRefreshes(e exporter) {
	r := c.sources.Refreshes
	w, q := r.Worker().Counters(), &r.Reader().Counters
	e.counter("sluice_refresh_calls_total", w.Calls.Load())
	e.counter("sluice_refresh_events_total", w.Stored.Load(), "stored")
	e.counter("sluice_refresh_events_total", w.Touched.Load(), "unchanged")
	e.counter("sluice_refresh_events_total", w.Obsolete.Load(), "obsolete")
	e.counter("sluice_refresh_events_total", w.Dead.Load(), "dead")
	e.counter("sluice_refresh_retries_total", w.Retried.Load())
	e.counter("sluice_refresh_late_calls_total", w.Late.Load())
	e.counter("sluice_refresh_received_bytes_total", w.Received.Load())
	e.counter("sluice_refresh_kept_bytes_total", w.Kept.Load())
	e.counter("sluice_refresh_parked_total", w.Parked.Load())
	e.counter("sluice_snapshot_reads_total", q.Fresh.Load(), "fresh")
	e.counter("sluice_snapshot_reads_total", q.Stale.Load(), "stale")
	e.counter("sluice_snapshot_reads_total", q.Updating.Load(), "updating")
	e.counter("sluice_snapshot_reads_total", q.NotFound.Load(), "not_found")
	e.gauge("sluice_refresh_waiting", float64(r.Waiting()))
	for priority, lag := range r.Lags() {
		e.gauge("sluice_refresh_lag", float64(lag.Records), priority)
		if lag.Records > 0 && !lag.Oldest.IsZero() {
			e.gauge("sluice_refresh_lag_age_seconds", max(c.sources.Now().Sub(lag.Oldest), 0).Seconds(), priority)
		}
	}
	for part, state := range r.Breakers() {
		e.gauge("sluice_breaker_open", openness(state), part)
	}
}

// mostLetterReasons is how many reasons of dead letters are told apart; the rest
// is told together.
const mostLetterReasons = 40

// exportOverview tells what the store has of snapshots and dead letters.
func exportOverview(e exporter, o refresh.Overview) {
	names, letters := newBoundedNames(mostLetterReasons), map[string]int64{}
	for _, why := range slices.Sorted(maps.Keys(o.Dead)) {
		letters[names.name(why)] += o.Dead[why]
	}
	for reason, n := range letters {
		e.gauge("sluice_dead_letters", float64(n), letterRefresh, reason)
	}
	for _, s := range o.Sources {
		for tier, n := range s.Counts.Tiers {
			e.gauge("sluice_snapshots", float64(n), s.Source, strings.ToLower(tier))
		}
		e.gauge("sluice_snapshots_bytes", float64(s.Counts.Bytes), s.Source)
		e.gauge("sluice_snapshots_failing", float64(s.Counts.Retrying), s.Source, "retrying")
		e.gauge("sluice_snapshots_failing", float64(s.Counts.Failed), s.Source, "failed")
		if s.RateError == "" {
			e.gauge("sluice_rate_day_calls", float64(s.Rate.Used), s.Source)
			e.gauge("sluice_rate_day_limit_calls", float64(s.Rate.Daily), s.Source)
		}
	}
}

func openness(s backoff.BreakerState) float64 {
	switch s {
	case backoff.BreakerOpen:
		return 1
	case backoff.BreakerHalfOpen:
		return 0.5
	}
	return 0
}
