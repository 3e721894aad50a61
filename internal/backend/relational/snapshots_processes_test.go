package relational_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/testkit"
)

// snapshotsTwins are two processes on one database that take turns.
type snapshotsTwins struct {
	*relational.Snapshots
	other *relational.Snapshots
	turn  atomic.Int64
}

func (t *snapshotsTwins) next() *relational.Snapshots {
	if t.turn.Add(1)%2 == 0 {
		return t.other
	}
	return t.Snapshots
}

func (t *snapshotsTwins) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Snapshot, bool, *refresh.Status, error) {
	return t.next().Snapshot(ctx, e)
}

func (t *snapshotsTwins) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	return t.next().Save(ctx, refreshed)
}

func (t *snapshotsTwins) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	return t.next().SetStatus(ctx, statuses)
}

func (t *snapshotsTwins) Read(ctx context.Context, reads []refresh.Read) error {
	return t.next().Read(ctx, reads)
}

func (t *snapshotsTwins) Due(ctx context.Context, q refresh.DueQuery) (refresh.Due, error) {
	return t.next().Due(ctx, q)
}

func (t *snapshotsTwins) Wake(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]refresh.Pending, time.Time, error) {
	return t.next().Wake(ctx, now, lease, limit)
}

func (t *snapshotsTwins) Values(ctx context.Context, before time.Time, after string, limit int) ([]refresh.Value, string, error) {
	return t.next().Values(ctx, before, after, limit)
}

func (t *snapshotsTwins) Forget(ctx context.Context, upTo string) (int, error) {
	return t.next().Forget(ctx, upTo)
}

func (t *snapshotsTwins) RemoveDeadLetters(ctx context.Context, ids []string) ([]refresh.DeadLetter, error) {
	return t.next().RemoveDeadLetters(ctx, ids)
}

// TestSnapshotsConformanceOfTwoProcesses: everything that one process promises, two
// processes promise that do half of it each.
func TestSnapshotsConformanceOfTwoProcesses(t *testing.T) {
	t.Parallel()
	someServer(t, testSnapshotsConformanceOfTwoProcesses)
}

func testSnapshotsConformanceOfTwoProcesses(t *testing.T, on server) {
	var pair func(t *testing.T, url string) *refreshtest.SnapshotsInstance
	pair = func(t *testing.T, url string) *refreshtest.SnapshotsInstance {
		return &refreshtest.SnapshotsInstance{
			Snapshots: &snapshotsTwins{Snapshots: newSnapshots(t, open(t, url)), other: newSnapshots(t, open(t, url))},
			Reopen:    func(t *testing.T) *refreshtest.SnapshotsInstance { return pair(t, url) },
		}
	}
	refreshtest.RunSnapshots(t, refreshtest.SnapshotsFactory{New: func(t *testing.T) *refreshtest.SnapshotsInstance { return pair(t, on.fresh(t)) }})
}

// TestTwoProcessesSaveTheSameEntities at the same time, each in another order,
// new ones and old ones mixed: the larger version wins, and nobody is told of a
// deadlock.
func TestTwoProcessesSaveTheSameEntities(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesSaveTheSameEntities)
}

func testTwoProcessesSaveTheSameEntities(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.Snapshots{newSnapshots(t, open(t, url)), newSnapshots(t, open(t, url))}
	const size = 60
	for round := range testkit.Effort(8, 60) {
		var all sync.WaitGroup
		for process, s := range stores {
			all.Go(func() {
				part := make([]refresh.Refreshed, size)
				for i := range part {
					k := i
					if process == 1 {
						k = size - 1 - i
					}
					body := fmt.Appendf(nil, "%d of %d", process, round)
					part[i] = refresh.Refreshed{
						// Half of them are met for the first time.
						Entity:  refresh.Entity{Source: "shop", Key: fmt.Sprint(k + round*size/2)},
						Version: int64(2*round + 1 + (process+k)%2), At: start, Body: body, Hash: sha256.Sum256(body),
					}
				}
				if _, err := s.Save(t.Context(), part); err != nil {
					t.Errorf("process %d: %v", process, err)
				}
			})
		}
		all.Wait()
		for k := range size {
			got, ok, _, err := stores[0].Snapshot(t.Context(), refresh.Entity{Source: "shop", Key: fmt.Sprint(k + round*size/2)})
			winner := fmt.Sprintf("%d of %d", (k+1)%2, round)
			if err != nil || !ok || got.Version != int64(2*round+2) || string(got.Body) != winner {
				t.Fatalf("round %d, entity %d: version %d, %q, want %q; %v", round, k, got.Version, got.Body, winner, err)
			}
		}
	}
}

// TestSnapshotsServerThatIsGone: everything says that it may be tried again, and can be
// when the server is back.
func TestSnapshotsServerThatIsGone(t *testing.T) {
	t.Parallel()
	eachServer(t, testSnapshotsServerThatIsGone)
}

func testSnapshotsServerThatIsGone(t *testing.T, on server) {
	server := on.start(t)
	s := newSnapshots(t, open(t, server.URL()))
	e := refresh.Entity{Source: "shop", Key: "a"}
	save := []refresh.Refreshed{{Entity: e, Version: 1, At: start, Body: []byte("1"), Hash: refresh.Hash{1}}}
	if _, err := s.Save(t.Context(), save); err != nil {
		t.Fatalf("save: %v", err)
	}
	server.Kill()
	ctx, errs := t.Context(), map[string]error{}
	_, _, _, errs["snapshot"] = s.Snapshot(ctx, e)
	_, errs["save"] = s.Save(ctx, save)
	errs["status"] = s.SetStatus(ctx, []refresh.VersionedStatus{{Status: refresh.Status{Entity: e, Code: refresh.StatusFailed}, Version: 1}})
	errs["read"] = s.Read(ctx, []refresh.Read{{Entity: e, At: start}})
	_, errs["due"] = s.Due(ctx, refresh.DueQuery{Source: "shop", Now: start, Limit: 1})
	_, errs["counts"] = s.Counts(ctx, "shop")
	errs["bury"] = s.AddDeadLetters(ctx, []refresh.DeadLetter{{ID: "a"}})
	_, errs["letter"] = s.DeadLetter(ctx, "a")
	_, errs["letters"] = s.DeadLetterList(ctx, refresh.DeadLetterQuery{})
	_, errs["letter counts"] = s.DeadLetterCounts(ctx)
	_, errs["unbury"] = s.RemoveDeadLetters(ctx, []string{"a"})
	_, errs["age out"] = s.AgeOut(ctx, start, 1)
	_, _, errs["values"] = s.Values(ctx, start, "", 1)
	_, errs["forget"] = s.Forget(ctx, "1.1.1")
	errs["restore"] = s.Restore(ctx, []refresh.Value{{Entity: e, Version: 1}})
	for name, err := range errs {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
	server.Start()
	saved, err := s.Save(ctx, save)
	if err != nil || saved[0] != refresh.Touched {
		t.Errorf("save again: %v, %v", saved, err)
	}
}
