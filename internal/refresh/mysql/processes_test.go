package mysql_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/refresh/mysql"
	"sluice/internal/refresh/snapshottest"
	"sluice/internal/testkit"
)

// twins are two processes on one database that take turns.
type twins struct {
	*mysql.Store
	other *mysql.Store
	turn  atomic.Int64
}

func (t *twins) next() *mysql.Store {
	if t.turn.Add(1)%2 == 0 {
		return t.other
	}
	return t.Store
}

func (t *twins) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Snapshot, bool, *refresh.Status, error) {
	return t.next().Snapshot(ctx, e)
}

func (t *twins) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	return t.next().Save(ctx, refreshed)
}

func (t *twins) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	return t.next().SetStatus(ctx, statuses)
}

func (t *twins) Read(ctx context.Context, reads []refresh.Read) error {
	return t.next().Read(ctx, reads)
}

func (t *twins) Due(ctx context.Context, source string, now time.Time, limit int) ([]refresh.Entity, error) {
	return t.next().Due(ctx, source, now, limit)
}

func (t *twins) Values(ctx context.Context, before time.Time, after string, limit int) ([]refresh.Value, string, error) {
	return t.next().Values(ctx, before, after, limit)
}

func (t *twins) Forget(ctx context.Context, upTo string) (int, error) {
	return t.next().Forget(ctx, upTo)
}

func (t *twins) Unbury(ctx context.Context, ids []string) ([]refresh.DeadLetter, error) {
	return t.next().Unbury(ctx, ids)
}

// TestConformanceOfTwoProcesses: everything that one process promises, two
// processes promise that do half of it each.
func TestConformanceOfTwoProcesses(t *testing.T) {
	var pair func(t *testing.T, url string) *snapshottest.Instance
	pair = func(t *testing.T, url string) *snapshottest.Instance {
		return &snapshottest.Instance{
			Snapshots: &twins{Store: newStore(t, open(t, url)), other: newStore(t, open(t, url))},
			Reopen:    func(t *testing.T) *snapshottest.Instance { return pair(t, url) },
		}
	}
	snapshottest.Run(t, snapshottest.Factory{New: func(t *testing.T) *snapshottest.Instance { return pair(t, testkit.MariaDB(t)) }})
}

var start = time.Date(2020, 3, 1, 12, 0, 0, 123457000, time.UTC)

// TestTwoProcessesSaveTheSameEntities at the same time, each in another order,
// new ones and old ones mixed: the larger version wins, and nobody is told of a
// deadlock.
func TestTwoProcessesSaveTheSameEntities(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	stores := [2]*mysql.Store{newStore(t, open(t, url)), newStore(t, open(t, url))}
	const rounds, size = 30, 60
	for round := range rounds {
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

// TestServerThatIsGone: everything says that it may be tried again, and can be
// when the server is back.
func TestServerThatIsGone(t *testing.T) {
	t.Parallel()
	server := testkit.StartMariaDB(t)
	s := newStore(t, open(t, server.URL()))
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
	_, errs["due"] = s.Due(ctx, "shop", start, 1)
	_, errs["counts"] = s.Counts(ctx, "shop")
	errs["bury"] = s.Bury(ctx, []refresh.DeadLetter{{ID: "a"}})
	_, errs["letter"] = s.DeadLetter(ctx, "a")
	_, errs["letters"] = s.DeadLetterList(ctx, refresh.DeadLetterQuery{})
	_, errs["letter counts"] = s.DeadLetterCounts(ctx)
	_, errs["unbury"] = s.Unbury(ctx, []string{"a"})
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
