package metrics

import (
	"context"

	"sluice/internal/domain"
	"sluice/internal/notify"
)

// Statistics lists runs that lack their statistics; every state.Store does.
type Statistics interface {
	WithoutStatistics(ctx context.Context, most int) ([]domain.Run, error)
}

// Notifications counts what people are to be told; *notify.Service is one.
type Notifications interface {
	Count(ctx context.Context) (map[notify.Counted]int64, error)
}

// The kinds of dead letters.
const (
	letterRefresh    = "refresh"
	letterStatistics = "statistics"
	letterTimer      = "timer"
)

const (
	// statisticsReason and timerReason stand for all: why statistics or deliveries
	// failed is told in words of the store, or of the receiver.
	statisticsReason = "STATISTICS"
	timerReason      = "DELIVERY"
	// mostStatistics bounds what is counted; there are hardly ever any.
	mostStatistics = 1000
)

// countStatistics counts statistics that were given up.
func countStatistics(s Statistics) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		runs, err := s.WithoutStatistics(ctx, mostStatistics)
		return int64(len(runs)), err
	}
}

func exportNotifications(e exporter, counts map[notify.Counted]int64) {
	for of, n := range counts {
		e.gauge("sluice_notifications", float64(n), of.Type, of.State.String())
	}
}

// Carried counts rows that a sink has carried.
func (i *Instruments) Carried(sink string, rows int) {
	i.carried.WithLabelValues(sink).Add(float64(rows))
}

// Notified counts an attempt to tell somebody something.
func (i *Instruments) Notified(targetType string, became notify.Outcome) {
	i.notifications.WithLabelValues(targetType, string(became)).Inc()
}
