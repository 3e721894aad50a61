// Package schedule says when an account is collected again. It is pure: all
// times are arguments, and nothing is remembered between two calls.
package schedule

import (
	"cmp"
	"time"

	"sluice/internal/domain"
)

// What holds where no policy says anything.
const (
	DefaultAfterSuccess = 5 * time.Minute
	DefaultAfterFailure = 30 * time.Minute
	// DefaultAfterQuota is nothing: whoever counts quota already waits until
	// the reset is certain.
	DefaultAfterQuota = time.Duration(0)
	DefaultSpread     = 10 * time.Minute
	// DefaultWindow is how long a quota window is taken to be if nobody knows.
	DefaultWindow = time.Hour
)

// Policy says when accounts are collected again. Zero fields leave it to the
// policy below: an account's lies over its source's, which lies over the
// default. With neither Every nor Cron, an account is collected again once the
// quota that the last run used is there again.
type Policy struct {
	// Off is whether the account is not collected again by itself; a run that
	// failed is not resumed by itself either.
	Off *bool `json:"off,omitempty" yaml:"off,omitempty"`
	// Every is how long after the last run began; it excludes Cron.
	Every Duration `json:"every,omitzero" yaml:"every,omitempty"`
	// Cron is five fields or a word such as @daily; it excludes Every. Each
	// local time that it names has exactly one run: the first of the two if
	// clocks are set back, the end of the gap if they are set forward over it.
	// With an hour field of * it follows the hours as they pass instead.
	Cron string `json:"cron,omitempty" yaml:"cron,omitempty"`
	// Zone is the time zone of Cron, and of Quiet unless those hours name one
	// of their own; the local zone if empty.
	Zone string `json:"zone,omitempty" yaml:"zone,omitempty"`
	// Quiet is the part of the day in which no run is begun.
	Quiet domain.Hours `json:"quiet,omitzero" yaml:"quiet,omitempty"`
	// AfterSuccess is how long after the quota's reset a new run begins.
	AfterSuccess *Duration `json:"after_success,omitempty" yaml:"after_success,omitempty"`
	// AfterFailure is how long after its end a run that failed is resumed.
	AfterFailure *Duration `json:"after_failure,omitempty" yaml:"after_failure,omitempty"`
	// AfterQuota is how long after the reset a run goes on that waits for quota.
	AfterQuota *Duration `json:"after_quota,omitempty" yaml:"after_quota,omitempty"`
	// Spread is by how much the starts of different accounts are moved apart
	// at most: each by its own share of it, the same each time. 0 is none. If
	// it is left open it is DefaultSpread, but at most a tenth of the time
	// between two runs, so that "every 5m" stays about that.
	Spread *Duration `json:"spread,omitempty" yaml:"spread,omitempty"`
}

// Over returns the policy that says what p says and, where p says nothing, what
// base says. Every and Cron go together: either of them replaces both.
func (p Policy) Over(base Policy) Policy {
	if p.Every == 0 && p.Cron == "" {
		p.Every, p.Cron = base.Every, base.Cron
	}
	p.Off = cmp.Or(p.Off, base.Off)
	p.Zone = cmp.Or(p.Zone, base.Zone)
	p.Quiet = cmp.Or(p.Quiet, base.Quiet)
	p.AfterSuccess = cmp.Or(p.AfterSuccess, base.AfterSuccess)
	p.AfterFailure = cmp.Or(p.AfterFailure, base.AfterFailure)
	p.AfterQuota = cmp.Or(p.AfterQuota, base.AfterQuota)
	p.Spread = cmp.Or(p.Spread, base.Spread)
	return p
}

// QuotaMargin returns AfterQuota, or what holds if it is left open.
func (p Policy) QuotaMargin() time.Duration { return orElse(p.AfterQuota, DefaultAfterQuota) }

// isOff reports whether nothing is planned.
func (p Policy) isOff() bool { return p.Off != nil && *p.Off }

// hours returns Quiet with its zone, which Zone is unless it names its own.
func (p Policy) hours() (domain.Hours, error) {
	if _, own := zoneOf(p.Quiet); own || p.Quiet.IsZero() || p.Zone == "" {
		return p.Quiet, nil
	}
	return domain.ParseHours(p.Quiet.String() + " " + p.Zone)
}

func orElse(d *Duration, fallback time.Duration) time.Duration {
	if d == nil {
		return fallback
	}
	return time.Duration(*d)
}
