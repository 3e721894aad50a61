package memory

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// longestCall is how long a call may last that was in flight when a process
// ended.
const longestCall = 30 * time.Second

// dearCall is what a call costs that nothing is known about.
const dearCall = 4

// held is the most that any endpoint of the bucket has spent of its period.
func (b *bucket) held(now time.Time) int {
	most := 0
	if now.Before(b.presumedAt.Add(quota.PeriodOf(b.limits))) {
		most = b.presumed
	}
	for _, p := range b.points {
		p.Expire(now)
		most = max(most, p.Held())
	}
	return most
}

// restore continues one stored window.
func (k *Quota) restore(w domain.QuotaWindow, now time.Time) {
	limits, ok := k.cfg.Buckets[w.Bucket]
	if !ok {
		return
	}
	w = lastMoments(w, limits, k.cfg.Concurrency, now)
	o := k.owners[w.Owner]
	if o == nil {
		o = newOwner(now)
		k.owners[w.Owner] = o
	}
	if now.Before(w.ParkedUntil) {
		o.gate.Restore(w.ParkedUntil)
	}
	b := newBucket(limits, quota.RestoreCount(limits, w, now, w.InFlight))
	b.presumed, b.presumedAt = w.Points, w.Touched
	o.buckets[w.Bucket] = b
}

// lastMoments fixes what is taken for true about the last moments of the
// process that stored w, and moves Touched to when its last calls can have
// been counted. If it left no word, as many calls as the owner may have in
// flight are taken to have been, dear ones, and every endpoint to have spent
// its whole minute as late as it could: at the window's end, or now. A
// secondary limit must hold through a loop of crashes.
func lastMoments(w domain.QuotaWindow, limits quota.Limits, concurrency int, now time.Time) domain.QuotaWindow {
	switch latest := w.Touched.Add(longestCall); {
	case w.Touched.IsZero():
		w.InFlight, w.Points, w.Touched = concurrency*dearCall, limits.PointsPerMinute, now
		if concurrency <= 0 {
			w.InFlight = w.Limit
		}
		if !w.Reset.IsZero() && w.Reset.Before(now) {
			w.Touched = w.Reset
		}
	case latest.Before(now):
		w.Touched = latest
	default:
		w.Touched = now
	}
	if !now.Before(w.Touched.Add(quota.PeriodOf(limits))) {
		w.Points = 0
	}
	return w
}
