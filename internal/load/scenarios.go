package load

// Scenarios lists all of them in their order.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "normal-load", Description: "HIGH 50/s and LOW 200/s are asked for while 2,000/s are read: readers do not notice",
			instances: 4, seconds: 5, run: normalLoad},
		{Name: "peak-load", Description: "HIGH 200/s and LOW 300/s are asked for, more than the upstream allows: all but a tenth of its limit is used, never more",
			instances: 4, seconds: 10, run: peakLoad},
		{Name: "thundering-herd", Description: "1,000 requests for one entity at once, and 1,000 reads of another: one call each",
			instances: 4, run: thunderingHerd},
		{Name: "worker-killed", Description: "one of three workers vanishes in the middle of its work: the others store what it had taken",
			instances: 3, seconds: 4, run: workerKilled},
		{Name: "slow-store", Description: "every access to the store takes 10 s for a while: readers do not notice, requests are accepted, nothing is done before it is stored",
			instances: 2, seconds: 5, run: slowStore},
		{Name: "stale-loop", Description: "entities that do not change are refreshed again and again: only the time of the check moves, and they count as fresh",
			instances: 2, run: staleLoop},
		{Name: "priority-inversion", Description: "LOW requests wait when HIGH ones for the same entities come: HIGH takes over, LOW is obsolete",
			instances: 2, run: priorityInversion},
		{Name: "atomic-buckets", Description: "LOW has used up its share and goes on asking: what it is refused costs HIGH nothing",
			instances: 4, seconds: 2, run: atomicBuckets},
		{Name: "slow-log", Description: "publishing to the log takes 1 s for a while: readers do not notice, nothing is lost",
			instances: 2, seconds: 4, run: slowLog},
		{Name: "redis-down", Description: "nobody hands out locks and calls for a while: requests are refused, no call is made, readers do not notice",
			instances: 2, seconds: 4, run: redisDown},
		{Name: "low-cap", Description: "only LOW is asked for, more than it may have: it never gets more than 350 calls a second",
			instances: 4, seconds: 3, run: lowCap},
		{Name: "dedup-race", Description: "10 instances ask for the same 1,000 entities at once: 1,000 are published",
			instances: 10, run: dedupRace},
		{Name: "version-order", Description: "10 instances get versions of the same entities: none twice, none smaller than an earlier one",
			instances: 10, seconds: 2, run: versionOrder},
		{Name: "cluster-slots", Description: "locks, versions and calls on a Redis Cluster: every script finds its keys on one node",
			instances: 4, cluster: true, run: clusterSlots},
		{Name: "release-race", Description: "a lock is given up by many at once: it is given to the next exactly once, and an old holder cannot give up a new one's",
			instances: 4, run: releaseRace},
		{Name: "lane-isolation", Description: "a long backlog of LOW waits: HIGH goes past it",
			instances: 4, seconds: 3, run: laneIsolation},
	}
}
