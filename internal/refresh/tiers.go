package refresh

import (
	"cmp"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// TierOptions say how fresh the tiers are kept. Zero fields mean the defaults.
type TierOptions struct {
	// Hot, Warm and Cold are how long after a refresh the next is due: 1 h, 6 h
	// and 24 h.
	Hot, Warm, Cold time.Duration
	// HotFor and WarmFor are how long after the last read an entity is Hot, and
	// at least Warm: 24 h and 7 days.
	HotFor, WarmFor time.Duration
	// Of, if set, is how fresh one entity is kept; what is zero in it is as above.
	Of func(e Entity) source.Pace
}

// String returns the name that people and APIs see.
func (t Tier) String() string {
	switch t {
	case Cold:
		return "COLD"
	case Warm:
		return "WARM"
	case Hot:
		return "HOT"
	}
	return "unknown"
}

// Tiers says when an entity is due, by its tier and when it was read. Instants
// and times are microseconds, as stores keep them.
type Tiers struct {
	interval        map[Tier]int64
	hotFor, warmFor int64
	of              func(e Entity) source.Pace
}

// NewTiers checks options.
func NewTiers(o TierOptions) (Tiers, error) {
	const day = 24 * time.Hour
	o.Hot, o.Warm, o.Cold = cmp.Or(o.Hot, time.Hour), cmp.Or(o.Warm, 6*time.Hour), cmp.Or(o.Cold, day)
	o.HotFor, o.WarmFor = cmp.Or(o.HotFor, day), cmp.Or(o.WarmFor, 7*day)
	if o.Hot <= 0 || o.Warm < o.Hot || o.Cold < o.Warm || o.HotFor <= 0 || o.WarmFor < o.HotFor {
		return Tiers{}, domain.Errorf(domain.CodeInvalid, "tiers need positive times, longer the colder they are; got %+v", o)
	}
	return Tiers{
		interval: map[Tier]int64{Hot: o.Hot.Microseconds(), Warm: o.Warm.Microseconds(), Cold: o.Cold.Microseconds()},
		hotFor:   o.HotFor.Microseconds(), warmFor: o.WarmFor.Microseconds(), of: o.Of,
	}, nil
}

// For are the tiers of one entity.
func (t Tiers) For(e Entity) Tiers {
	if t.of == nil {
		return t
	}
	own := t
	p := t.of(e)
	own.interval = map[Tier]int64{}
	for tier, d := range map[Tier]time.Duration{Hot: p.Hot, Warm: p.Warm, Cold: p.Cold} {
		if own.interval[tier] = d.Microseconds(); d <= 0 {
			own.interval[tier] = t.interval[tier]
		}
	}
	return own
}

// Interval is how long after a refresh an entity of a tier is due again.
func (t Tiers) Interval(tier Tier) int64 { return t.interval[tier] }

// Fallen is the tier of an entity that was last read at an instant: the one it
// had, or a colder one.
func (t Tiers) Fallen(tier Tier, readAt, now int64) Tier {
	switch {
	case now-readAt <= t.hotFor:
		return tier
	case now-readAt <= t.warmFor:
		return min(tier, Warm)
	}
	return Cold
}

// Sooner is how much sooner a Hot entity is due than one of a tier.
func (t Tiers) Sooner(tier Tier) int64 { return t.interval[tier] - t.interval[Hot] }
