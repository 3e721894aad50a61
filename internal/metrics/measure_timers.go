package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/timer"
)

// Firings measures how late timers fire and how long the store takes for it.
func (i *Instruments) Firings(f timer.Firings) timer.Firings {
	return measuredFirings{f, i.operation("fire_timers"), i.timerLate}
}

type measuredFirings struct {
	timer.Firings
	fire timed
	late prometheus.Observer
}

// Fire implements timer.Firings.
func (m measuredFirings) Fire(ctx context.Context, f timer.Firing) ([]timer.FireResult, error) {
	began := time.Now()
	fired, err := m.Firings.Fire(ctx, f)
	m.fire.ended(began, err)
	for n := range fired {
		if fired[n].New {
			m.late.Observe(max(fired[n].Completion().Lateness, 0).Seconds())
		}
	}
	return fired, err
}
