package wiring

import (
	"cmp"
	"time"

	"sluice/internal/config"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// Rations are what the upstreams of sources grant, with what was set about it.
func Rations(of []source.Description, set config.Quota) (quota.Config, error) {
	limits, err := source.Quota(of, set.Floor)
	for name, bucket := range limits.Buckets {
		bucket.Limit = min(bucket.Limit, cmp.Or(set.Limit, bucket.Limit))
		bucket.Window = min(bucket.Window, cmp.Or(set.Window, bucket.Window))
		if bucket.PointsPeriod > 0 {
			// It says itself how long its minute is, as sources that files declare do.
			limits.Buckets[name] = bucket
			continue
		}
		// Where an hour is said to be shorter than a minute, so is the minute.
		bucket.PointsPeriod = min(time.Minute, bucket.Window)
		bucket.PointsPerMinute = cmp.Or(set.PointsPerMinute, bucket.PointsPerMinute)
		limits.Buckets[name] = bucket
	}
	return limits, err
}

// NoQuota is for sources without a ration, and for benchmarks: nothing is
// counted.
func NoQuota() quota.Config { return quota.Config{} }
