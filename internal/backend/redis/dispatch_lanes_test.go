package redis_test

import (
	"slices"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/testkit"
)

// TestLaneNames: a name is not taken for the beginning of another, whatever is
// in it.
func TestLaneNames(t *testing.T) {
	t.Parallel()
	names := []string{"a", "a0", "a01", "1:a", "", "0", "a 1", "a\x00b", "a\n", "Zürich", "\xff\xfe", "a0117631871200000010:1"}
	d := openDispatcher(t, testkit.Redis(t), testkit.Prefix(t), redis.DispatcherOptions{})
	var entries []dispatch.Entry
	for i, name := range names {
		entries = append(entries, entry(name, int64(i)), entry(name, int64(100+i)))
	}
	push(t, d, entries...)
	for round := range int64(2) {
		leases, err := d.Lease(t.Context(), len(names))
		if err != nil || len(leases) != len(names) {
			t.Fatalf("leased %+v, %v", leases, err)
		}
		for i, l := range leases {
			if l.Lane != names[i] || l.ID != dispatch.JobID(100*round+int64(i)) {
				t.Errorf("leased %+v, want lane %q", l, names[i])
			}
		}
	}
	s, err := d.Stats(t.Context())
	if err != nil || len(s.Lanes) != len(names) {
		t.Fatalf("statistics are %+v, %v", s, err)
	}
	slices.Sort(names)
	for i, l := range s.Lanes {
		if l.Lane != names[i] || l.Ready != 0 || l.Leased != 2 {
			t.Errorf("statistics are %+v, want those of %q", l, names[i])
		}
	}
}

// TestManyDueAtOnce: more than one script takes care of keep their order.
func TestManyDueAtOnce(t *testing.T) {
	t.Parallel()
	const jobs = 3000
	clock := newClock()
	d := openDispatcher(t, testkit.Redis(t), testkit.Prefix(t), redis.DispatcherOptions{Clock: clock})
	entries := make([]dispatch.Entry, jobs)
	for i := range entries {
		entries[i] = dueAt(int64(jobs-i), clock.Now().Add(time.Second))
	}
	push(t, d, entries...)
	clock.Advance(time.Second - time.Millisecond)
	if s, err := d.Stats(t.Context()); err != nil || s.Due != jobs {
		t.Fatalf("before the instant: %+v, %v", s, err)
	}
	clock.Advance(time.Millisecond)
	var all []dispatch.Lease
	for len(all) < jobs {
		leases, err := d.Lease(t.Context(), jobs)
		if err != nil || len(leases) == 0 {
			t.Fatalf("after %d jobs: leased %v, %v", len(all), leases, err)
		}
		all = append(all, leases...)
	}
	for i, l := range all {
		if l.ID != dispatch.JobID(int64(jobs-i)) {
			t.Fatalf("%s came as number %d", l.ID, i)
		}
	}
	if lost, err := d.Renew(t.Context(), all...); err != nil || len(lost) > 0 {
		t.Errorf("%d of %d leases are lost, %v", len(lost), jobs, err)
	}
	finish(t, d, all)
	if lost, err := d.Renew(t.Context(), all...); err != nil || len(lost) != jobs {
		t.Errorf("%d of %d leases are lost, %v", len(lost), jobs, err)
	}
	if s, err := d.Stats(t.Context()); err != nil || s.Ready+s.Due+s.Leased+len(s.Lanes) > 0 {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}
