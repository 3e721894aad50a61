package metrics

import "sluice/internal/timer"

// Timers counts what became of timers; *timer.Service is one.
type Timers interface {
	Counters() *timer.Counters
}

func (c collector) collectTimers(e exporter) {
	n := c.Timers.Counters()
	e.counter("sluice_timers_set_total", "Timers set through this process.", n.Set.Load())
	e.counter("sluice_timers_fired_total", "Timers that this process fired.", n.Fired.Load())
	e.counter("sluice_timers_late_total", "Timers that this process fired more than a second late.", n.Late.Load())
	const deliveries = "Attempts to deliver completions, by what became of them."
	e.counter("sluice_timer_deliveries_total", deliveries, n.Delivered.Load(), "outcome", "delivered")
	e.counter("sluice_timer_deliveries_total", deliveries, n.Retried.Load(), "outcome", "retried")
	e.counter("sluice_timer_deliveries_total", deliveries, n.Dead.Load(), "outcome", "dead")
}
