package refresh

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// PrefetchOptions are what a Prefetch works with.
type PrefetchOptions struct {
	Source    string
	Snapshots Snapshots
	Requester *Requester
	Rate      rate.Keeper
	Lags      *Lags
	// PerSecond is the target by hour of day; nil is 150 from 19 to 23 and 250
	// otherwise.
	PerSecond func(hour int) int
	// Zone is where the hours are; nil is local.
	Zone *time.Location
	// HighLag is how many HIGH requests may wait before prefetching stops;
	// default 500.
	HighLag int64
	// DailyReserve is what of the day's calls is not spent on prefetching.
	DailyReserve int64
	Now          func() time.Time
	Slog         *slog.Logger
}

// Prefetch refreshes what is due before anybody asks, evenly.
type Prefetch struct {
	PrefetchOptions
	// claimed is what was due and could not be asked for yet.
	claimed []Entity
}

// NewPrefetch returns a prefetch that does not run yet.
func NewPrefetch(o PrefetchOptions) *Prefetch {
	o.HighLag = cmp.Or(o.HighLag, 500)
	if o.PerSecond == nil {
		o.PerSecond = standardPace
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slog == nil {
		o.Slog = slog.New(slog.DiscardHandler)
	}
	return &Prefetch{PrefetchOptions: o}
}

// standardPace leaves the evening to readers.
func standardPace(hour int) int {
	const evening, night = 19, 24
	if hour >= evening && hour < night {
		return 150
	}
	return 250
}

const (
	// prefetchStep is how often a part of a second's target is asked for.
	prefetchStep = 200 * time.Millisecond
	// prefetchIdle is how long nothing is looked for after nothing was due.
	prefetchIdle = 30 * time.Second
)

// Run asks for what is due until ctx ends.
func (p *Prefetch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		asked, err := p.step(ctx)
		wait := prefetchStep
		switch {
		case err != nil:
			if ctx.Err() == nil {
				p.Slog.Warn("prefetch", "source", p.Source, "error", err)
			}
			wait = prefetchIdle
		case asked == 0:
			wait = prefetchIdle
		}
		pause(ctx, wait)
	}
}

// step asks for a part of a second's target. It returns how many were due, and
// none if others go first.
func (p *Prefetch) step(ctx context.Context) (int, error) {
	if p.Lags.Lag(domain.PriorityHigh).Records > p.HighLag { //nolint:contextcheck // the figure is everybody's
		return 0, nil
	}
	now := p.Now()
	target := p.PerSecond(now.In(p.Zone).Hour())
	// What waits already is enough for a while.
	const ahead = 60
	if p.Lags.Lag(domain.PriorityLow).Records > int64(ahead*target) { //nolint:contextcheck // the figure is everybody's
		return 0, nil
	}
	usage, err := p.Rate.Usage(ctx, p.Source)
	if err != nil {
		return 0, err
	}
	if usage.Daily > 0 && usage.Daily-usage.Used <= p.DailyReserve {
		return 0, nil
	}
	if len(p.claimed) == 0 {
		limit := max(1, int(float64(target)*prefetchStep.Seconds()))
		if p.claimed, err = p.Snapshots.Due(ctx, p.Source, now, limit); err != nil {
			return 0, err
		}
	}
	asked := len(p.claimed)
	if asked == 0 {
		return 0, nil
	}
	_, err = p.Requester.Request(ctx, Request{Entities: p.claimed, Priority: domain.PriorityLow, Reason: ReasonPrefetch})
	if err == nil {
		p.claimed = nil
	}
	return asked, err
}
