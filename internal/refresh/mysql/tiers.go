package mysql

import (
	"cmp"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Options say how fresh the tiers are kept. Zero fields mean the defaults.
type Options struct {
	// Hot, Warm and Cold are how long after a refresh the next is due: 1 h, 6 h
	// and 24 h.
	Hot, Warm, Cold time.Duration
	// HotFor and WarmFor are how long after the last read an entity is Hot, and
	// at least Warm: 24 h and 7 days.
	HotFor, WarmFor time.Duration
}

var tierNames = map[refresh.Tier]string{refresh.Cold: "COLD", refresh.Warm: "WARM", refresh.Hot: "HOT"}

// tiers are checked options, in microseconds.
type tiers struct {
	interval        map[refresh.Tier]int64
	hotFor, warmFor int64
}

func newTiers(o Options) (tiers, error) {
	const day = 24 * time.Hour
	o.Hot, o.Warm, o.Cold = cmp.Or(o.Hot, time.Hour), cmp.Or(o.Warm, 6*time.Hour), cmp.Or(o.Cold, day)
	o.HotFor, o.WarmFor = cmp.Or(o.HotFor, day), cmp.Or(o.WarmFor, 7*day)
	if o.Hot <= 0 || o.Warm < o.Hot || o.Cold < o.Warm || o.HotFor <= 0 || o.WarmFor < o.HotFor {
		return tiers{}, domain.Errorf(domain.CodeInvalid, "tiers must be kept fresh for positive times, the colder the longer; got %+v", o)
	}
	return tiers{
		interval: map[refresh.Tier]int64{refresh.Hot: o.Hot.Microseconds(), refresh.Warm: o.Warm.Microseconds(), refresh.Cold: o.Cold.Microseconds()},
		hotFor:   o.HotFor.Microseconds(), warmFor: o.WarmFor.Microseconds(),
	}, nil
}

// fallen is the tier of an entity that was last read at an instant: the one it
// had, or a colder one.
func (t tiers) fallen(tier refresh.Tier, readAt, now int64) refresh.Tier {
	switch {
	case now-readAt <= t.hotFor:
		return tier
	case now-readAt <= t.warmFor:
		return min(tier, refresh.Warm)
	}
	return refresh.Cold
}

// sooner is how much sooner a Hot entity is due than one of a tier.
func (t tiers) sooner(tier refresh.Tier) int64 { return t.interval[tier] - t.interval[refresh.Hot] }
