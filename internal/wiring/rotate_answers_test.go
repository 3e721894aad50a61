package wiring_test

import (
	"testing"

	"sluice/internal/access"
	"sluice/internal/backend/sqlite"
	"sluice/internal/config"
	"sluice/internal/idempotency"
	"sluice/internal/secret"
	"sluice/internal/wiring"
)

// keeping opens the answers of a data folder.
func keeping(t *testing.T, dir string) (*idempotency.Keeper, *sqlite.DB) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.OpenFolder(dir, func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.NewKeeper(sqlite.NewIdempotency(db), box, nil), db
}

// TestKeptAnswersOutliveTheKey: who sends a request again after a rotation gets
// its answer, which may be a token that nobody else can tell.
func TestKeptAnswersOutliveTheKey(t *testing.T) {
	dir := t.TempDir()
	keeper, db := keeping(t, dir)
	asked := idempotency.FingerprintOf([]byte("make a token"))
	turn, _, err := keeper.Take(t.Context(), "ann", "key", asked)
	if err == nil {
		err = turn.Finish(t.Context(), idempotency.Answer{Status: 201, Body: []byte("the token")})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	who := access.Identity{Actor: access.ActorLocal("ann"), Role: access.Admin, Address: "here"}
	done, err := wiring.RotateKey(access.WithIdentity(t.Context(), who), config.Embedded(dir), "a test", false, true)
	if err != nil || !done.Dropped || len(done.Unreadable) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	keeper, db = keeping(t, dir)
	if _, answer, err := keeper.Take(t.Context(), "ann", "key", asked); err != nil || answer == nil || string(answer.Body) != "the token" {
		t.Errorf("the answer is %+v, %v", answer, err)
	}
	entries, err := sqlite.NewAccess(db).Entries(t.Context(), access.Query{Limit: 10})
	if err != nil || len(entries) != 1 || entries[0].Action != "rotate-key" || entries[0].Outcome != access.Done || entries[0].Actor != "local:ann" {
		t.Errorf("the audit log has %+v, %v", entries, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
