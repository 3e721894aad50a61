package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sluice/internal/quota"
)

// ration adds up the windows of one bucket over all owners.
type ration struct{ owners, parked, limit, available, inFlight int }

func (r *ration) add(w *quota.Window, now time.Time) {
	r.owners++
	if w.ParkedUntil.After(now) {
		r.parked++
	}
	r.limit += w.Limit
	r.available += max(w.Available, 0)
	r.inFlight += w.InFlight
}

func exportQuota(e exporter, windows []quota.Window, named int, now time.Time) {
	buckets := map[string]*ration{}
	for i := range windows {
		b := buckets[windows[i].Bucket]
		if b == nil {
			b = &ration{}
			buckets[windows[i].Bucket] = b
		}
		b.add(&windows[i], now)
	}
	for _, name := range slices.Sorted(maps.Keys(buckets)) {
		b := buckets[name]
		e.gauge("sluice_quota_owners", float64(b.owners), name)
		e.gauge("sluice_quota_owners_parked", float64(b.parked), name)
		e.gauge("sluice_quota_limit", float64(b.limit), name)
		e.gauge("sluice_quota_available", float64(b.available), name)
		e.gauge("sluice_quota_in_flight", float64(b.inFlight), name)
	}
	if named > 0 {
		exportOwners(e, windows, named, now)
	}
}

// exportOwners tells of owners by their names, which are salted hashes. So many
// have a name of their own: those that have the least left of their ration. The
// rest is told together as other.
func exportOwners(e exporter, windows []quota.Window, named int, now time.Time) {
	chosen := scarcest(windows, named)
	rest := map[string]*ration{}
	earliest := map[string]time.Time{}
	for i := range windows {
		w := &windows[i]
		if _, ok := chosen[w.Owner]; !ok {
			if rest[w.Bucket] == nil {
				rest[w.Bucket] = &ration{}
			}
			rest[w.Bucket].add(w, now)
			if at := earliest[w.Bucket]; !w.Reset.IsZero() && (at.IsZero() || w.Reset.Before(at)) {
				earliest[w.Bucket] = w.Reset
			}
			continue
		}
		one := ration{}
		one.add(w, now)
		exportOwner(e, w.Owner, w.Bucket, &one, w.Reset)
	}
	for bucket, all := range rest {
		exportOwner(e, other, bucket, all, earliest[bucket])
	}
}

func exportOwner(e exporter, owner, bucket string, r *ration, reset time.Time) {
	e.gauge("sluice_quota_owner_limit", float64(r.limit), owner, bucket)
	e.gauge("sluice_quota_owner_available", float64(r.available), owner, bucket)
	e.gauge("sluice_quota_owner_parked", float64(r.parked), owner, bucket)
	if !reset.IsZero() {
		e.gauge("sluice_quota_owner_reset_timestamp_seconds", seconds(reset), owner, bucket)
	}
}

// scarcest chooses the owners with the least share left in any of their buckets;
// of equals, by name, so that the choice stays the same while nothing changes.
func scarcest(windows []quota.Window, most int) map[string]struct{} {
	left := map[string]float64{}
	for i := range windows {
		w := &windows[i]
		share := float64(max(w.Available, 0)) / float64(max(w.Limit, 1))
		if before, met := left[w.Owner]; !met || share < before {
			left[w.Owner] = share
		}
	}
	owners := slices.SortedFunc(maps.Keys(left), func(a, b string) int {
		return cmp.Or(cmp.Compare(left[a], left[b]), cmp.Compare(a, b))
	})
	chosen := map[string]struct{}{}
	for _, owner := range owners[:min(most, len(owners))] {
		chosen[owner] = struct{}{}
	}
	return chosen
}

// seconds is an instant as Prometheus has it.
func seconds(at time.Time) float64 { return float64(at.UnixNano()) / float64(time.Second) }
