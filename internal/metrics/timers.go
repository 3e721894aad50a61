package metrics

import (
	"context"

	"sluice/internal/timer"
)

// Timers counts what became of timers; *timer.Service is one.
type Timers interface {
	Counters() *timer.Counters
	// GivenUp asks the store how many deliveries were given up.
	GivenUp(ctx context.Context) (int64, error)
}

func (c collector) collectTimers(e exporter) {
	n := c.sources.Timers.Counters()
	e.counter("sluice_timers_set_total", n.Set.Load())
	e.counter("sluice_timers_fired_total", n.Fired.Load())
	e.counter("sluice_timers_late_total", n.Late.Load())
	e.counter("sluice_timer_deliveries_total", n.Delivered.Load(), "delivered")
	e.counter("sluice_timer_deliveries_total", n.Retried.Load(), "retried")
	e.counter("sluice_timer_deliveries_total", n.Dead.Load(), "dead")
}
