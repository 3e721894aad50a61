package keeping_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/engine"
	"sluice/internal/secret"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// accounts is for how many there are credentials: enough that sealing them takes
// longer than starting.
const accounts = 3000

func openStore(t *testing.T, dir string) (*sqlite.State, *secret.Box) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.NewState(t.Context(), db, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.OpenFolder(dir, func() (bool, error) { return true, nil })
	if err != nil {
		t.Fatal(err)
	}
	return store, box
}

func plain(i int) string { return fmt.Sprintf("token of %d", i) }

func login(i int) string { return fmt.Sprintf("login-%d", i) }

// TestRotationIsKilled kills `sluice key rotate` at random instants until it comes
// to its end once. Everything opens at all times, and with the new key at last.
func TestRotationIsKilled(t *testing.T) {
	random := sluice.Seeded(t)
	dir := t.TempDir()
	fill(t, dir)
	kills := testkit.Effort(8, 40)
	for range kills {
		p := sluice.Start(t, nil, "key", "rotate", "--data-dir", dir)
		kill := time.AfterFunc(time.Duration(random.IntN(250))*time.Millisecond, func() { _ = p.Cmd.Process.Kill() })
		_ = p.Wait()
		kill.Stop()
		checkAll(t, dir, "")
	}
	done := sluice.Decode[secret.Rotated](t, sluice.Run(t, nil, "key", "rotate", "--data-dir", dir, "-o", "json").Expect(t, 0).Out)
	if !done.Dropped || len(done.Unreadable) > 0 {
		t.Errorf("it says %+v", done)
	}
	checkAll(t, dir, done.Key)
}

// fill makes a folder with sealed credentials.
func fill(t *testing.T, dir string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.NewState(t.Context(), db, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	box, err := secret.OpenFolder(dir, func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	// Many writers share a transaction.
	sem, failed := make(chan struct{}, 64), make(chan error, accounts)
	for i := range accounts {
		sem <- struct{}{}
		go func() {
			defer func() { <-sem }()
			sealed, err := box.Seal(plain(i), engine.CredentialOwner("github", login(i)))
			if err == nil {
				_, err = store.PutAccount(t.Context(), state.AccountSpec{Source: "github", Login: login(i), Name: login(i), Credential: sealed})
			}
			failed <- err
		}()
	}
	for range accounts {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

// checkAll opens every credential; all are of a key, if that is named.
func checkAll(t *testing.T, dir, key string) {
	t.Helper()
	store, box := openStore(t, dir)
	defer func() { _ = store.Close() }()
	seen := 0
	for above := int64(0); ; {
		page, err := store.SealedOtherwise(t.Context(), "none", above, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			var i int
			if _, err := fmt.Sscanf(one.Login, "login-%d", &i); err != nil {
				t.Fatal(err)
			}
			got, err := box.Open(one.Credential, engine.CredentialOwner(one.Source, one.Login))
			if err != nil || got != plain(i) || key != "" && one.Credential.KeyID != key {
				t.Fatalf("%s opens as %q with key %s, %v", one.Login, got, one.Credential.KeyID, err)
			}
			seen, above = seen+1, one.Account
		}
		if len(page) == 0 {
			break
		}
	}
	if seen != accounts {
		t.Fatalf("%s has %d credentials", filepath.Base(dir), seen)
	}
}
