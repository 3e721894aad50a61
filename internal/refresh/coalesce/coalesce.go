// Package coalesce is what the coalescers share: how long locks last, and which
// asks they understand.
package coalesce

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Lives says how long things are remembered. Zero fields are the defaults.
type Lives struct {
	// High and Low are how long a lock lasts that nobody releases: 30 s and 60 s
	// unless said otherwise.
	High, Low time.Duration
	// Version is how long the newest version of an entity is remembered after
	// the last ask that got one; 45 minutes unless said otherwise. It is longer
	// than requests wait in the log, so that obsolete ones are known as such.
	Version time.Duration
}

// Or returns the lives with the defaults in place.
func (l Lives) Or() Lives {
	if l.High <= 0 {
		l.High = 30 * time.Second
	}
	if l.Low <= 0 {
		l.Low = time.Minute
	}
	if l.Version <= 0 {
		l.Version = 45 * time.Minute
	}
	l.Version = max(l.Version, l.High, l.Low)
	return l
}

// Lock returns how long a lock of this priority lasts.
func (l Lives) Lock(p domain.Priority) time.Duration {
	if p == domain.PriorityHigh {
		return l.High
	}
	return l.Low
}

// Check says whether asks can be understood; if one cannot, none is granted.
func Check(asks []refresh.Ask) error {
	for _, a := range asks {
		if a.Source == "" || a.Key == "" {
			return domain.Errorf(domain.CodeInvalid, "a refresh names a source and a key, not %q", a.Entity)
		}
		if a.Priority != domain.PriorityHigh && a.Priority != domain.PriorityLow {
			return domain.Errorf(domain.CodeInvalid, "a refresh of %s is HIGH or LOW, not of priority %d", a.Entity, a.Priority)
		}
	}
	return nil
}
