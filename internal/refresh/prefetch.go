package refresh

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// PrefetchOptions are what a Prefetch works with.
type PrefetchOptions struct {
	Source    string
	Snapshots Entities
	Requester *Requester
	Rate      rate.Keeper
	Lags      *Lags
	// PerSecond is the target of all processes by hour of day; nil is 150 from 19
	// to 23 and 250 otherwise.
	PerSecond func(hour int) int
	// Zone is where the hours are; nil is UTC.
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
		o.Zone = time.UTC
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
	// Until it is known how many others wait, nothing is asked for in advance.
	select {
	case <-p.Lags.Measured():
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		wait, err := p.step(ctx)
		if err != nil && ctx.Err() == nil {
			p.Slog.Warn("prefetching failed; trying again", "source", p.Source, "error", err)
		}
		backoff.Sleep(ctx, wait)
	}
}

// step asks for a part of a second's target, as much of it as other processes
// have left, and returns when to do so again.
func (p *Prefetch) step(ctx context.Context) (time.Duration, error) {
	now := p.Now()
	target := p.PerSecond(now.In(p.Zone).Hour())
	if p.standBack(target) {
		return prefetchIdle, nil
	}
	usage, err := p.Rate.Usage(ctx, p.Source)
	if err != nil {
		return prefetchIdle, err
	}
	if target <= 0 || usage.Daily > 0 && usage.Daily-usage.Used <= p.DailyReserve {
		return prefetchIdle, nil
	}
	if usage.LowPerSecond > 0 {
		target = min(target, usage.LowPerSecond)
	}
	var next time.Time
	if len(p.claimed) == 0 {
		due, err := p.Snapshots.Due(ctx, DueQuery{
			Source: p.Source, Now: now, PerSecond: float64(target), Limit: max(1, int(float64(target)*prefetchStep.Seconds())),
		})
		if err != nil {
			return prefetchIdle, err
		}
		p.claimed, next = due.Entities, due.Next
	}
	if len(p.claimed) > 0 {
		if _, err := p.Requester.Request(ctx, Request{Entities: p.claimed, Priority: domain.PriorityLow, Reason: ReasonPrefetch}); err != nil {
			return prefetchIdle, err
		}
		p.claimed = nil
	} else if next.IsZero() {
		return prefetchIdle, nil
	}
	return min(max(next.Sub(now), prefetchStep), prefetchIdle), nil
}

// standBack reports whether others go first, or enough waits for a while.
func (p *Prefetch) standBack(target int) bool {
	const ahead = 60
	return p.Lags.Lag(domain.PriorityHigh).Records > p.HighLag || p.Lags.Lag(domain.PriorityLow).Records > int64(ahead*target)
}
