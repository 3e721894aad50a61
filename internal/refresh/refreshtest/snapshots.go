package refreshtest

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/source"
)

// SnapshotsInstance is an open store and what a case may do to it. Its tiers are those
// of Tiers.
type SnapshotsInstance struct {
	refresh.Snapshots
	// Reopen closes the store and opens it again.
	Reopen func(t *testing.T) *SnapshotsInstance
}

// slowSource is the source whose entities are kept otherwise than all others.
const slowSource = "slow"

// slowPace is how.
var slowPace = source.Pace{Hot: 10 * time.Hour, Warm: 20 * time.Hour, Cold: 48 * time.Hour}

// Tiers are the tiers of the stores: those by default, but for the entities of one source.
func Tiers() refresh.TierOptions {
	return refresh.TierOptions{Of: func(e refresh.Entity) source.Pace {
		if e.Source == slowSource {
			return slowPace
		}
		return source.Pace{}
	}}
}

// SnapshotsFactory opens stores for the cases.
type SnapshotsFactory struct {
	// New opens an empty store that nothing else uses. The store is closed
	// when the test ends.
	New func(t *testing.T) *SnapshotsInstance
}

// RunSnapshots runs every case.
func RunSnapshots(t *testing.T, f SnapshotsFactory) {
	for _, c := range slices.Concat(saveCases, statusCases, dueCases, paceCases, letterCases, historyCases, requestCases, crowdCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(&fixture{TB: t, SnapshotsInstance: f.New(t), t: t})
		})
	}
	t.Run("Rules", func(t *testing.T) {
		t.Parallel()
		checkRules(&fixture{TB: t, SnapshotsInstance: f.New(t), t: t})
	})
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		checkModel(&fixture{TB: t, SnapshotsInstance: f.New(t), t: t})
	})
}

type testCase struct {
	name  string
	check func(*fixture)
}

// fixture is a store and the words the cases are written in.
type fixture struct {
	testing.TB
	*SnapshotsInstance
	t *testing.T
}

// reopen goes on with the same data in a store that was opened anew.
func (x *fixture) reopen() {
	x.Helper()
	x.SnapshotsInstance = x.Reopen(x.t)
}

// start is when the cases begin. It has microseconds that do not end in zeros,
// so that a store that keeps less is found out.
var start = time.Date(2020, 3, 1, 12, 0, 0, 123457000, time.UTC)

// after is an instant of a case.
func after(d time.Duration) time.Time { return start.Add(d) }

// The intervals of the tiers, and how long after a read an entity is in them.
const (
	hot, warm, cold = time.Hour, 6 * time.Hour, 24 * time.Hour
	hotFor, warmFor = 24 * time.Hour, 7 * 24 * time.Hour
)

func (x *fixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

func (x *fixture) wantCode(err error, code domain.Code) {
	x.Helper()
	if domain.CodeOf(err) != code {
		x.Fatalf("got error %v of code %q, want code %q", err, domain.CodeOf(err), code)
	}
}

func want[T any](x *fixture, what string, got, expected T) {
	x.Helper()
	if !reflect.DeepEqual(got, expected) {
		x.Fatalf("%s: got %+v, want %+v", what, got, expected)
	}
}

func entity(key string) refresh.Entity { return refresh.Entity{Source: "shop", Key: key} }

// brought is what a refresh brought.
func brought(key string, version int64, at time.Time, body string) refresh.Refreshed {
	return refresh.Refreshed{Entity: entity(key), Version: version, At: at, Body: []byte(body), Hash: sha256.Sum256([]byte(body))}
}

// snapshot is how something that was brought, and looked at again, is shown.
func snapshot(r refresh.Refreshed, checked time.Time, tier refresh.Tier) refresh.Snapshot {
	return refresh.Snapshot{Entity: r.Entity, Body: r.Body, Hash: r.Hash, Version: r.Version, CheckedAt: checked, UpdatedAt: r.At, Tier: tier}
}

// value is how something that was brought is listed.
func value(r refresh.Refreshed) refresh.Value {
	return refresh.Value{Entity: r.Entity, Version: r.Version, StoredAt: r.At, Body: r.Body, Hash: r.Hash}
}

// save returns what became of each.
func (x *fixture) save(refreshed ...refresh.Refreshed) []refresh.Saved {
	x.Helper()
	saved, err := x.Save(x.Context(), refreshed)
	x.ok(err)
	want(x, "answers", len(saved), len(refreshed))
	return saved
}

// store saves what must be new.
func (x *fixture) store(refreshed ...refresh.Refreshed) {
	x.Helper()
	for i, s := range x.save(refreshed...) {
		want(x, "saved "+refreshed[i].Key, s, refresh.Stored)
	}
}

// wantSnapshot checks a snapshot that must be there.
func (x *fixture) wantSnapshot(expected refresh.Snapshot) {
	x.Helper()
	got, ok, _, err := x.Snapshot(x.Context(), expected.Entity)
	x.ok(err)
	want(x, "there is a snapshot of "+expected.Key, ok, true)
	want(x, "the snapshot", got, expected)
}

func (x *fixture) status(key string) *refresh.Status {
	x.Helper()
	_, _, status, err := x.Snapshot(x.Context(), entity(key))
	x.ok(err)
	return status
}

// keysOf returns the keys of entities.
func keysOf(entities []refresh.Entity) []string {
	keys := []string{}
	for _, e := range entities {
		keys = append(keys, e.Key)
	}
	return keys
}

func (x *fixture) due(now time.Time, limit int) []string {
	x.Helper()
	due, err := x.Due(x.Context(), refresh.DueQuery{Source: "shop", Now: now, Limit: limit})
	x.ok(err)
	return keysOf(due.Entities)
}

func (x *fixture) read(at time.Time, keys ...string) {
	x.Helper()
	var reads []refresh.Read
	for _, key := range keys {
		reads = append(reads, refresh.Read{Entity: entity(key), At: at})
	}
	x.ok(x.Read(x.Context(), reads))
}

// listed lists the whole history in pages, and returns the last cursor.
func (x *fixture) listed(before time.Time, page int) (values []refresh.Value, last string) {
	x.Helper()
	for {
		some, next, err := x.Values(x.Context(), before, last, page)
		x.ok(err)
		if len(some) > page {
			x.Fatalf("%d values in a page of %d", len(some), page)
		}
		if len(some) == 0 {
			want(x, "the cursor after the last", next, last)
			return values, last
		}
		values, last = append(values, some...), next
	}
}

// far is after everything.
var far = start.Add(1000 * time.Hour)

// together runs fn in a crowd and waits for all.
func together(n int, fn func(i int)) {
	begin, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			<-begin
			fn(i)
			done <- struct{}{}
		}()
	}
	close(begin)
	for range n {
		<-done
	}
}

func keyOf(i int) string { return fmt.Sprintf("key-%05d", i) }
