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

// NoQuota is for sources without a ration, and for benchmarks: nothing is
// counted.
func NoQuota() quota.Config { return quota.Config{} }
