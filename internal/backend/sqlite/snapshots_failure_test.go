package sqlite_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// TestSnapshotsClosedDatabaseIsUnavailable: every call says so.
func TestSnapshotsClosedDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	db := openIn(t, t.TempDir())
	s := newSnapshots(t, db)
	if err := db.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	e := refresh.Entity{Source: "shop", Key: "a"}
	ctx, errs := t.Context(), map[string]error{}
	_, _, _, errs["snapshot"] = s.Snapshot(ctx, e)
	_, errs["save"] = s.Save(ctx, []refresh.Refreshed{{Entity: e, Version: 1}})
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
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSnapshotsFullDiskKeepsWholeCalls: a Save that does not fit leaves nothing behind,
// and what was stored before is there.
func TestSnapshotsFullDiskKeepsWholeCalls(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Dir: t.TempDir(), Holder: "a test", MaxPages: 400})
	s, stored, dice := newSnapshots(t, db), 0, rand.New(rand.NewPCG(1, 2))
	for round := 0; ; round++ {
		part := make([]refresh.Refreshed, 20)
		for i := range part {
			body := fmt.Appendf(make([]byte, 2000), "%x", dice.Uint64())
			for k := range 2000 {
				body[k] = byte(dice.Uint32())
			}
			part[i] = refresh.Refreshed{Entity: refresh.Entity{Source: "shop", Key: fmt.Sprint(round, "-", i)}, Version: 1, At: start, Body: body, Hash: sha256.Sum256(body)}
		}
		if _, err := s.Save(t.Context(), part); err != nil {
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("a full disk: %v", err)
			}
			break
		}
		stored += len(part)
	}
	counts, err := s.Counts(t.Context(), "shop")
	if err != nil || counts.Snapshots != int64(stored) || stored == 0 {
		t.Errorf("%d snapshots of %d: %v", counts.Snapshots, stored, err)
	}
	values, _, err := s.Values(t.Context(), start.Add(time.Hour), "", 1<<20)
	if err != nil || len(values) != stored {
		t.Errorf("%d values of %d: %v", len(values), stored, err)
	}
}

// TestSnapshotsOptionsThatMakeNoSense are refused.
func TestSnapshotsOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, o := range []refresh.TierOptions{{Hot: -1}, {Hot: 7 * time.Hour}, {Cold: time.Hour}, {WarmFor: time.Hour}} {
		if _, err := sqlite.NewSnapshots(nil, o); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
