package wiring_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/relational"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/secret"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

// TestRotateKeyOfServers: processes that run meanwhile open and seal with both
// keys, on every server.
func TestRotateKeyOfServers(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"mariadb": testkit.MariaDB, "postgres": testkit.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rotateOnServer(t, url(t))
		})
	}
}

func rotateOnServer(t *testing.T, url string) {
	file := filepath.Join(t.TempDir(), "sluice.key")
	if err := os.WriteFile(file, []byte(strings.Repeat("0a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Config{Servers: config.Servers{State: url, KeyFile: file}}
	// Without tables there is nothing to rotate, and none are made.
	if _, err := wiring.RotateKey(t.Context(), c, "test", false, false); domain.CodeOf(err) != domain.CodeNotFound {
		t.Fatalf("in an empty database: %v", err)
	}
	var db *relational.DB
	var err error
	if postgres.Speaks(url) {
		db, err = postgres.Open(t.Context(), postgres.Options{URL: url})
	} else {
		db, err = mysql.Open(t.Context(), mysql.Options{URL: url})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	store := relational.NewState(db, nil, time.Now)
	// running is the box of a process that knows nothing of the rotation.
	running, err := secret.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	add := func(i int) {
		t.Helper()
		login := fmt.Sprint("login-", i)
		sealed, err := running.Seal("token of "+login, engine.CredentialOwner("github", login))
		if err == nil {
			_, err = store.PutAccount(t.Context(), state.AccountSpec{Source: "github", Login: login, Name: login, Credential: sealed})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const many = 130
	for i := range many {
		add(i)
	}
	done, err := wiring.RotateKey(t.Context(), c, "test", false, false)
	if err != nil || done.Resealed != many || done.Dropped || len(done.Old) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	add(many)
	done, err = wiring.RotateKey(t.Context(), c, "test", false, true)
	if err != nil || !done.Dropped {
		t.Fatalf("%+v, %v", done, err)
	}
	all, err := store.Accounts(t.Context())
	if err != nil || len(all) != many+1 {
		t.Fatalf("%d accounts, %v", len(all), err)
	}
	for _, a := range all {
		sealed, err := store.Credential(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := running.Open(sealed, engine.CredentialOwner(a.Source, a.Login)); err != nil || got != "token of "+a.Login || sealed.KeyID != done.Key {
			t.Errorf("%s opens as %q, %v", a.Login, got, err)
		}
	}
}
