package refresh

import (
	"time"

	"sluice/internal/domain"
)

// CoalescerTTLs says how long a coalescer remembers things. Zero fields are the
// defaults.
type CoalescerTTLs struct {
	// High and Low are how long a lock lasts that nobody releases: 30 s and 60 s
	// unless said otherwise.
	High, Low time.Duration
	// Version is how long the newest version of an entity is remembered after
	// the last ask that got one; 45 minutes unless said otherwise. It is longer
	// than requests wait in the log, so that obsolete ones are known as such.
	Version time.Duration
}

// WithDefaults returns them with the defaults in place.
func (t CoalescerTTLs) WithDefaults() CoalescerTTLs {
	if t.High <= 0 {
		t.High = 30 * time.Second
	}
	if t.Low <= 0 {
		t.Low = time.Minute
	}
	if t.Version <= 0 {
		t.Version = 45 * time.Minute
	}
	t.Version = max(t.Version, t.High, t.Low)
	return t
}

// Lock returns how long a lock of this priority lasts.
func (t CoalescerTTLs) Lock(p domain.Priority) time.Duration {
	if p == domain.PriorityHigh {
		return t.High
	}
	return t.Low
}

// CheckAsks says whether a coalescer understands asks; if it does not understand
// one, none is granted.
func CheckAsks(asks []Ask) error {
	for _, a := range asks {
		if a.Source == "" || a.Key == "" {
			return domain.Errorf(domain.CodeInvalid, "a refresh needs a source and a key, not %q", a.Entity)
		}
		if a.Priority != domain.PriorityHigh && a.Priority != domain.PriorityLow {
			return domain.Errorf(domain.CodeInvalid, "a refresh of %s is HIGH or LOW, not of priority %d", a.Entity, a.Priority)
		}
	}
	return nil
}
