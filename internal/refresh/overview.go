package refresh

import (
	"context"
	"maps"
	"slices"

	"sluice/internal/breaker"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh/eventlog"
)

// Overview tells how the pipeline stands.
type Overview struct {
	Sources []SourceOverview        `json:"sources" nullable:"false"`
	Lags    map[string]eventlog.Lag `json:"lags"`
	// Breakers are closed, half-open or open.
	Breakers map[string]breaker.State `json:"breakers"`
	// Dead counts dead letters by cause.
	Dead map[string]int64 `json:"dead_letters"`
}

// SourceOverview is one upstream's part.
type SourceOverview struct {
	Source string     `json:"source"`
	Rate   rate.Usage `json:"rate"`
	Counts Counts     `json:"counts"`
}

// Breakers tells how the breakers stand.
func (l *Pipeline) Breakers() map[string]breaker.State {
	out := make(map[string]breaker.State, len(l.breakers))
	for name, b := range l.breakers {
		out[name] = b.State()
	}
	return out
}

// Lags returns the last figures of how far the workers are behind.
func (l *Pipeline) Lags() map[string]eventlog.Lag {
	return map[string]eventlog.Lag{
		domain.PriorityHigh.String(): l.lags.Lag(domain.PriorityHigh), domain.PriorityLow.String(): l.lags.Lag(domain.PriorityLow),
	}
}

// Overview tells how the pipeline stands.
func (l *Pipeline) Overview(ctx context.Context) (Overview, error) {
	lags := l.Lags() //nolint:contextcheck // the figure is everybody's
	out := Overview{Sources: []SourceOverview{}, Lags: lags, Breakers: l.Breakers()}
	for _, name := range slices.Sorted(maps.Keys(l.Upstreams)) {
		counts, err := l.Snapshots.Counts(ctx, name)
		if err != nil {
			return out, err
		}
		usage, err := l.Rate.Usage(ctx, name)
		if err != nil {
			return out, err
		}
		out.Sources = append(out.Sources, SourceOverview{name, usage, counts})
	}
	var err error
	out.Dead, err = l.Snapshots.DeadLetterCounts(ctx)
	return out, err
}

// guardedWrites refuses new requests at once while what carries them is down.
type guardedWrites struct {
	coalescer Coalescer
	log       Publisher
	breaker   *breaker.Breaker
}

// Acquire implements Coalescer.
func (g *guardedWrites) Acquire(ctx context.Context, asks ...Ask) (grants []Grant, err error) {
	err = g.breaker.Do(ctx, func() error {
		grants, err = g.coalescer.Acquire(ctx, asks...)
		return err
	})
	return grants, err
}

// Release implements Coalescer. Giving a lock back is worth trying always.
func (g *guardedWrites) Release(ctx context.Context, locks ...Lock) error {
	return g.coalescer.Release(ctx, locks...)
}

// Versions implements Coalescer.
func (g *guardedWrites) Versions(ctx context.Context, entities ...Entity) ([]int64, error) {
	return g.coalescer.Versions(ctx, entities...)
}

// Publish implements Publisher.
func (g *guardedWrites) Publish(ctx context.Context, topic eventlog.Topic, messages ...eventlog.Message) error {
	return g.breaker.Do(ctx, func() error { return g.log.Publish(ctx, topic, messages...) })
}
