package config

import (
	"sluice/internal/engine"
	"sluice/internal/refresh"
	"sluice/internal/webhook"
)

// Engine adds what was set to what code says to an engine. What own has already
// is left as it is.
func (c Config) Engine(own engine.Config) engine.Config {
	fill(&own.Workers, c.Collect.Workers)
	fill(&own.Lease, c.Collect.Lease)
	fill(&own.Retention, c.Collect.KeepJobs)
	fill(&own.ChangesKept, c.Collect.KeepChanges)
	fill(&own.PoolTokens, c.Quota.PoolTokens)
	fill(&own.RequestsOnly, !c.Service.Roles.Has(RoleWorker))
	fill(&own.Shared, c.Servers.Shared())
	return own
}

// Webhooks adds what was set to what code says to the sender of webhooks.
func (c Config) Webhooks(own webhook.Options) webhook.Options {
	fill(&own.Secret, c.Timers.WebhookSecret)
	fill(&own.AllowPrivate, c.Timers.AllowPrivate)
	return own
}

// Refreshes adds what was set to what code says to a refresh pipeline.
func (c Config) Refreshes(own refresh.Settings) refresh.Settings {
	fill(&own.Works, c.Service.Roles.Has(RoleRefresh))
	fill(&own.FreshFor, c.Refresh.FreshFor)
	fill(&own.Prefetches, c.Service.Roles.Has(RoleScheduler) && c.Refresh.Prefetch != 0)
	if perSecond := c.Refresh.Prefetch; perSecond > 0 && own.PerSecond == nil {
		own.PerSecond = func(int) int { return perSecond }
	}
	return own
}

// fill sets a field that nobody has set.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
