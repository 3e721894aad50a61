package refresh

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/ration/keeper"
)

// Overview tells how the pipeline stands.
type Overview struct {
	Sources []SourceOverview `json:"sources" nullable:"false"`
	Lags    map[string]Lag   `json:"lags"`
	// Breakers are closed, half-open or open.
	Breakers map[string]backoff.BreakerState `json:"breakers"`
	// Dead counts dead letters by cause.
	Dead map[string]int64 `json:"dead_letters"`
	// Waiting is how many requests wait for the upstream.
	Waiting int64 `json:"waits_for_upstream"`
	// Recent are some of the entities that this process was asked for last, the latest
	// first.
	Recent []Entity `json:"recent,omitempty"`
}

// SourceOverview is one upstream's part.
type SourceOverview struct {
	Source string     `json:"source"`
	Rate   rate.Usage `json:"rate"`
	// RateError tells why the rate is not known, while it is not.
	RateError string `json:"rate_error,omitempty"`
	Counts    Counts `json:"counts"`
	// CountedAt is when the snapshots were counted.
	CountedAt time.Time `json:"counted_at,omitzero"`
}

// Breakers tells how the breakers stand.
func (l *Pipeline) Breakers() map[string]backoff.BreakerState {
	out := make(map[string]backoff.BreakerState, len(l.breakers))
	for name, b := range l.breakers {
		out[name] = b.State()
	}
	return out
}

// Lags returns the last figures of how far the workers are behind.
func (l *Pipeline) Lags() map[string]Lag {
	return map[string]Lag{
		domain.PriorityHigh.String(): l.lags.Shown(domain.PriorityHigh), domain.PriorityLow.String(): l.lags.Shown(domain.PriorityLow),
	}
}

// Waiting is how many requests wait for an instant at which the upstream may be
// asked again, as it was last counted.
func (l *Pipeline) Waiting() int64 { return l.waker.Waiting() }

// Overview tells how the pipeline stands.
func (l *Pipeline) Overview(ctx context.Context) (Overview, error) {
	lags := l.Lags()
	out := Overview{Sources: []SourceOverview{}, Lags: lags, Breakers: l.Breakers(), Recent: l.reader.latest.all()}
	for _, name := range slices.Sorted(maps.Keys(l.Upstreams)) {
		one := SourceOverview{Source: name}
		var err error
		if one.Counts, one.CountedAt, err = l.counts.of(ctx, name); err != nil {
			return out, err
		}
		// While nobody knows the rate, the rest is worth telling all the more.
		if one.Rate, err = l.usage(ctx, name); err != nil {
			one.RateError = err.Error()
		}
		out.Sources = append(out.Sources, one)
	}
	var err error
	if out.Waiting, err = l.Snapshots.Waiting(ctx); err != nil {
		return out, err
	}
	out.Dead, err = l.Snapshots.DeadLetterCounts(ctx)
	return out, err
}

// usageTime is how long the rate may take to answer somebody who looks.
const usageTime = 2 * time.Second

func (l *Pipeline) usage(ctx context.Context, name string) (rate.Usage, error) {
	limited, cancel := context.WithTimeout(ctx, usageTime)
	defer cancel()
	return l.Rate.Usage(limited, name)
}

// Counting reads every row. Counts are used for countShare times as long as it
// took to count, between countAge and longestCountAge: few rows are counted anew
// for everybody who looks, and many cost little.
const (
	countShare      = 100
	countAge        = time.Second
	longestCountAge = time.Minute
)

// counted counts snapshots, seldom. Of several who ask one counts, and those who
// come while it does get what was counted before.
type counted struct {
	snapshots Entities
	now       func() time.Time

	first keeper.Turn
	mu    sync.Mutex
	by    map[string]count
	busy  map[string]bool
}

type count struct {
	Counts
	at time.Time
	// age is how long they are used.
	age time.Duration
}

func (c *counted) of(ctx context.Context, source string) (Counts, time.Time, error) {
	known, ok := c.known(source)
	if !ok {
		// Nobody has counted: one does, and the others wait for it.
		if err := c.first.Take(ctx); err != nil {
			return Counts{}, time.Time{}, err
		}
		defer c.first.End()
		if known, ok = c.known(source); !ok {
			return c.renew(ctx, source)
		}
	}
	c.mu.Lock()
	old := !c.busy[source] && c.now().Sub(known.at).Abs() >= known.age
	if old {
		c.busy[source] = true
	}
	c.mu.Unlock()
	if old {
		go func() {
			// It is for those who ask next.
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestCountAge)
			defer cancel()
			_, _, _ = c.renew(limited, source)
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.busy, source)
		}()
	}
	return known.Counts, known.at, nil
}

func (c *counted) known(source string) (count, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.by[source]
	return known, ok
}

func (c *counted) renew(ctx context.Context, source string) (Counts, time.Time, error) {
	began := c.now()
	counts, err := c.snapshots.Counts(ctx, source)
	if err != nil {
		return counts, time.Time{}, err
	}
	at := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[source] = count{counts, at, min(max(countShare*at.Sub(began), countAge), longestCountAge)}
	return counts, at, nil
}
