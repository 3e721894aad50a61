package wiring

import (
	"time"

	"sluice/internal/quota"
)

// GitHubQuota is what GitHub grants a user, with the floor that owners keep
// for themselves.
func GitHubQuota(floor int) quota.Config {
	return quota.Config{
		Concurrency: 100,
		Buckets: map[string]quota.Limits{
			"core":    {Limit: 5000, Window: time.Hour, Floor: floor, PointsPerMinute: 900},
			"graphql": {Limit: 5000, Window: time.Hour, Floor: floor, PointsPerMinute: 2000, PointsShared: true},
			"search":  {Limit: 30, Window: time.Minute, PointsPerMinute: 900},
		},
	}
}

// NoQuota never refuses: for benchmarks and for sources without a ration.
func NoQuota() quota.Config {
	c := quota.Config{Buckets: map[string]quota.Limits{}, Concurrency: 1 << 30}
	for _, bucket := range []string{"core", "graphql", "search"} {
		c.Buckets[bucket] = quota.Limits{Limit: 1 << 40, Window: time.Hour, PointsPerMinute: 1 << 40}
	}
	return c
}
